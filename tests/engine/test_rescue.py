from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import HEARTBEAT_TIMER, RESCUE_TIMER, Pulse, Rescue, RescueReport
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import Beat, PillarCounts, Store, Totals, WorkerFacts
from tests.contract.stages import OTHER_WORKER, Stage
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import MINUTE, NOTE, QUICK_RETRY, SECOND, Note, RecordedEvents, join, profile_of
from tests.support.faulty_store import FaultyStore

RULES = RescueRules(fetched_job_timeout=10 * MINUTE, processing_zombie_timeout=10 * MINUTE, scan_interval=MINUTE)
LATER = 11 * MINUTE


@pytest.fixture
def stage(clocked_store: Store, clock: SteppedClock) -> Stage:
    """
    Workers that fall silent when a test wants it.
    """
    return Stage(clocked_store, clock)


@pytest.fixture
def events() -> RecordedEvents:
    """
    What the scans say.
    """
    return RecordedEvents()


@pytest.fixture
def faulty(clocked_store: Store) -> FaultyStore:
    """
    Faults on the store whose time stands still.
    """
    return FaultyStore(clocked_store)


@pytest.fixture
def rescue(faulty: FaultyStore, events: RecordedEvents) -> Rescue:
    """
    A rescue of an app with one ordinary handler.
    """
    return rescue_of(faulty.as_store(), events)


def rescue_of(store: Store, events: RecordedEvents, **options: Any) -> Rescue:  # noqa: ANN401 - of the handler
    """
    A rescue of an app whose one handler is registered so.
    """
    retry = options.pop("retry", RetryRules(jitter_max_delay=timedelta(0)))
    return Rescue(store, Catalog([profile_of(lambda job: None, **options)]), RULES, retry, events)


def scan_on_time(rescue: Rescue, clock: SteppedClock, passed: timedelta) -> RescueReport:
    """
    Scans every minute, as its timer does, until so much time has passed; answers what all scans together did.
    """
    reports = [rescue.scan()]
    for _ in range(passed // MINUTE):
        clock.advance(MINUTE)
        reports.append(rescue.scan())
    return RescueReport(
        is_armed=False,
        recovered=sum(report.recovered for report in reports),
        buried=sum(report.buried for report in reports),
    )


# Arming


def test_the_first_scan_only_arms(rescue: Rescue, stage: Stage, clock: SteppedClock, events: RecordedEvents) -> None:
    job_id = stage.running(type_key=NOTE).lease.job_id
    clock.advance(LATER)

    assert rescue.scan() == RescueReport(is_armed=True)

    assert stage.hot(job_id).status is Status.PROCESSING
    assert events.names() == ["ZombieRescueArmed"]
    assert rescue.scan() == RescueReport(is_armed=False, buried=1)


@pytest.mark.parametrize("gap,is_armed", [(3 * MINUTE, False), (3 * MINUTE + SECOND, True)], ids=["three", "more"])
def test_a_gap_of_more_than_three_intervals_arms_anew(
    rescue: Rescue, stage: Stage, clock: SteppedClock, gap: timedelta, is_armed: bool
) -> None:
    rescue.scan()
    clock.advance(gap)

    assert rescue.scan().is_armed is is_armed


def test_scans_that_fail_are_no_scans(
    rescue: Rescue, faulty: FaultyStore, clock: SteppedClock, events: RecordedEvents
) -> None:
    rescue.scan()
    faulty.go_away("suspects")
    for _ in range(3):
        clock.advance(MINUTE)
        with pytest.raises(StoreUnavailableError):
            rescue.scan()
    faulty.come_back()
    clock.advance(MINUTE)

    assert rescue.scan().is_armed is True
    assert len(events.of(EventName.ZOMBIE_RESCUE_CYCLE_FAILED)) == 3


def test_a_scan_without_finds_says_so(rescue: Rescue, events: RecordedEvents, clocked_store: Store) -> None:
    rescue.scan()

    assert rescue.scan() == RescueReport(is_armed=False, recovered=0, buried=0)

    assert [event.facts for event in events.of(EventName.ZOMBIE_RESCUE_STARTED)] == [{"recovered": 0, "buried": 0}]
    timer = clocked_store.timers()[RESCUE_TIMER]
    assert timer.last_succeeded_at == timer.last_started_at == timer.now


# Recover


def test_a_job_that_was_fetched_and_forgotten_goes_back(
    rescue: Rescue, stage: Stage, clock: SteppedClock, events: RecordedEvents
) -> None:
    old = stage.fetched(type_key=NOTE).lease.job_id

    assert scan_on_time(rescue, clock, LATER).recovered == 1

    fresh = stage.fetched(type_key=NOTE, priority=99).lease.job_id
    assert (stage.hot(old).status, stage.hot(old).attempt, stage.hot(old).worker_id) == (Status.PENDING, 0, None)
    assert rescue.scan().recovered == 0
    assert stage.hot(fresh).status is Status.FETCHED
    assert [event.job.id for event in events.of(EventName.ABANDONED_JOBS_RECOVERED) if event.job] == [old]


# Bury


def test_a_job_whose_worker_fell_silent_ends_as_a_zombie_and_is_not_run_again(
    open_rig: OpenRig, rescue: Rescue, stage: Stage, clock: SteppedClock, events: RecordedEvents, clocked_store: Store
) -> None:
    runs: list[str] = []
    rig = open_rig(profile_of(lambda job, ctx: runs.append(ctx.job_id)), store=clocked_store)
    job_id = stage.running(type_key=NOTE).lease.job_id

    assert scan_on_time(rescue, clock, LATER).buried == 1
    rig.visit()

    job = rig.dead(job_id)
    assert (job.reason, job.status, job.attempt) == (FailureReason.ZOMBIE, Status.ZOMBIE, 1)
    assert (job.error_type, job.worker_id) == ("WorkerLost", "worker-1")
    assert job.error_details is not None
    assert "worker-1 fell silent during attempt 1; last heartbeat 2026-03-01T12:00:00" in job.error_details
    assert runs == []
    assert len(events.of(EventName.ZOMBIE_JOBS_ARCHIVED, job_id)) == 1
    assert clocked_store.totals()["default"] == Totals(succeeded=0, failed=1, retried=0)


def test_a_job_is_not_buried_before_its_time(rescue: Rescue, stage: Stage, clock: SteppedClock) -> None:
    stage.running(type_key=NOTE)

    assert scan_on_time(rescue, clock, 10 * MINUTE).buried == 0
    clock.advance(SECOND)
    assert rescue.scan().buried == 1


def test_a_queue_may_have_a_zombie_timeout_of_its_own(rescue: Rescue, stage: Stage, clock: SteppedClock) -> None:
    stage.set_queue("quick", zombie_timeout=2 * MINUTE)
    stage.set_queue("slow", zombie_timeout=60 * MINUTE)
    quick, slow = (stage.running(type_key=NOTE, queue=queue).lease.job_id for queue in ("quick", "slow"))

    assert scan_on_time(rescue, clock, 3 * MINUTE).buried == 1
    assert stage.dead_row(quick).reason is FailureReason.ZOMBIE
    assert scan_on_time(rescue, clock, 50 * MINUTE).buried == 0
    assert stage.hot(slow).status is Status.PROCESSING


def test_a_type_that_the_rescuing_app_does_not_know_is_buried_too(
    rescue: Rescue, stage: Stage, clock: SteppedClock
) -> None:
    job_id = stage.running(type_key="unknown.here").lease.job_id

    assert scan_on_time(rescue, clock, LATER).buried == 1
    assert stage.dead_row(job_id).reason is FailureReason.ZOMBIE


def test_more_zombies_than_a_batch_holds_are_buried_in_one_scan(
    rescue: Rescue, stage: Stage, clock: SteppedClock, faulty: FaultyStore
) -> None:
    stage.add_many(450, type_key=NOTE)
    stage.claim(450)

    assert scan_on_time(rescue, clock, LATER).buried == 450
    assert faulty.calls["bury"] == 3
    assert stage.store.counts() == PillarCounts(hot=0, archive=0, dlq=450)


def test_a_job_that_beats_between_the_look_and_the_burial_is_left_alone(
    rescue: Rescue, stage: Stage, clock: SteppedClock, faulty: FaultyStore, events: RecordedEvents
) -> None:
    job_id = stage.running(type_key=NOTE).lease.job_id
    rescue.scan()
    clock.advance(2 * MINUTE)
    stage.set_queue("default", zombie_timeout=SECOND)
    faulty.after("suspects", lambda: stage.store.beat(Beat("worker-1")))
    clock.advance(SECOND)

    assert rescue.scan().buried == 0

    assert stage.hot(job_id).status is Status.PROCESSING
    assert events.of(EventName.ZOMBIE_JOBS_ARCHIVED) == []


def test_two_scans_at_once_move_each_job_once(stage: Stage, clock: SteppedClock, clocked_store: Store) -> None:
    ids = stage.add_many(120, type_key=NOTE)
    stage.claim(120)
    events = RecordedEvents()
    rescues = [rescue_of(clocked_store, events) for _ in range(4)]
    rescues[0].scan()
    clock.advance(2 * MINUTE)
    stage.set_queue("default", zombie_timeout=SECOND)
    reports: list[RescueReport] = []
    barrier = threading.Barrier(4)

    def scan(rescue: Rescue) -> None:
        barrier.wait(30)
        reports.append(rescue.scan())

    threads = [threading.Thread(target=scan, args=(rescue,)) for rescue in rescues]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)

    assert sum(report.buried for report in reports) == 120
    assert {len(events.of(EventName.ZOMBIE_JOBS_ARCHIVED, job_id)) for job_id in ids} == {1}
    assert clocked_store.totals()["default"].failed == 120


@pytest.mark.case("C-009")
def test_a_lost_workers_slots_in_a_limited_queue_are_free_after_the_burial(
    rescue: Rescue, stage: Stage, clock: SteppedClock
) -> None:
    stage.set_queue("erp", max_workers=2)
    stage.add_many(4, type_key=NOTE, queue="erp")
    lost = stage.claim(4)
    assert len(lost) == 2
    assert stage.claim(4, OTHER_WORKER) == []

    assert scan_on_time(rescue, clock, LATER).buried == 2

    assert len(stage.claim(4, OTHER_WORKER)) == 2
    assert {stage.dead_row(job_id).reason for job_id in lost} == {FailureReason.ZOMBIE}


def test_a_lost_job_that_was_to_be_cancelled_ends_as_cancelled(
    faulty: FaultyStore, stage: Stage, clock: SteppedClock, events: RecordedEvents
) -> None:
    rescue = rescue_of(faulty.as_store(), events, rerun_after_loss=True)
    job_id = stage.running(type_key=NOTE).lease.job_id
    stage.store.cancel([job_id], "ann")

    assert scan_on_time(rescue, clock, LATER).buried == 1

    assert (stage.dead_row(job_id).reason, stage.dead_row(job_id).last_modified_by) == (
        FailureReason.CANCELLED,
        "ann",
    )


# Re-run after a loss


def test_a_handler_that_may_run_again_is_retried_by_the_rule_for_failures_until_its_attempts_are_used_up(
    stage: Stage, clock: SteppedClock, events: RecordedEvents, clocked_store: Store
) -> None:
    rescue = rescue_of(clocked_store, events, rerun_after_loss=True, max_attempts=3)
    job_id = stage.running(type_key=NOTE, payload='{"text":""}').lease.job_id

    for attempt, wait in ((1, 3), (2, 6)):
        assert scan_on_time(rescue, clock, LATER).buried == 1
        job = stage.hot(job_id)
        assert (job.status, job.attempt, job.worker_id) == (Status.PENDING, attempt, None)
        assert job.due_at - clock.now() == wait * SECOND
        assert [(error.attempt, error.type) for error in job.attempt_errors][-1] == (attempt, "WorkerLost")
        clock.advance(wait * SECOND)
        assert stage.claim() == [job_id]
    assert scan_on_time(rescue, clock, LATER).buried == 1

    dead = stage.dead_row(job_id)
    assert (dead.reason, dead.attempt, len(dead.attempt_errors)) == (FailureReason.ZOMBIE, 3, 3)
    assert clocked_store.totals()["default"] == Totals(succeeded=0, failed=1, retried=2)
    assert events.names(job_id) == ["JobTransientRetryScheduled"] * 2 + ["ZombieJobsArchived"]


def test_a_lost_job_that_may_run_again_runs_again(
    open_rig: OpenRig, stage: Stage, clock: SteppedClock, events: RecordedEvents, clocked_store: Store
) -> None:
    runs: list[int] = []

    def work(job: Note, ctx: JobContext) -> None:
        runs.append(ctx.attempt)

    rig = open_rig(profile_of(work, rerun_after_loss=True), store=clocked_store, retry=QUICK_RETRY)
    rescue = Rescue(clocked_store, rig.catalog, RULES, QUICK_RETRY, events)
    job_id = stage.running(type_key=NOTE, payload='{"text":""}').lease.job_id

    assert scan_on_time(rescue, clock, LATER).buried == 1
    rig.visit()

    assert rig.archived(job_id).attempt == 2
    assert runs == [2]


def test_a_lost_job_that_may_run_again_ends_when_its_lifetime_is_over(
    stage: Stage, clock: SteppedClock, events: RecordedEvents, clocked_store: Store
) -> None:
    retry = replace(RetryRules(), max_job_age=5 * MINUTE)
    rescue = rescue_of(clocked_store, events, rerun_after_loss=True, retry=retry)
    job_id = stage.running(type_key=NOTE).lease.job_id

    assert scan_on_time(rescue, clock, LATER).buried == 1

    assert stage.dead_row(job_id).reason is FailureReason.ZOMBIE


def test_whether_a_job_may_run_again_is_decided_by_the_registration_that_rescue_knows(
    stage: Stage, clock: SteppedClock, events: RecordedEvents, clocked_store: Store
) -> None:
    first, second = (stage.running(type_key=NOTE, queue=queue).lease.job_id for queue in ("a", "b"))
    old, new = rescue_of(clocked_store, events), rescue_of(clocked_store, events, rerun_after_loss=True)
    stage.set_queue("a", zombie_timeout=2 * MINUTE)

    assert scan_on_time(old, clock, 3 * MINUTE).buried == 1
    assert scan_on_time(new, clock, LATER).buried == 1

    assert stage.dead_row(first).reason is FailureReason.ZOMBIE
    assert stage.hot(second).status is Status.PENDING


# The app's own pulse


def test_the_pulse_shows_that_timers_run_and_forgets_workers_that_are_long_gone(
    stage: Stage, clock: SteppedClock, clocked_store: Store
) -> None:
    clocked_store.register(WorkerFacts("gone", "host", 4))
    clocked_store.register(WorkerFacts("worker-1", "host", 4))
    stage.running(type_key=NOTE)
    clock.advance(timedelta(hours=25))
    clocked_store.register(WorkerFacts("here", "host", 4))

    Pulse(clocked_store).scan()

    assert {worker.worker_id for worker in clocked_store.workers()} == {"worker-1", "here"}
    timer = clocked_store.timers()[HEARTBEAT_TIMER]
    assert (timer.last_started_at, timer.last_succeeded_at) == (clock.now(), clock.now())
    assert timer.last_outcome == "1 workers pruned"
