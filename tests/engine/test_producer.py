from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, Field

from chokaq_core.contracts import Job
from chokaq_core.contracts.request import JobRequest, RawRequest
from chokaq_core.domain.errors import InvalidJobError, KeyConflictError, StoreUnavailableError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.job import EnqueueResult, Status
from chokaq_core.domain.value import replace
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.ports import PillarCounts, QueueChange, Store
from tests.engine.conftest import OpenFile, OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MINUTE,
    NOTE,
    ONE_AT_A_TIME,
    QUICK_WORKER,
    SECOND,
    Gates,
    Note,
    Rig,
    join,
    profile_of,
    wait,
)
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until

HOUR = timedelta(hours=1)


class Number(Job):
    value: int


class Colour(Enum):
    RED = "red"


class Part(BaseModel):
    name: str
    weight: Decimal


class Everything(Job):
    exact: Decimal
    huge: Decimal
    tiny: float
    zero: float
    at: datetime
    on: date
    id: UUID
    raw: bytes
    colour: Colour
    words: set[str]
    names: dict[int, str]
    part: Part
    maybe: int | None = None
    text: str = Field(default="", alias="Text")


def refused(answer: object) -> list[str]:
    """
    The fields for which an item was refused.
    """
    assert isinstance(answer, InvalidJobError), answer
    return [problem.field for problem in answer.problems]


# What arrives


@pytest.mark.case("C-033")
@pytest.mark.case("C-040")
@pytest.mark.parametrize("door", ["object", "text"])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_the_handler_gets_what_was_sent(
    open_rig: OpenRig, store: Store, open_file: OpenFile, door: str, place: str
) -> None:
    seen: list[Everything] = []
    job = Everything(
        exact=Decimal("0.10"),
        huge=Decimal("1E+400"),
        tiny=1e-320,
        zero=-0.0,
        at=datetime(2030, 5, 10, 12, 0, 0, 123456, tzinfo=ZoneInfo("Europe/Madrid")),
        on=date(2030, 5, 10),
        id=UUID("12345678-1234-5678-1234-567812345678"),
        raw=b"\x00\xff",
        colour=Colour.RED,
        words={"a", "b"},
        names={1: "one", -2: "minus two"},
        part=Part(name='ß 😀 \u0000 " \\', weight=Decimal("1.50")),
        Text="über",
    )
    profile = profile_of(seen.append, "everything.v1", job_type=Everything)
    rig = open_rig(profile, store=store if place == "memory" else open_file())
    sent = job.model_copy(deep=True)
    if door == "object":
        rig.enqueue(sent)
    else:
        rig.engine.producer.enqueue_raw(RawRequest("everything.v1", sent.model_dump_json(by_alias=True)))
    sent.words.clear()
    sent.part.name = "changed after the enqueue"

    rig.visit()

    assert seen == [job]
    assert seen[0] is not job
    assert str(seen[0].exact) == "0.10"
    assert str(seen[0].zero) == "-0.0"
    assert seen[0].at.utcoffset() == job.at.utcoffset()


def test_the_same_job_is_the_same_text_whoever_sends_it(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    by_object = rig.hot(rig.enqueue(Note(text="x")))
    by_text = rig.hot(rig.engine.producer.enqueue_raw(RawRequest(NOTE, ' { "text" : "x" } ')).job_id)

    assert by_object.payload == by_text.payload == '{"text":"x"}'


# Batches


@pytest.mark.case("C-031")
def test_each_item_of_a_batch_has_its_own_answer_in_order(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(
        profile_of(lambda job: None), store=faulty.as_store(), envelope=EnvelopeLimits(max_payload_bytes=500)
    )
    first = rig.enqueue(Note(text="17"), idempotency_key="queued")
    requests: list[JobRequest | RawRequest] = [JobRequest(Note(text=str(n)), job_id=f"item-{n}") for n in range(1000)]
    requests[17] = JobRequest(Note(text="17"), idempotency_key="queued")
    requests[40] = JobRequest(Note(text="twin"), idempotency_key="shared", job_id="item-40")
    requests[41] = JobRequest(Note(text="twin"), idempotency_key="shared")
    requests[500] = RawRequest(NOTE, '{"text": 5, "more": 1}')
    requests[900] = JobRequest(Note(text="x" * 600))
    calls = faulty.calls["enqueue"]

    answers = rig.engine.producer.enqueue_many(requests)

    assert len(answers) == 1000
    assert answers[17] == EnqueueResult(first, is_duplicate=True)
    assert answers[40] == EnqueueResult("item-40")
    assert answers[41] == EnqueueResult("item-40", is_duplicate=True)
    assert refused(answers[500]) == ["payload.text", "payload.more"]
    assert refused(answers[900]) == ["payload"]
    others = [n for n in range(1000) if n not in {17, 40, 41, 500, 900}]
    assert [answers[n] for n in others] == [EnqueueResult(f"item-{n}") for n in others]
    assert faulty.calls["enqueue"] == calls + 1
    assert rig.store.counts().hot == 997
    assert len(rig.events.of(EventName.ENQUEUE_DUPLICATE_SKIPPED)) == 2


@pytest.mark.case("C-031")
def test_an_empty_batch_does_nothing(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())

    assert rig.engine.producer.enqueue_many([]) == []

    assert faulty.total_calls() == 0
    assert rig.wakes.delays == []


@pytest.mark.case("C-031")
def test_a_batch_of_25_000_is_stored_a_thousand_at_a_time(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())

    answers = rig.engine.producer.enqueue_many(Note(text=str(n)) for n in range(25_000))

    assert len({answer.job_id for answer in answers if isinstance(answer, EnqueueResult)}) == 25_000
    assert rig.store.counts() == PillarCounts(hot=25_000, archive=0, dlq=0)
    assert faulty.calls["enqueue"] == 25


def test_a_batch_whose_store_goes_away_half_way_has_stored_the_thousands_before(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    faulty.after("enqueue", lambda: faulty.go_away("enqueue"))

    with pytest.raises(StoreUnavailableError):
        rig.engine.producer.enqueue_many(Note() for _ in range(2500))

    assert rig.store.counts().hot == 1000


# Keys and ids


def test_the_same_key_again_answers_the_first_id_and_writes_nothing(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    first = rig.enqueue(Note(text="x"), idempotency_key="k")

    answer = rig.engine.producer.enqueue(Note(text="x"), idempotency_key="k", priority=99, queue="other", tags="new")

    assert answer == EnqueueResult(first, is_duplicate=True)
    assert rig.store.counts().hot == 1
    assert (rig.hot(first).priority, rig.hot(first).queue, rig.hot(first).tags) == (10, "default", None)
    skipped = rig.events.of(EventName.ENQUEUE_DUPLICATE_SKIPPED)
    assert [event.job.id for event in skipped if event.job] == [first]


@pytest.mark.parametrize("other", [Note(text="y"), Number(value=1)], ids=["payload", "type"])
def test_the_same_key_for_other_work_is_refused_with_the_first_id(open_rig: OpenRig, other: Job) -> None:
    rig = open_rig(profile_of(lambda job: None), profile_of(lambda job: None, "test.number.v1", job_type=Number))
    first = rig.enqueue(Note(text="x"), idempotency_key="k")

    with pytest.raises(KeyConflictError) as refusal:
        rig.enqueue(other, idempotency_key="k")

    assert refusal.value.first_id == first
    assert refused(refusal.value) == ["idempotency_key"]
    assert rig.store.counts().hot == 1


@pytest.mark.case("C-020")
def test_a_key_is_held_while_its_job_is_active_and_free_afterwards(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)))
    first = rig.enqueue(idempotency_key="k")

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        assert rig.engine.producer.enqueue(Note(), idempotency_key="k") == EnqueueResult(first, is_duplicate=True)
        may_end.set()

    again = rig.engine.producer.enqueue(Note(), idempotency_key="k")
    assert (again.is_duplicate, again.job_id == first) == (False, False)


@pytest.mark.case("C-020")
def test_of_many_callers_with_one_key_one_creates_the_job(open_rig: OpenRig, open_file: OpenFile) -> None:
    rigs = [open_rig(profile_of(lambda job: None), store=open_file()) for _ in range(4)]
    barrier, answers = threading.Barrier(24), list[EnqueueResult]()

    def call(rig: Rig) -> None:
        barrier.wait(30)
        answers.append(rig.engine.producer.enqueue(Note(text="capture"), idempotency_key="order-7731"))

    threads = [threading.Thread(target=call, args=(rigs[n % 4],)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)

    assert len(answers) == 24
    assert len({answer.job_id for answer in answers}) == 1
    assert sum(not answer.is_duplicate for answer in answers) == 1
    assert rigs[0].store.counts().hot == 1


@pytest.mark.case("C-022")
def test_keys_are_told_apart_by_exact_characters(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    keys = [
        "inv-1",
        "INV-1",
        "\u0131nv-1",
        "invé",
        "inve\u0301",
        "ß",
        "ss",
        "\uff49\uff4e\uff56-1",
        "inv-1.",
        "inv%1",
        "inv_1",
    ]

    ids = [rig.enqueue(idempotency_key=key) for key in keys]

    assert len(set(ids)) == len(keys)
    assert [rig.hot(job_id).idempotency_key for job_id in ids] == keys


@pytest.mark.parametrize("where", ["pending", "archived", "dead"])
def test_the_same_id_with_the_same_job_answers_created_wherever_it_is_by_now(open_rig: OpenRig, where: str) -> None:
    def work(job: Note) -> None:
        if job.text == "dead":
            raise ValueError("bad")

    rig = open_rig(profile_of(work))
    rig.enqueue(Note(text=where), job_id="mine")
    if where != "pending":
        rig.visit()

    assert rig.engine.producer.enqueue(Note(text=where), job_id="mine") == EnqueueResult("mine")
    counts = rig.store.counts()
    assert counts.hot + counts.archive + counts.dlq == 1


@pytest.mark.parametrize("where", ["pending", "archived", "dead"])
def test_the_same_id_with_another_job_is_refused_wherever_it_is_by_now(open_rig: OpenRig, where: str) -> None:
    def work(job: Note) -> None:
        if job.text == "dead":
            raise ValueError("bad")

    rig = open_rig(profile_of(work))
    rig.enqueue(Note(text=where), job_id="mine")
    if where != "pending":
        rig.visit()

    with pytest.raises(InvalidJobError, match="mine") as refusal:
        rig.enqueue(Note(text="another"), job_id="mine")

    assert [(problem.field, problem.code) for problem in refusal.value.problems] == [("id", "exists")]


# Delays


@pytest.mark.case("C-024")
def test_no_job_starts_before_its_due_time_however_far_off_that_is(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    runs: list[str] = []
    rig = open_rig(profile_of(lambda job: runs.append(job.text)), store=clocked_store)
    day, almost_25_days = timedelta(days=1), timedelta(milliseconds=2**31 - 1)
    for text, delay in {
        "24.8 days": almost_25_days,
        "24.8 days and a bit": almost_25_days + timedelta(milliseconds=1),
        "7 days": 7 * day,
        "7 days and a second": 7 * day + SECOND,
        "30 days": 30 * day,
        "400 days": 400 * day,
        "100 years": 36_525 * day,
    }.items():
        rig.enqueue(Note(text=text), delay=delay)
    rig.enqueue(Note(text="the end of time"), due_at=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))

    with pytest.raises(InvalidJobError, match="delay"):
        rig.enqueue(delay=timedelta(seconds=1e13))
    rig.visit()
    clock.advance(HOUR)
    rig.visit()
    assert runs == []
    clock.advance(8 * day - HOUR)
    rig.visit()
    assert sorted(runs) == ["7 days", "7 days and a second"]
    clock.advance(23 * day)
    rig.visit()

    assert sorted(runs) == ["24.8 days", "24.8 days and a bit", "30 days", "7 days", "7 days and a second"]
    assert rig.wakes.delays == []
    assert rig.store.counts().hot == 3


@pytest.mark.case("C-025")
def test_jobs_without_a_delay_or_due_in_the_past_run_in_the_next_pass_in_their_turn(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    runs: list[str] = []
    rig = open_rig(profile_of(lambda job: runs.append(job.text)), store=clocked_store, worker=ONE_AT_A_TIME)
    for number in range(10):
        rig.enqueue(Note(text=f"ordinary {number}"))
        clock.advance(SECOND)
    now = clock.now()
    rig.enqueue(Note(text="no delay"), delay=timedelta(0))
    rig.enqueue(Note(text="long ago"), due_at=now - HOUR)
    rig.enqueue(Note(text="just now"), due_at=now - timedelta(milliseconds=50))

    rig.visit()

    assert runs[:10] == [f"ordinary {number}" for number in range(10)]
    assert sorted(runs[10:]) == ["just now", "long ago", "no delay"]


@pytest.mark.case("C-025")
def test_refused_and_odd_delays_raise_neither_the_rate_of_wakes_nor_of_looks(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    rig.enqueue_many(10)
    for delay in (timedelta(seconds=-1), timedelta(days=-30), timedelta(microseconds=-1)):
        with pytest.raises(InvalidJobError):
            rig.enqueue(delay=delay)
    rig.enqueue(delay=timedelta(0))
    rig.enqueue(due_at=datetime.now(UTC) - HOUR)
    assert len(rig.wakes.delays) == 2

    rig.visit()
    turns = faulty.calls["turn"]
    rig.visit()

    assert faulty.calls["turn"] == turns + 1
    assert len(rig.wakes.delays) == 2
    assert rig.store.counts().hot == 0


# Wakes


def test_fifty_enqueues_ask_for_one_wake_now_and_one_for_the_end_of_the_spacing(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    rig.enqueue_many(50)

    now, later = rig.wakes.delays
    assert now is None
    assert later is not None
    assert timedelta(0) < later <= 2 * SECOND


def test_a_batch_asks_for_one_wake(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    rig.engine.producer.enqueue_many([Note() for _ in range(500)])

    assert rig.wakes.delays == [None]


def test_no_wake_is_sent_while_a_worker_has_promised_to_look_again(
    open_rig: OpenRig, faulty: FaultyStore, store: Store
) -> None:
    worker = replace(QUICK_WORKER, idle_linger=HOUR, drain_budget=HOUR, polling_interval=10 * MINUTE)
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store(), worker=worker)
    producer = open_rig(profile_of(lambda job: None), store=store)
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
        producer.enqueue_many(5)
        rig.engine.stop()
    assert producer.wakes.delays == []

    producer.enqueue()
    assert producer.wakes.delays == [None]


def test_a_duplicate_and_a_refused_job_wake_nobody(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.enqueue(idempotency_key="k")
    rig.wakes.delays.clear()

    rig.enqueue(idempotency_key="k")
    with pytest.raises(KeyConflictError):
        rig.enqueue(Note(text="other"), idempotency_key="k")

    assert rig.wakes.delays == []


def test_a_delayed_job_asks_for_a_wake_only_if_none_comes_before_it(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=clocked_store)

    for minutes in (5, 10, 1, 2, 16, 60):
        rig.enqueue(delay=minutes * MINUTE)
    rig.enqueue(due_at=clock.now() + 30 * SECOND)

    assert rig.wakes.delays == [5 * MINUTE, MINUTE, 30 * SECOND]


def test_delayed_jobs_of_several_processes_ask_for_one_wake_between_them(
    open_rig: OpenRig, clocked_store: Store
) -> None:
    one = open_rig(profile_of(lambda job: None), store=clocked_store)
    other = open_rig(profile_of(lambda job: None), store=clocked_store)

    one.enqueue(delay=5 * MINUTE)
    other.enqueue(delay=6 * MINUTE)

    assert (one.wakes.delays, other.wakes.delays) == ([5 * MINUTE], [])


def test_a_wake_that_cannot_be_sent_is_told_and_the_job_is_stored_all_the_same(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.wakes.error = ConnectionError("queue service away")

    ids = [rig.enqueue(), rig.enqueue(delay=MINUTE)]

    assert [rig.hot(job_id).status for job_id in ids] == [Status.PENDING] * 2
    told = rig.events.of(EventName.ENQUEUE_NOTIFICATION_FAILED)
    assert [str(event.error) for event in told] == ["queue service away"] * 2


def test_work_that_may_not_run_now_wakes_nobody_until_its_queue_is_opened(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.store.change_queue("default", QueueChange(is_paused=True))

    job_id = rig.run()
    rig.enqueue(delay=MINUTE)

    assert rig.wakes.delays == []
    assert rig.hot(job_id).status is Status.PENDING
    rig.store.change_queue("default", QueueChange(is_paused=False))
    rig.engine.expect_work()
    rig.visit()
    assert rig.archived(job_id).attempt == 1
    assert rig.wakes.delays[0] is None
    assert rig.wakes.delays[1] is not None
    assert len(rig.wakes.delays) == 2


def test_an_enqueue_while_the_store_is_away_raises_and_a_repeat_with_the_same_id_is_safe(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    faulty.lose_answer("enqueue")

    with pytest.raises(StoreUnavailableError):
        rig.enqueue(job_id="mine")
    assert rig.enqueue(job_id="mine") == "mine"

    assert rig.store.counts().hot == 1


def test_many_threads_may_enqueue_at_once(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    threads = [threading.Thread(target=rig.enqueue_many, args=(50,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)

    with rig.visiting():
        wait_until(lambda: rig.store.counts().archive == 400)
