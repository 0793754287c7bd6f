from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.ports import CancelOutcome
from tests.engine.conftest import OpenRig
from tests.support.engine import MILLISECOND, Gates, Note, Rig, profile_of, wait
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until


def cancel(rig: Rig, job_id: str, by: str = "ann") -> None:
    """
    Cancels the job once it runs, and returns when its handler has been told.
    """
    rig.events.wait_for(EventName.JOB_STARTED, job_id)
    assert rig.store.cancel([job_id], by) == [CancelOutcome.MARKED]
    rig.events.wait_for(EventName.JOB_CANCELLATION_REQUESTED, job_id)


def reasons(rig: Rig, job_id: str) -> list[object]:
    """
    What the events of ending by timeout or cancellation gave as their reason.
    """
    return [event.facts["reason"] for event in rig.events.of(EventName.JOB_TIMED_OUT_OR_CANCELLED, job_id)]


def test_an_async_handler_is_cancelled_by_the_next_heartbeat(open_rig: OpenRig) -> None:
    async def work(job: Note) -> None:
        await asyncio.Event().wait()

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    job = rig.dead(job_id)
    assert (job.reason, job.status, job.last_modified_by) == (FailureReason.CANCELLED, Status.CANCELLED, "ann")
    assert reasons(rig, job_id) == ["Cancelled"]
    assert rig.events.of(EventName.JOB_CANCELLATION_REQUESTED)[0].facts == {"by": "ann"}


def test_an_async_handler_may_put_things_in_order_when_it_is_cancelled(open_rig: OpenRig) -> None:
    tidied: list[bool] = []

    async def work(job: Note, ctx: JobContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(str)
            tidied.append(ctx.cancelled)

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    assert rig.dead(job_id).reason is FailureReason.CANCELLED
    assert tidied == [True]


def test_a_sync_handler_sees_the_cancel_and_may_stop_for_it(open_rig: OpenRig) -> None:
    def work(job: Note, ctx: JobContext) -> None:
        assert ctx.cancelled is False
        ctx.raise_if_cancelled()
        wait_until(lambda: ctx.cancelled)
        ctx.raise_if_cancelled()

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    job = rig.dead(job_id)
    assert (job.reason, job.attempt) == (FailureReason.CANCELLED, 1)
    assert job.error_type == "chokaq_core.domain.errors.JobCancelledError"


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
def test_a_handler_that_returns_normally_after_the_cancel_is_archived(open_rig: OpenRig, is_async: bool) -> None:
    def work(job: Note, ctx: JobContext) -> str:
        wait_until(lambda: ctx.cancelled)
        return "finished all the same"

    async def work_async(job: Note, ctx: JobContext) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "finished all the same"
        raise AssertionError("nobody cancelled")

    rig = open_rig(profile_of(work_async if is_async else work))
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    assert rig.archived(job_id).result == '"finished all the same"'
    assert reasons(rig, job_id) == []


@pytest.mark.parametrize("error", [OSError("down"), ValueError("bad"), SystemExit(1)], ids=repr)
def test_a_handler_that_fails_after_the_cancel_ends_as_cancelled_and_not_as_failed(
    open_rig: OpenRig, error: BaseException
) -> None:
    def work(job: Note, ctx: JobContext) -> None:
        wait_until(lambda: ctx.cancelled)
        raise error

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    job = rig.dead(job_id)
    assert (job.reason, job.error_type, job.attempt) == (FailureReason.CANCELLED, type(error).__name__, 1)
    assert rig.store.totals()["default"].retried == 0


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(lambda: _raise(OSError("down")), id="retryable"),
        pytest.param(lambda: _raise(ValueError("bad")), id="fatal"),
    ],
)
def test_a_job_that_fails_before_it_heard_of_its_cancel_ends_as_cancelled_by_the_store(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, fail: Callable[[], object]
) -> None:
    may_end = gates.new()

    def work(job: Note) -> None:
        wait(may_end)
        fail()

    rig = open_rig(profile_of(work), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.store.cancel([job_id], "ann")
        may_end.set()

    job = rig.dead(job_id)
    assert (job.reason, job.last_modified_by) == (FailureReason.CANCELLED, "ann")
    assert rig.events.of(EventName.JOB_CANCELLATION_REQUESTED) == []
    assert reasons(rig, job_id) == ["Cancelled"]


def test_a_job_that_succeeds_before_it_heard_of_its_cancel_is_archived(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.store.cancel([job_id], "ann")
        may_end.set()

    assert rig.archived(job_id).attempt == 1


def test_a_cancel_is_told_once_however_many_heartbeats_repeat_it(open_rig: OpenRig, faulty: FaultyStore) -> None:
    def work(job: Note, ctx: JobContext) -> None:
        wait_until(lambda: ctx.cancelled)
        seen = faulty.calls["beat"]
        wait_until(lambda: faulty.calls["beat"] >= seen + 3)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    job_id = rig.enqueue()

    with rig.visiting():
        cancel(rig, job_id)

    assert len(rig.events.of(EventName.JOB_CANCELLATION_REQUESTED)) == 1


def test_a_cancel_reaches_a_job_from_another_process_on_the_same_database(open_rig: OpenRig, open_file: Any) -> None:  # noqa: ANN401
    async def work(job: Note) -> None:
        await asyncio.Event().wait()

    rig = open_rig(profile_of(work), store=open_file())
    elsewhere = open_file()
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        assert elsewhere.cancel([job_id], "bob") == [CancelOutcome.MARKED]

    assert rig.dead(job_id).last_modified_by == "bob"


def test_a_cancel_that_came_before_the_run_began_is_told_like_any_other(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end = gates.new()
    ran: list[str] = []

    def work(job: Note) -> None:
        ran.append(job.text)
        wait(may_end)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    keeps_beating = rig.enqueue(Note(text="first"))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, keeps_beating)
        claim = faulty.hold_after("turn", when=lambda answer: answer.claimed)
        job_id = rig.enqueue(Note(text="second"))
        claim.wait_until_reached()
        assert rig.store.cancel([job_id], "ann") == [CancelOutcome.MARKED]
        seen = faulty.calls["beat"]
        wait_until(lambda: faulty.calls["beat"] >= seen + 2)
        claim.release()
        (told,) = rig.events.wait_for(EventName.JOB_CANCELLATION_REQUESTED, job_id)
        rig.events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED, job_id)
        may_end.set()

    assert told.facts == {"by": "ann"}
    assert rig.events.names(job_id) == [
        "JobEnqueued",
        "JobStarted",
        "JobCancellationRequested",
        "JobTimedOutOrCancelled",
    ]
    assert (rig.dead(job_id).reason, ran) == (FailureReason.CANCELLED, ["first"])


def test_only_the_cancelled_one_of_several_running_jobs_stops(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()

    async def work(job: Note) -> None:
        await asyncio.to_thread(wait, may_end)

    rig = open_rig(profile_of(work))
    ids = rig.enqueue_many(3)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=3)
        cancel(rig, ids[1])
        rig.events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED)
        assert [rig.hot(ids[n]).status for n in (0, 2)] == [Status.PROCESSING] * 2
        may_end.set()

    assert [rig.archived(ids[n]).attempt for n in (0, 2)] == [1, 1]


@pytest.mark.parametrize("is_cancelled_first", [True, False], ids=["cancel-first", "timeout-first"])
def test_timeout_and_cancel_stay_different_and_the_first_one_counts(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, is_cancelled_first: bool
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end), timeout=200 * MILLISECOND), store=faulty.as_store())
    faulty.go_away("beat") if not is_cancelled_first else None
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        if is_cancelled_first:
            rig.store.cancel([job_id], "ann")
        rig.events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED)

    expected = FailureReason.CANCELLED if is_cancelled_first else FailureReason.TIMEOUT
    assert rig.dead(job_id).reason is expected
    assert reasons(rig, job_id) == [expected.label]
    buckets = rig.store.buckets(rig.dead(job_id).created_at.replace(year=2000))
    assert [(bucket.outcome, bucket.reason) for bucket in buckets] == [(1, int(expected))]


def test_a_pending_job_is_cancelled_without_any_worker(open_rig: OpenRig) -> None:
    runs: list[Note] = []
    rig = open_rig(profile_of(runs.append))
    job_id = rig.enqueue()

    assert rig.store.cancel([job_id], "ann") == [CancelOutcome.DEAD_LETTERED]
    rig.visit()

    assert rig.dead(job_id).reason is FailureReason.CANCELLED
    assert runs == []


def _raise(error: BaseException) -> None:
    raise error
