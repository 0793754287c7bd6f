from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pydantic import Field

from chokaq_core.contracts import Job
from chokaq_core.contracts.request import JobRequest, RawRequest
from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.ports import PillarCounts, Store
from tests.engine.conftest import OpenRig
from tests.support.engine import Note, Rig, profile_of

NAIVE = datetime(2030, 5, 10, 12, 0)  # noqa: DTZ001 - the fault that is tested
NOTHING = PillarCounts(hot=0, archive=0, dlq=0)


class Rate(Job):
    ratio: float = 1.0
    price: Decimal = Decimal(1)
    table: dict[str, list[float]] = Field(default_factory=dict)
    anything: Any = None


class Unregistered(Job):
    pass


@pytest.fixture
def rig(open_rig: OpenRig) -> Rig:
    """
    An app that takes notes and rates, a payload of which is at most 1000 bytes.
    """
    return open_rig(
        profile_of(lambda job: None),
        profile_of(lambda job: None, "test.rate.v1", job_type=Rate),
        envelope=EnvelopeLimits(max_payload_bytes=1000),
    )


def nested(levels: int) -> list[Any]:
    """
    A list that holds a list, and so on.
    """
    inner: list[Any] = []
    for _ in range(levels - 1):
        inner = [inner]
    return inner


def in_itself() -> list[Any]:
    """
    A list that holds itself.
    """
    inner: list[Any] = []
    inner.append(inner)
    return inner


WRONG: dict[str, Any] = {"ratio": "a lot"}

OPTIONS = [
    ("queue", {"queue": ""}, "1 to 255 characters"),
    ("queue", {"queue": "Mail"}, "a-z"),
    ("queue", {"queue": "-mail"}, "the first a letter or digit"),
    ("queue", {"queue": "ma il"}, "'ma il'"),
    ("queue", {"queue": "mail\n"}, "mail"),
    ("queue", {"queue": "más"}, "a-z"),
    ("queue", {"queue": "q" * 256}, "256 characters"),
    ("queue", {"queue": "😀" * 255}, "255 characters"),
    ("queue", {"queue": 7}, "got 7"),
    ("priority", {"priority": -1}, "from 0 to 1000000; got -1"),
    ("priority", {"priority": 1_000_001}, "got 1000001"),
    ("priority", {"priority": 1.5}, "whole number"),
    ("priority", {"priority": "10"}, "whole number"),
    ("priority", {"priority": True}, "whole number"),
    ("delay", {"delay": timedelta(seconds=-1)}, "must not be negative"),
    ("delay", {"delay": timedelta(days=-30)}, "must not be negative"),
    ("delay", {"delay": timedelta(microseconds=-1)}, "must not be negative"),
    ("delay", {"delay": timedelta(seconds=1e13)}, "at most 366000 days"),
    ("delay", {"delay": timedelta.max}, "at most 366000 days"),
    ("delay", {"delay": 5}, "must be a timedelta"),
    ("delay", {"delay": float("nan")}, "must be a timedelta"),
    ("delay", {"delay": "-00:00:05"}, "must be a timedelta"),
    ("due_at", {"due_at": NAIVE}, "needs a time zone"),
    ("due_at", {"due_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))}, "years 1 to 9999"),
    ("due_at", {"due_at": date(2030, 5, 10)}, "must be a datetime"),
    ("due_at", {"due_at": 1_900_000_000}, "must be a datetime"),
    ("due_at", {"due_at": "2030-05-10T12:00:00Z"}, "must be a datetime"),
    ("due_at", {"due_at": datetime(2030, 1, 1, tzinfo=UTC), "delay": timedelta(0)}, "not both"),
    ("idempotency_key", {"idempotency_key": ""}, "must not be blank"),
    ("idempotency_key", {"idempotency_key": "   "}, "must not be blank"),
    ("idempotency_key", {"idempotency_key": " inv-1"}, "must not begin or end with blanks"),
    ("idempotency_key", {"idempotency_key": "inv-1 "}, "must not begin or end with blanks"),
    ("idempotency_key", {"idempotency_key": "k" * 256}, "at most 255 characters; got 256"),
    ("idempotency_key", {"idempotency_key": "😀" * 128}, "at most 255 characters; got 256"),
    ("idempotency_key", {"idempotency_key": "k" * 4000}, "got 4000"),
    ("idempotency_key", {"idempotency_key": "a\x00b"}, "NUL"),
    ("idempotency_key", {"idempotency_key": "a\ud800"}, "lone surrogate"),
    ("idempotency_key", {"idempotency_key": 7}, "idempotency_key"),
    ("tags", {"tags": "t" * 1001}, "at most 1000 characters; got 1001"),
    ("tags", {"tags": "a\x00b"}, "NUL"),
    ("tags", {"tags": "\udfff"}, "lone surrogate"),
    ("tags", {"tags": ["a"]}, "must be text"),
    ("created_by", {"created_by": "c" * 101}, "at most 100 characters; got 101"),
    ("created_by", {"created_by": "a\x00b"}, "NUL"),
    ("id", {"job_id": ""}, "1 to 50 characters"),
    ("id", {"job_id": "i" * 51}, "1 to 50 characters"),
    ("id", {"job_id": "a b"}, "1 to 50 characters"),
    ("id", {"job_id": "a/b"}, "1 to 50 characters"),
    ("id", {"job_id": "é"}, "1 to 50 characters"),
    ("id", {"job_id": 7}, "1 to 50 characters"),
    ("id", {"job_id": []}, "1 to 50 characters"),
    ("id", {"job_id": "."}, "clients take it for a step in an address"),
    ("id", {"job_id": ".."}, "clients take it for a step in an address"),
]


@pytest.mark.parametrize("field,options,rule", OPTIONS, ids=[f"{n}-{field}" for n, (field, *_) in enumerate(OPTIONS)])
def test_an_option_that_breaks_a_rule_is_refused_by_name_and_nothing_is_written(
    rig: Rig, field: str, options: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InvalidJobError) as refusal:
        rig.enqueue(**options)

    assert [problem.field for problem in refusal.value.problems] == [field]
    assert rule in str(refusal.value)
    assert field in str(refusal.value)
    assert rig.store.counts() == NOTHING
    assert rig.wakes.delays == []
    assert [queue.name for queue in rig.store.queues()] == ["default"]


PAYLOADS: list[tuple[str, Callable[[], Job], str]] = [
    ("payload", lambda: Note(text="x" * 1000), "is 1011 bytes of UTF-8 JSON; the limit is 1000"),
    ("payload.ratio", lambda: Rate(ratio=float("nan")), "finite"),
    ("payload.ratio", lambda: Rate(ratio=float("inf")), "finite"),
    ("payload.ratio", lambda: Rate(ratio=float("-inf")), "finite"),
    ("payload.table.a.1", lambda: Rate(table={"a": [1.0, float("nan")]}), "finite"),
    ("payload.anything", lambda: Rate(anything=float("nan")), "finite"),
    ("payload.price", lambda: Rate.model_construct(price=Decimal("NaN")), "finite"),
    ("payload.anything", lambda: Rate(anything="half \ud800"), "surrogate"),
    ("payload.anything.0.0.0", lambda: Rate(anything=nested(150)), "100 levels"),
    ("payload.anything.0.0.0", lambda: Rate(anything=in_itself()), "100 levels"),
    ("payload.anything", lambda: Rate(anything=object()), "payload.anything"),
    ("payload.anything", lambda: Rate(anything=open), "payload.anything"),
    ("payload.ratio", lambda: Rate.model_construct(None, **WRONG), "payload.ratio"),
    ("type", Unregistered, "Unregistered has no registered handler"),
]


@pytest.mark.case("C-033")
@pytest.mark.parametrize(
    "field,make_job,rule", PAYLOADS, ids=[f"{n}-{field}" for n, (field, *_) in enumerate(PAYLOADS)]
)
def test_a_payload_that_breaks_a_rule_is_refused_with_its_path_and_nothing_is_written(
    rig: Rig, field: str, make_job: Callable[[], Job], rule: str
) -> None:
    job = make_job()

    with pytest.raises(InvalidJobError) as refusal:
        rig.enqueue(job)

    (problem,) = refusal.value.problems
    assert problem.field == field or problem.field.startswith(f"{field}.0")
    assert rule in str(refusal.value)
    assert rig.store.counts() == NOTHING


def test_every_problem_of_a_job_is_named_at_once(rig: Rig) -> None:
    with pytest.raises(InvalidJobError) as refusal:
        rig.enqueue(Note(text="x" * 1000), queue="No", priority=-1, idempotency_key=" ", tags="\x00", job_id="")

    assert [problem.field for problem in refusal.value.problems] == [
        "payload",
        "queue",
        "priority",
        "idempotency_key",
        "tags",
        "id",
    ]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda options: JobRequest(Rate(ratio=float("nan")), **options),
        lambda options: RawRequest("test.rate.v1", '{"ratio": "high"}', **options),
    ],
    ids=["object", "text"],
)
def test_a_payload_that_does_not_fit_hides_no_problem_of_the_rest(
    rig: Rig, request_of: Callable[[dict[str, Any]], JobRequest | RawRequest]
) -> None:
    (refusal,) = rig.engine.producer.enqueue_many([request_of({"queue": "No", "priority": -1, "job_id": ""})])

    assert isinstance(refusal, InvalidJobError)
    assert [problem.field for problem in refusal.problems] == ["payload.ratio", "queue", "priority", "id"]


def test_more_problems_than_are_told_keep_their_number(rig: Rig) -> None:
    text = '{"table": {"a": [' + ",".join(['"x"'] * 150) + "]}}"

    (refusal,) = rig.engine.producer.enqueue_many([RawRequest("test.rate.v1", text, queue="No")])

    assert isinstance(refusal, InvalidJobError)
    assert (len(refusal.problems), refusal.problems[-1].rule) == (101, "and 50 more like these")


@pytest.mark.parametrize("thing", [None, 7, "text", {"text": ""}, Note])
def test_what_is_no_job_at_all_is_refused(rig: Rig, thing: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidJobError, match="type"):
        rig.engine.producer.enqueue(thing)

    assert rig.store.counts() == NOTHING


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(
            {
                "queue": "q" * 255,
                "priority": 0,
                "idempotency_key": "k" * 255,
                "tags": "t" * 1000,
                "created_by": "c" * 100,
                "job_id": "A-z0.9_~" + "x" * 42,
            },
            id="longest",
        ),
        pytest.param(
            {"queue": "0", "priority": 1_000_000, "idempotency_key": "ß", "tags": "", "job_id": "~"}, id="odd"
        ),
        pytest.param({"idempotency_key": "😀" * 127, "tags": "😀" * 500, "created_by": "é" * 100}, id="emoji"),
    ],
)
def test_what_lies_just_within_the_limits_is_accepted_and_stored_whole(rig: Rig, value: dict[str, Any]) -> None:
    job = rig.hot(rig.enqueue(**value))

    assert all(getattr(job, "id" if name == "job_id" else name) == given for name, given in value.items())
    rig.visit()
    assert rig.archived(job.id).attempt == 1


# Sizes


def texts(size: int) -> Iterator[tuple[str, int]]:
    """
    Texts whose payload `{"text":"…"}` has exactly so many bytes, with what one more character adds.
    """
    room = size - len('{"text":""}')
    yield "a" * room, 1
    yield "é" * (room // 2) + "a" * (room % 2), 2
    yield "😀" * (room // 4) + "a" * (room % 4), 4
    yield '"' * (room // 2) + "a" * (room % 2), 2
    yield "\\" * (room // 2) + "a" * (room % 2), 2
    yield "\n" * (room // 2) + "a" * (room % 2), 2


@pytest.mark.case("C-035")
@pytest.mark.parametrize(
    "text,more", list(texts(1000)), ids=["ascii", "accents", "emoji", "quotes", "backslashes", "lines"]
)
@pytest.mark.parametrize("door", ["object", "text", "batch"])
def test_the_payload_limit_counts_the_bytes_of_what_is_stored(rig: Rig, door: str, text: str, more: int) -> None:
    def offer(text: str) -> Any:  # noqa: ANN401 - what the door answers
        job = Note(text=text)
        if door == "object":
            return rig.enqueue(job)
        if door == "text":
            return rig.engine.producer.enqueue_raw(RawRequest("test.note.v1", job.model_dump_json())).job_id
        answer = rig.engine.producer.enqueue_many([JobRequest(job)])[0]
        if isinstance(answer, InvalidJobError):
            raise answer
        return answer.job_id

    stored = rig.hot(offer(text)).payload
    assert len(stored.encode()) == 1000
    with pytest.raises(InvalidJobError, match=f"is {1000 + more} bytes of UTF-8 JSON; the limit is 1000") as refusal:
        offer(text + text[0])
    assert [problem.code for problem in refusal.value.problems] == ["too_large"]
    assert rig.store.counts().hot == 1


# Times


@pytest.mark.case("C-026")
@pytest.mark.parametrize("zone", ["America/Bogota", "Asia/Kolkata", "UTC"])
def test_a_naive_due_time_is_refused_and_an_aware_one_is_the_same_instant_wherever_the_host_is(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        with pytest.raises(InvalidJobError, match="needs a time zone"):
            rig.enqueue(due_at=NAIVE)
        due_at = datetime(2030, 5, 10, 12, 0, tzinfo=timezone(timedelta(hours=2)))
        assert rig.hot(rig.enqueue(due_at=due_at)).due_at == datetime(2030, 5, 10, 10, 0, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_due_time_in_the_past_counts_as_now(rig: Rig, store: Store) -> None:
    job = rig.hot(rig.enqueue(due_at=datetime(1990, 1, 1, tzinfo=UTC)))

    assert (job.due_at, job.is_ready) == (job.created_at, True)
