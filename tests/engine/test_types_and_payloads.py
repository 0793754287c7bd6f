from __future__ import annotations

from enum import Enum

import pytest
from pydantic import field_validator

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import EnqueueResult, NewJob, Status
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.ports import Edit, ResurrectOutcome, Store
from tests.engine.conftest import OpenRig
from tests.support.engine import MINUTE, Note, profile_of


class Build(Job):
    project: int


class BuildWithSlug(Job):
    project: int
    slug: str


class Colour(Enum):
    RED = "red"


class Paint(Job):
    colour: Colour


FOREIGN_TYPES = ["report.build_v2", "REPORT.BUILD", "x" * 255, "os.system", "builtins.eval", "chokaq_core.cli:main"]


def put(store: Store, type_key: str, payload: str, job_id: str) -> str:
    """
    Stores a row past the producer, as an older release or a hand would have.
    """
    store.enqueue([NewJob(job_id, type_key, payload)])
    return job_id


# Unknown types


@pytest.mark.case("C-039")
def test_unknown_types_are_rejected_with_their_key_and_leave_the_known_ones_alone(
    open_rig: OpenRig, store: Store
) -> None:
    seen: list[int] = []
    rig = open_rig(profile_of(lambda job: seen.append(job.project), "report.build", job_type=Build))
    foreign = {
        put(store, type_key, '{"project":1}', f"foreign-{n}-{copy}"): type_key
        for n, type_key in enumerate(FOREIGN_TYPES)
        for copy in range(3)
    }
    known = [rig.enqueue(Build(project=n)) for n in range(3)]

    rig.visit()

    for job_id, type_key in foreign.items():
        job = rig.dead(job_id)
        assert (job.reason, job.error_type, job.attempt) == (FailureReason.REJECTED, "UnknownJobType", 1)
        assert job.error_details is not None
        assert type_key in job.error_details
    assert [rig.archived(job_id).attempt for job_id in known] == [1, 1, 1]
    assert sorted(seen) == [0, 1, 2]
    assert rig.store.counts().hot == 0


@pytest.mark.case("C-039")
def test_a_job_of_a_type_deployed_later_runs_after_its_resurrection(open_rig: OpenRig, store: Store) -> None:
    seen: list[str] = []
    old = open_rig(profile_of(lambda job: None, "report.build", job_type=Build))
    job_id = put(store, "report.build_v2", '{"project":12,"slug":"x"}', "early-bird")
    old.visit()
    new = open_rig(profile_of(lambda job: seen.append(job.slug), "report.build_v2", job_type=BuildWithSlug))

    assert store.resurrect([job_id], "ann") == [ResurrectOutcome.RESURRECTED]
    new.visit()

    assert new.archived(job_id).attempt == 1
    assert seen == ["x"]


@pytest.mark.case("C-039")
@pytest.mark.parametrize("type_key", FOREIGN_TYPES)
def test_an_unregistered_type_is_refused_at_the_door(open_rig: OpenRig, type_key: str) -> None:
    rig = open_rig(profile_of(lambda job: None))

    with pytest.raises(InvalidJobError) as refusal:
        rig.engine.producer.enqueue_raw(RawRequest(type_key, "{}"))

    assert [(problem.field, problem.code) for problem in refusal.value.problems] == [("type", "unknown_type")]
    assert rig.store.counts().hot == 0


def test_an_object_without_a_handler_here_is_refused_at_the_door(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    with pytest.raises(InvalidJobError, match="Build has no registered handler"):
        rig.enqueue(Build(project=1))


# Payloads of another release

PATIENT = RetryRules(max_attempts=5, base_delay=10 * MINUTE)


@pytest.mark.case("C-038")
@pytest.mark.parametrize(
    "model,payload,path",
    [
        pytest.param(BuildWithSlug, '{"project": 12}', "payload.slug", id="lacks-a-new-field"),
        pytest.param(Build, '{"project":12,"slug":"x"}', "payload.slug", id="has-a-field-of-a-newer-release"),
        pytest.param(Build, '{"projectId":12}', "payload.project", id="field-renamed"),
        pytest.param(Paint, '{"colour":"blue"}', "payload.colour", id="enum-narrowed"),
        pytest.param(Build, '{"project":"twelve"}', "payload.project", id="type-changed"),
        pytest.param(Build, "not JSON at all", "payload", id="no-json"),
        pytest.param(Build, "", "payload", id="empty"),
        pytest.param(Build, "[1]", "payload", id="another-shape"),
        pytest.param(Build, "null", "payload", id="null"),
        pytest.param(Build, '{"project": NaN}', "payload", id="no-strict-json"),
    ],
)
def test_a_payload_that_does_not_fit_goes_to_the_dlq_as_it_is_without_a_run(
    open_rig: OpenRig, store: Store, model: type[Job], payload: str, path: str
) -> None:
    runs: list[Job] = []
    rig = open_rig(profile_of(runs.append, "report.build", job_type=model), profile_of(lambda job: None), retry=PATIENT)
    stale = [put(store, "report.build", payload, f"stale-{n}") for n in range(20)]
    good = rig.enqueue(Note())

    rig.visit()

    for job_id in stale:
        job = rig.dead(job_id)
        assert (job.reason, job.error_type) == (FailureReason.REJECTED, "InvalidPayload")
        assert job.payload == payload
        assert job.error_details is not None
        assert path in job.error_details
    assert runs == []
    assert rig.archived(good).attempt == 1
    assert len(rig.events.of(EventName.JOB_FATAL_ERROR_DLQ)) == 20


@pytest.mark.case("C-038")
def test_a_rejected_job_runs_after_it_was_edited_and_resurrected(open_rig: OpenRig, store: Store) -> None:
    seen: list[str] = []
    rig = open_rig(profile_of(lambda job: seen.append(job.slug), "report.build", job_type=BuildWithSlug))
    job_id = put(store, "report.build", '{"project":12}', "lacks-slug")
    rig.visit()

    assert list(store.edit([job_id], Edit(payload='{"project":12,"slug":"twelve"}'), "ann")) == [True]
    store.resurrect([job_id], "ann")
    rig.visit()

    job = rig.archived(job_id)
    assert (job.attempt, job.lease_number, job.last_modified_by) == (1, 2, "ann")
    assert seen == ["twelve"]


class LookedUp(Job):
    """
    A payload whose reading fails by a fault of the model, for what an older release sent.
    """

    colour: str

    @field_validator("colour")
    @classmethod
    def look_up(cls, colour: str) -> str:
        return {"red": "#f00"}.get(colour) or {"#f00": "#f00"}[colour]


@pytest.mark.case("C-038")
def test_a_payload_on_which_the_model_fails_goes_to_the_dlq_without_a_retry(open_rig: OpenRig, store: Store) -> None:
    runs: list[Job] = []
    looked_up = profile_of(runs.append, "paint.v1", job_type=LookedUp)
    rig = open_rig(looked_up, profile_of(lambda job: None), retry=PATIENT)
    job_id = put(store, "paint.v1", '{"colour":"blue"}', "blue")
    good = rig.enqueue(Note())

    rig.visit()

    job = rig.dead(job_id)
    assert (job.reason, job.error_type, job.payload) == (
        FailureReason.REJECTED,
        "InvalidPayload",
        '{"colour":"blue"}',
    )
    assert "the model failed with KeyError" in (job.error_details or "")
    assert runs == []
    assert rig.archived(good).attempt == 1


@pytest.mark.case("C-031")
def test_a_payload_on_which_the_model_fails_does_not_spoil_its_batch(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None, "paint.v1", job_type=LookedUp))
    requests = [RawRequest("paint.v1", f'{{"colour":"{colour}"}}') for colour in ("red", "blue", "red")]

    first, second, third = rig.engine.producer.enqueue_many(requests)

    assert isinstance(second, InvalidJobError)
    assert [problem.field for problem in second.problems] == ["payload"]
    assert rig.store.counts().hot == 2
    assert {first, third} == {EnqueueResult(job.id) for job in rig.store.list_jobs(JobQuery(Pillar.HOT), 10).jobs}


class Exiting(Job):
    """
    A payload whose reading would end the process.
    """

    text: str = ""

    @field_validator("text")
    @classmethod
    def exit(cls, text: str) -> str:
        raise {"exit": SystemExit(0), "interrupt": KeyboardInterrupt()}[text]


@pytest.mark.case("C-013")
@pytest.mark.parametrize("text", ["exit", "interrupt"])
def test_a_model_that_exits_while_it_is_read_costs_its_job_an_attempt_and_the_worker_nothing(
    open_rig: OpenRig, store: Store, text: str
) -> None:
    runs: list[Job] = []
    exiting = profile_of(runs.append, "exiting.v1", job_type=Exiting, max_attempts=2)
    rig = open_rig(exiting, profile_of(lambda job: None))
    job_id = put(store, "exiting.v1", f'{{"text":"{text}"}}', "exiting")
    good = rig.enqueue_many(10)

    rig.visit()

    assert (rig.dead(job_id).reason, rig.dead(job_id).attempt) == (FailureReason.MAX_RETRIES_EXCEEDED, 2)
    assert runs == []
    assert {rig.archived(one).attempt for one in good} == {1}


def test_a_value_error_inside_the_handler_is_the_handlers_and_no_rejection(open_rig: OpenRig) -> None:
    def work(job: Note) -> None:
        BuildWithSlug.model_validate_json("{}")

    rig = open_rig(profile_of(work))

    assert rig.dead(rig.run()).reason is FailureReason.FATAL_ERROR


def test_an_invalid_job_enqueued_by_a_handler_is_the_handlers_failure(open_rig: OpenRig) -> None:
    def work(job: Note, ctx: JobContext) -> None:
        ctx.enqueue(Note(), queue="No Such Queue")

    rig = open_rig(profile_of(work, max_attempts=1))

    job = rig.dead(rig.run())
    assert job.reason is FailureReason.MAX_RETRIES_EXCEEDED
    assert job.error_type == "chokaq_core.domain.errors.InvalidJobError"


# Pipe mode


def test_in_pipe_mode_one_handler_gets_every_type_with_its_payload_as_text(open_rig: OpenRig) -> None:
    seen: list[tuple[str, str, int]] = []

    def pipe(type_key: str, payload: str, ctx: JobContext) -> str:
        seen.append((type_key, payload, ctx.attempt))
        return type_key

    rig = open_rig(pipe=pipe)
    ids = [
        rig.engine.producer.enqueue_raw(RawRequest(type_key, payload)).job_id
        for type_key, payload in [("a.b.v1", '{"n": 1}'), ("os.system", '"text"'), ("c", "[1,  2]")]
    ]

    rig.visit()

    assert sorted(seen) == [("a.b.v1", '{"n": 1}', 1), ("c", "[1,  2]", 1), ("os.system", '"text"', 1)]
    assert [rig.archived(job_id).result for job_id in ids] == ['"a.b.v1"', '"os.system"', '"c"']


def test_a_pipe_may_be_async_and_middleware_sees_the_text(open_rig: OpenRig) -> None:
    seen: list[object] = []

    async def pipe(type_key: str, payload: str, ctx: JobContext) -> str:
        return f"{type_key} {payload}"

    def watch(job: object, ctx: JobContext, call_next: object) -> object:
        seen.append(job)
        assert callable(call_next)
        return call_next()

    rig = open_rig(pipe=pipe, middleware=(watch,))
    job_id = rig.engine.producer.enqueue_raw(RawRequest("a.b.v1", '{"n":1}')).job_id

    rig.visit()

    assert seen == ['{"n":1}']
    assert rig.archived(job_id).result == '"a.b.v1 {\\"n\\":1}"'


@pytest.mark.parametrize("payload", ["", "{", "{'a': 1}", "NaN", '{"a": Infinity}', "[" * 101 + "]" * 101])
def test_in_pipe_mode_too_only_strict_json_is_accepted(open_rig: OpenRig, payload: str) -> None:
    rig = open_rig(pipe=lambda type_key, payload, ctx: None)

    with pytest.raises(InvalidJobError, match="payload"):
        rig.engine.producer.enqueue_raw(RawRequest("a.b.v1", payload))

    assert rig.store.counts().hot == 0


def test_a_failing_pipe_is_retried_like_any_handler(open_rig: OpenRig) -> None:
    def pipe(type_key: str, payload: str, ctx: JobContext) -> None:
        raise OSError("down")

    rig = open_rig(pipe=pipe)
    job_id = rig.engine.producer.enqueue_raw(RawRequest("a.b.v1", "{}")).job_id

    rig.visit()

    assert (rig.dead(job_id).attempt, rig.dead(job_id).reason) == (3, FailureReason.MAX_RETRIES_EXCEEDED)


def test_a_job_waits_while_nobody_knows_how_to_start_it(open_rig: OpenRig, store: Store) -> None:
    """
    Without a visit nothing is claimed, so nothing is rejected either.
    """
    open_rig(Profile("empty"))

    put(store, "report.build", "{}", "waiting")

    found = store.find("waiting")
    assert found is not None
    assert found.status is Status.PENDING
