from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.value import replace
from chokaq_core.engine import worker
from chokaq_core.ports import Store, WorkerState
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MINUTE,
    ONE_AT_A_TIME,
    QUICK_RETRY,
    QUICK_WORKER,
    Gates,
    Note,
    Rig,
    join,
    profile_of,
    wait,
)
from tests.support.faulty_store import FaultyStore
from tests.support.polling import WAIT_SECONDS, wait_until

PATIENT = replace(QUICK_WORKER, shutdown_grace_period=MINUTE)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Handlers that were told to stop get no time to do so.
    """
    monkeypatch.setattr(worker, "END_SECONDS", 0.1)


def engine_threads() -> list[str]:
    """
    Names of the threads that every engine has one of.
    """
    names = {"chokaq-store", "chokaq-heartbeat", "chokaq-watch"}
    return sorted(thread.name for thread in threading.enumerate() if thread.name in names)


def stopping(rig: Rig) -> threading.Thread:
    """
    A stop on a thread of its own.
    """
    thread = threading.Thread(target=rig.engine.stop, name="stop", daemon=True)
    thread.start()
    return thread


def until_cancelled(job: Note, ctx: JobContext) -> None:
    """
    A handler that looks at its context and stops when it shall.
    """
    wait_until(lambda: ctx.cancelled)
    ctx.raise_if_cancelled()


async def until_cancelled_async(job: Note) -> None:
    """
    The same for the event loop.
    """
    await asyncio.Event().wait()


def test_an_engine_that_was_never_visited_stops_at_once(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())

    assert rig.engine.stop() is True

    assert faulty.total_calls() == 0


def test_an_idle_engine_ends_its_threads(open_rig: OpenRig) -> None:
    before = engine_threads()
    rig = open_rig(profile_of(lambda job: None))
    rig.run()

    assert rig.engine.stop() is True

    assert engine_threads() == before
    assert len(rig.events.of(EventName.WORKER_STOPPED)) == 1
    assert [row.state for row in rig.store.workers()] == [WorkerState.STOPPED]


def test_stopping_twice_is_no_harm(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.run()

    assert [rig.engine.stop(), rig.engine.stop()] == [True, True]


def test_nothing_is_claimed_after_a_stop(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.run()
    rig.engine.stop()
    job_id = rig.enqueue()

    rig.visit()

    assert (rig.hot(job_id).status, rig.hot(job_id).lease_number) == (Status.PENDING, 0)


def test_a_job_that_ends_within_the_grace_period_is_archived_and_not_told(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), worker=PATIENT)
    job_id, waiting = rig.enqueue(priority=20), rig.enqueue_many(10)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, job_id)
        stop = stopping(rig)
        rig.events.wait_for(EventName.PROCESSING_TASK_DRAIN_STARTED)
        may_end.set()
        join(stop)

    assert rig.archived(job_id).attempt == 1
    assert rig.store.counts().archive <= 4
    assert all(rig.store.find(other) is not None for other in waiting)
    assert rig.events.of(EventName.PROCESSING_TASK_SHUTDOWN_OBSERVED) == []
    assert rig.events.names()[-1] == "WorkerStopped"


@pytest.mark.case("C-058")
@pytest.mark.parametrize("handler", [until_cancelled, until_cancelled_async], ids=["def", "async-def"])
def test_a_handler_that_stops_for_the_shutdown_is_handed_back_uncharged(
    open_rig: OpenRig, handler: Callable[..., Any]
) -> None:
    rig = open_rig(profile_of(handler))
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        assert rig.engine.stop() is True

    job = rig.hot(job_id)
    assert (job.status, job.attempt, job.interruptions, job.is_ready) == (Status.PENDING, 0, 1, True)
    assert job.worker_id is None
    assert job.attempt_errors == ()
    # The handler stops as soon as it is told to, so either may be told first.
    assert sorted(rig.events.names(job_id)[-2:]) == ["JobShutdownRescheduled", "ProcessingTaskShutdownObserved"]


@pytest.mark.case("C-058")
def test_a_job_that_was_interrupted_three_times_still_has_all_its_attempts(open_rig: OpenRig) -> None:
    for _ in range(3):
        rig = open_rig(profile_of(until_cancelled, max_attempts=3))
        if rig.store.counts().hot == 0:
            rig.enqueue(job_id="patient")
        with rig.visiting():
            rig.events.wait_for(EventName.JOB_STARTED)
            rig.engine.stop()

    runs: list[int] = []
    last = open_rig(profile_of(lambda job, ctx: runs.append(ctx.attempt), max_attempts=3))
    last.visit()

    job = last.archived("patient")
    assert (job.attempt, job.interruptions, job.lease_number) == (1, 3, 4)
    assert runs == [1]


def test_an_interrupted_job_whose_lifetime_is_over_ends(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    rig = open_rig(
        profile_of(until_cancelled), store=clocked_store, retry=replace(QUICK_RETRY, max_job_age=timedelta(hours=1))
    )
    job_id = rig.enqueue()
    clock.advance(timedelta(hours=2))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.engine.stop()

    assert rig.dead(job_id).reason is FailureReason.RETRY_LIFETIME_EXPIRED


def test_a_handler_that_fails_on_its_way_out_is_charged_the_attempt(open_rig: OpenRig, gates: Gates) -> None:
    has_begun = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        has_begun.set()
        wait_until(lambda: ctx.cancelled)
        raise OSError("could not save what was done")

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        wait(has_begun)
        rig.engine.stop()

    job = rig.hot(job_id)
    assert (job.status, job.attempt, job.interruptions) == (Status.PENDING, 1, 0)


def test_a_handler_that_finishes_when_it_is_told_is_archived(open_rig: OpenRig, gates: Gates) -> None:
    has_begun = gates.new()

    def work(job: Note, ctx: JobContext) -> str:
        has_begun.set()
        wait_until(lambda: ctx.cancelled)
        return "saved"

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        wait(has_begun)
        assert rig.engine.stop() is True

    assert rig.archived(job_id).result == '"saved"'


def test_a_job_that_had_not_begun_when_the_shutdown_came_is_handed_back(open_rig: OpenRig, gates: Gates) -> None:
    has_begun, may_end, runs = gates.new(), gates.new(), list[str]()

    async def work(job: Note) -> None:
        runs.append(job.text)
        has_begun.set()
        wait(may_end)

    rig = open_rig(profile_of(work))
    rig.enqueue_many(2)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=2)
        wait(has_begun)
        stop = stopping(rig)
        rig.events.wait_for(EventName.PROCESSING_TASK_SHUTDOWN_OBSERVED, count=2)
        may_end.set()
        join(stop)

    assert len(runs) == 1
    assert (rig.store.counts().hot, rig.store.counts().archive) == (1, 1)
    assert len(rig.events.of(EventName.JOB_SHUTDOWN_RESCHEDULED)) == 1


def test_an_operators_cancel_counts_for_more_than_the_shutdown(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(until_cancelled), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.store.cancel([job_id], "ann")
        rig.engine.stop()

    assert (rig.dead(job_id).reason, rig.dead(job_id).last_modified_by) == (FailureReason.CANCELLED, "ann")


def test_fetched_jobs_are_given_back_unstarted(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(
        profile_of(lambda job: wait(may_end)),
        worker=replace(ONE_AT_A_TIME, prefetch=3, shutdown_grace_period=MINUTE),
    )
    running, fetched = rig.enqueue(priority=20), rig.enqueue_many(3)

    with rig.visiting():
        wait_until(lambda: {rig.hot(job_id).status for job_id in fetched} == {Status.FETCHED})
        stop = stopping(rig)
        rig.events.wait_for(EventName.PREFETCHED_JOB_RELEASED, count=3)
        assert {(rig.hot(job_id).status, rig.hot(job_id).attempt) for job_id in fetched} == {(Status.PENDING, 0)}
        may_end.set()
        join(stop)

    assert rig.archived(running).attempt == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.case("C-058")
def test_a_handler_that_does_not_stop_keeps_its_heartbeat_and_its_end_is_stored(
    open_rig: OpenRig, gates: Gates, clocked_store: Store, clock: SteppedClock
) -> None:
    has_begun, may_end = gates.new(), gates.new()

    def work(job: Note) -> None:
        has_begun.set()
        wait(may_end)

    rig = open_rig(profile_of(work), store=clocked_store)
    job_id = rig.enqueue()

    with rig.visiting():
        wait(has_begun)
        assert rig.engine.stop() is False
        for _ in range(3):
            clock.advance(MINUTE)
            wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())

    assert len(rig.events.of(EventName.PROCESSING_TASK_DRAIN_TIMED_OUT, job_id)) == 1
    assert rig.events.of(EventName.WORKER_STOPPED) == []
    assert len(rig.events.of(EventName.WORKER_SHUTDOWN_TIMED_OUT)) == 1
    may_end.set()
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, job_id)
    assert rig.archived(job_id).attempt == 1


@pytest.mark.usefixtures("impatient")
def test_a_stop_with_the_store_away_is_bounded_and_keeps_the_lease_until_the_outcome_is_stored(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    faulty = FaultyStore(clocked_store)
    rig = open_rig(profile_of(lambda job: faulty.go_away("turn", "retire")), store=faulty.as_store())
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        assert rig.engine.stop() is False

    clock.advance(MINUTE)
    wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
    faulty.come_back()
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, job_id)
    assert rig.engine.stop() is True


@pytest.mark.usefixtures("impatient")
def test_a_stop_while_a_claim_has_no_answer_does_not_wait_for_it(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    rig.visit()
    faulty.go_away("turn")
    rig.visit()

    assert rig.engine.stop() is True


def test_visits_end_when_the_engine_stops(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=replace(QUICK_WORKER, idle_linger=timedelta(hours=1)))
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
        rig.engine.stop()


def test_jobs_that_stop_and_jobs_that_do_not_are_told_apart(
    open_rig: OpenRig, gates: Gates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "END_SECONDS", 0.5)
    have_begun, may_end = threading.Barrier(3), gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        have_begun.wait(WAIT_SECONDS)
        if job.text == "stubborn":
            wait(may_end)
        else:
            until_cancelled(job, ctx)

    rig = open_rig(profile_of(work))
    stubborn, polite = rig.enqueue(Note(text="stubborn")), rig.enqueue(Note(text="polite"))

    with rig.visiting():
        have_begun.wait(WAIT_SECONDS)
        assert rig.engine.stop() is False

    assert rig.hot(polite).interruptions == 1
    assert rig.hot(stubborn).status is Status.PROCESSING
    left = [event.job for event in rig.events.of(EventName.PROCESSING_TASK_DRAIN_TIMED_OUT)]
    assert [ref.id for ref in left if ref is not None] == [stubborn]
    may_end.set()
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, stubborn)


def test_a_worker_that_waits_for_its_jobs_is_draining(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), worker=PATIENT)
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        stop = stopping(rig)
        wait_until(lambda: _state(rig) is WorkerState.DRAINING)
        may_end.set()
    join(stop)

    assert _state(rig) is WorkerState.STOPPED


@pytest.mark.usefixtures("impatient")
def test_a_worker_that_could_not_stop_is_draining_until_its_process_ends(open_rig: OpenRig, gates: Gates) -> None:
    runs, may_end = gates.new(), gates.new()

    def work(job: Note) -> None:
        runs.set()
        wait(may_end)

    rig = open_rig(profile_of(work))
    rig.enqueue()

    with rig.visiting():
        wait(runs)
        assert rig.engine.stop() is False
        assert _state(rig) is WorkerState.DRAINING
        may_end.set()


def _state(rig: Rig) -> WorkerState:
    (row,) = rig.store.workers()
    return row.state
