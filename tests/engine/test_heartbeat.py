from __future__ import annotations

import asyncio
import threading

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import PillarCounts, ResurrectOutcome, Store, Totals, TurnAnswer
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MILLISECOND,
    MINUTE,
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

FRAIL = HeartbeatRules(interval_min=5 * MILLISECOND, interval_max=5 * MILLISECOND, failure_threshold=3)
ZOMBIE = RescueRules(processing_zombie_timeout=10 * MINUTE, scan_interval=60 * MINUTE)


@pytest.fixture
def faulty(clocked_store: Store) -> FaultyStore:
    """
    Faults on the store whose time stands still.
    """
    return FaultyStore(clocked_store)


def takes_a_job(answer: TurnAnswer) -> bool:
    """
    Whether a turn claimed anything.
    """
    return bool(answer.claimed)


def bury(rig: Rig, clock: SteppedClock) -> None:
    """
    Lets the zombie timeout pass, and ends the one job that fell silent.
    """
    rescue = Rescue(rig.store, rig.catalog, ZOMBIE, RetryRules(), rig.events)
    rescue.scan()
    clock.advance(11 * MINUTE)
    assert rescue.scan().buried == 1


# One statement


@pytest.mark.parametrize("count", [1, 100])
def test_one_statement_keeps_all_running_jobs_alive(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock, count: int
) -> None:
    may_end = gates.new()
    rig = open_rig(
        profile_of(lambda job: wait(may_end)),
        store=faulty.as_store(),
        worker=replace(QUICK_WORKER, max_concurrency=count),
    )
    ids = rig.enqueue_many(count)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=count)
        first, second = faulty.hold_before("beat"), faulty.hold_before("beat")
        first.wait_until_reached()
        clock.advance(SECOND)
        first.release()
        second.wait_until_reached()
        assert {rig.hot(job_id).heartbeat_at for job_id in ids} == {clock.now()}
        second.release()
        may_end.set()

    assert {rig.archived(job_id).attempt for job_id in ids} == {1}


def test_the_heart_rests_while_nothing_runs(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    rig.run()
    rig.run()
    seen = faulty.total_calls()

    rig.wait_until_at_rest()

    assert faulty.calls["beat"] <= 2
    assert faulty.total_calls() == seen


def test_a_beat_tells_how_many_jobs_run_in_how_many_slots(open_rig: OpenRig, gates: Gates, faulty: FaultyStore) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store())
    rig.enqueue_many(3)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=3)
        wait_until(lambda: [(row.active, row.capacity) for row in rig.store.workers()] == [(3, 4)])
        may_end.set()


# Lost leases


@pytest.mark.case("C-001")
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
def test_a_lost_lease_stops_the_handler_and_settles_nothing(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock, is_async: bool
) -> None:
    told = gates.new()

    def work(job: Note, ctx: JobContext) -> str:
        wait_until(lambda: ctx.cancelled)
        told.set()
        return "late"

    async def work_async(job: Note, ctx: JobContext) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            told.set()
        return "late"

    rig = open_rig(profile_of(work_async if is_async else work), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        bury(rig, clock)
        buried = rig.dead(job_id)
        faulty.come_back()
        wait(told)
        rejected = rig.events.wait_for(EventName.JOB_EXECUTION_LEASE_REJECTED, job_id)

    assert buried.reason is FailureReason.ZOMBIE
    assert rig.dead(job_id) == buried
    assert [event.facts for event in rejected] == [{"transition": "beat"}]
    assert rig.store.totals()["default"] == Totals(succeeded=0, failed=1, retried=0)


def test_a_handler_that_goes_on_without_its_lease_is_told_as_abandoned(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        bury(rig, clock)
        faulty.come_back()
        (overstayed,) = rig.events.wait_for(EventName.JOB_ABANDONED, job_id)
        may_end.set()

    assert overstayed.facts == {"told_because": "lease_lost"}


@pytest.mark.case("C-001")
@pytest.mark.parametrize("ending", ["success", "failure"])
@pytest.mark.parametrize("is_resurrected", [False, True], ids=["buried", "run-by-another"])
def test_a_result_that_comes_after_the_lease_was_lost_changes_nothing(
    open_rig: OpenRig,
    gates: Gates,
    faulty: FaultyStore,
    clocked_store: Store,
    clock: SteppedClock,
    ending: str,
    is_resurrected: bool,
) -> None:
    may_end, runs = gates.new(), list[tuple[str, int]]()

    def work(job: Note, ctx: JobContext) -> str:
        runs.append(("a", ctx.attempt))
        wait(may_end)
        if ending == "failure":
            raise OSError("late failure")
        return "late success"

    def work_elsewhere(job: Note, ctx: JobContext) -> str:
        runs.append(("b", ctx.attempt))
        return "from b"

    # With its only slot taken, the first worker does not claim the resurrected job itself.
    a = open_rig(profile_of(work), store=faulty.as_store(), worker=replace(QUICK_WORKER, max_concurrency=1))
    b = open_rig(profile_of(work_elsewhere), store=clocked_store)
    faulty.go_away("beat")
    job_id = a.enqueue()

    with a.visiting():
        a.events.wait_for(EventName.JOB_STARTED)
        bury(b, clock)
        if is_resurrected:
            assert clocked_store.resurrect([job_id], "ann") == [ResurrectOutcome.RESURRECTED]
            b.visit()
        before, counts, totals = clocked_store.find(job_id), clocked_store.counts(), clocked_store.totals()
        may_end.set()
        stale = a.events.wait_for(EventName.STATE_TRANSITION_NOT_APPLIED, job_id)

    assert len(stale) == 1
    assert stale[0].facts["transition"] == ("complete" if ending == "success" else "retry")
    assert (clocked_store.find(job_id), clocked_store.counts(), clocked_store.totals()) == (before, counts, totals)
    assert a.events.of(EventName.JOB_SUCCEEDED_ARCHIVED) == []
    if is_resurrected:
        assert (b.archived(job_id).result, b.archived(job_id).lease_number, counts) == (
            '"from b"',
            2,
            PillarCounts(hot=0, archive=1, dlq=0),
        )
        assert runs == [("a", 1), ("b", 1)]
    else:
        assert (b.dead(job_id).reason, b.dead(job_id).attempt) == (FailureReason.ZOMBIE, 1)
        assert runs == [("a", 1)]


def test_a_job_resurrected_into_the_same_process_does_not_run_beside_its_first_run(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock
) -> None:
    may_end, runs = gates.new(), list[int]()

    def work(job: Note, ctx: JobContext) -> str:
        runs.append(len(runs) + 1)
        if len(runs) == 1:
            wait(may_end)
            return "late"
        return "second run"

    rig = open_rig(profile_of(work), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        bury(rig, clock)
        rig.store.resurrect([job_id], "ann")
        wait_until(lambda: rig.hot(job_id).lease_number == 2 and rig.hot(job_id).status is Status.PENDING)
        waiting = rig.hot(job_id)
        may_end.set()

    assert (waiting.attempt, waiting.due_at - clock.now()) == (0, 30 * SECOND)
    assert runs == [1]
    assert len(rig.events.of(EventName.JOB_EXECUTION_LEASE_REJECTED, job_id)) == 1
    wait_until(lambda: not rig.engine._ledger.abandoned())  # noqa: SLF001 - the first handler's thread may end later
    faulty.come_back()
    clock.advance(31 * SECOND)
    rig.visit()
    job = rig.archived(job_id)
    assert (job.result, job.attempt, job.lease_number) == ('"second run"', 1, 3)
    assert rig.store.totals()["default"].succeeded == 1


def test_a_fetched_job_that_was_taken_away_is_forgotten(open_rig: OpenRig, gates: Gates, faulty: FaultyStore) -> None:
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    rig = open_rig(
        profile_of(work), store=faulty.as_store(), worker=replace(QUICK_WORKER, max_concurrency=1, prefetch=1)
    )
    first = rig.enqueue(Note(text="first"), priority=20)
    second = rig.enqueue(Note(text="second"))

    with rig.visiting():
        wait_until(lambda: rig.hot(second).status is Status.FETCHED)
        rig.store.cancel([second], "ann")
        _let_pass(3, faulty)
        may_end.set()

    assert rig.archived(first).attempt == 1
    assert rig.dead(second).reason is FailureReason.CANCELLED
    assert runs == ["first"]


# Jobs in this worker's name that it does not know


def test_a_claim_whose_answer_was_lost_for_good_is_put_off_after_two_beats(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end) if job.text else None), store=faulty.as_store())
    known = rig.enqueue(Note(text="long"))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        faulty.alter("turn", lambda answer: replace(answer, claimed=()), when=takes_a_job)
        unknown = rig.enqueue()
        wait_until(lambda: rig.hot(unknown).lease_number == 1 and rig.hot(unknown).status is Status.PENDING)
        job = rig.hot(unknown)
        may_end.set()

    assert (job.attempt, job.due_at - clock.now()) == (0, 5 * SECOND)
    assert rig.archived(known).attempt == 1


def test_a_claim_that_is_only_slow_to_be_answered_is_not_taken_for_a_lost_one(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    first = rig.enqueue(Note(text="first"))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        slow = faulty.hold_after("turn", when=takes_a_job)
        second = rig.enqueue(Note(text="second"))
        slow.wait_until_reached()
        _let_pass(5, faulty)
        slow.release()
        rig.events.wait_for(EventName.JOB_STARTED, second)
        _let_pass(5, faulty)
        assert (rig.hot(second).status, rig.hot(second).lease_number) == (Status.PROCESSING, 1)
        may_end.set()

    assert [rig.archived(job_id).attempt for job_id in (first, second)] == [1, 1]
    assert sorted(runs) == ["first", "second"]


# Failing heartbeats


def test_each_failed_beat_is_told_once_for_each_job_and_the_threshold_once(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store(), heartbeat=FRAIL)
    faulty.go_away("beat")
    ids = rig.enqueue_many(2)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=2)
        rig.events.wait_for(EventName.JOB_HEARTBEAT_WRITE_FAILED, count=12)
        faulty.come_back()
        may_end.set()

    for job_id in ids:
        failed = rig.events.of(EventName.JOB_HEARTBEAT_WRITE_FAILED, job_id)
        assert [event.facts["failures"] for event in failed] == list(range(1, len(failed) + 1))
        assert len(rig.events.of(EventName.JOB_HEARTBEAT_DEGRADED, job_id)) == 1
        assert rig.archived(job_id).attempt == 1
    assert rig.events.of(EventName.JOB_HEARTBEAT_THRESHOLD_REACHED) == []


def test_a_beat_that_succeeds_ends_the_row_of_failures(open_rig: OpenRig, gates: Gates, faulty: FaultyStore) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store(), heartbeat=FRAIL)
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        for _ in range(4):
            faulty.refuse("beat", times=2)
            _let_pass(4, faulty)
        may_end.set()

    assert {event.facts["failures"] for event in rig.events.of(EventName.JOB_HEARTBEAT_WRITE_FAILED)} == {1, 2}
    assert rig.events.of(EventName.JOB_HEARTBEAT_DEGRADED) == []


def test_with_the_policy_to_cancel_too_many_failed_beats_end_the_jobs(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    stopped = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        wait_until(lambda: ctx.cancelled)
        stopped.set()

    rig = open_rig(profile_of(work), store=faulty.as_store(), heartbeat=replace(FRAIL, cancel_on_failure=True))
    faulty.go_away("beat")

    job_id = rig.run()

    wait(stopped)
    job = rig.dead(job_id)
    assert (job.reason, job.error_type, job.attempt) == (FailureReason.HEARTBEAT_FAILURE, "HeartbeatFailure", 1)
    assert len(rig.events.of(EventName.JOB_HEARTBEAT_THRESHOLD_REACHED, job_id)) == 1
    assert rig.events.of(EventName.JOB_HEARTBEAT_DEGRADED) == []


def test_progress_reported_before_a_failed_beat_comes_with_the_next_one(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        ctx.report_progress(30, "a third")
        wait(may_end)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_HEARTBEAT_WRITE_FAILED, count=2)
        faulty.come_back()
        wait_until(lambda: rig.hot(job_id).progress == 30)
        may_end.set()


def test_newer_progress_is_not_overwritten_by_what_a_failed_beat_gave_back(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_go_on, may_end = gates.new(), gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        ctx.report_progress(30)
        wait(may_go_on)
        ctx.report_progress(60)
        wait(may_end)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    faulty.go_away("beat")
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_HEARTBEAT_WRITE_FAILED)
        may_go_on.set()
        rig.events.wait_for(EventName.JOB_HEARTBEAT_WRITE_FAILED, count=4)
        faulty.come_back()
        wait_until(lambda: rig.hot(job_id).progress == 60)
        may_end.set()


def test_beats_go_on_until_the_last_outcome_is_stored(
    open_rig: OpenRig, faulty: FaultyStore, clock: SteppedClock
) -> None:
    rig = open_rig(profile_of(lambda job: faulty.go_away("turn")), store=faulty.as_store())
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        for _ in range(3):
            clock.advance(MINUTE)
            wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
        faulty.come_back()

    assert rig.archived(job_id).attempt == 1


def test_beats_go_on_during_the_shutdown_until_the_last_job_has_settled(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock
) -> None:
    may_end = gates.new()
    rig = open_rig(
        profile_of(lambda job: wait(may_end)),
        store=faulty.as_store(),
        worker=replace(QUICK_WORKER, shutdown_grace_period=MINUTE),
    )
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        stopping = _stopping(rig)
        rig.events.wait_for(EventName.PROCESSING_TASK_DRAIN_STARTED)
        for _ in range(3):
            clock.advance(MINUTE)
            wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
        may_end.set()
        join(stopping)

    assert rig.archived(job_id).attempt == 1


def test_a_fault_of_ours_in_the_heartbeat_thread_is_told_and_the_beats_go_on(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, clock: SteppedClock
) -> None:
    may_end = gates.new()

    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store())
    faulty.alter("beat", lambda answer: 1 / 0)
    job_id = rig.enqueue()

    with rig.visiting():
        told = rig.events.wait_for(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY)
        clock.advance(MINUTE)
        wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
        may_end.set()

    assert [event.facts["thread"] for event in told] == ["chokaq-heartbeat"]
    assert rig.archived(job_id).attempt == 1


def _let_pass(beats: int, faulty: FaultyStore) -> None:
    """
    Waits for so many further beats.
    """
    seen = faulty.calls["beat"]
    wait_until(lambda: faulty.calls["beat"] >= seen + beats)


def _stopping(rig: Rig) -> threading.Thread:
    thread = threading.Thread(target=rig.engine.stop, daemon=True)
    thread.start()
    return thread
