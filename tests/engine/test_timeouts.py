from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import HotJob, Status
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.hosting.health import workforce
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.health import HealthRules, HealthStatus, judge_workers
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.policy.running import ExecutionRules
from chokaq_core.ports import Store, WorkerState
from tests.engine.conftest import OpenFile, OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MILLISECOND,
    ONE_AT_A_TIME,
    QUICK_WORKER,
    SECOND,
    Gates,
    Note,
    RecordedEvents,
    Rig,
    profile_of,
    wait,
)
from tests.support.polling import WAIT_SECONDS, wait_until

SHORT = 200 * MILLISECOND


def abandoned(rig: Rig) -> int:
    """
    How many slots are taken by handlers that nobody waits for.
    """
    return len(rig.engine._ledger.abandoned())  # noqa: SLF001 - the worker's row shows it only with a heartbeat


def test_an_async_handler_is_cancelled_at_its_timeout(open_rig: OpenRig) -> None:
    seen: list[str] = []

    async def work(job: Note, ctx: JobContext) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled" if ctx.cancelled else "not told")
            raise

    rig = open_rig(profile_of(work, timeout=SHORT))

    job = rig.dead(rig.run())

    assert (job.reason, job.error_type, job.attempt) == (FailureReason.TIMEOUT, "Timeout", 1)
    wait_until(lambda: abandoned(rig) == 0)
    assert seen == ["cancelled"]
    assert rig.events.of(EventName.JOB_ABANDONED) == []
    ended = rig.events.of(EventName.JOB_TIMED_OUT_OR_CANCELLED, job.id)
    assert [event.facts["reason"] for event in ended] == ["Timeout"]


def test_an_async_handler_that_swallows_the_cancellation_is_abandoned_until_it_ends(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end = gates.new()

    async def work(job: Note) -> str:
        while not may_end.is_set():
            try:
                await asyncio.to_thread(may_end.wait, WAIT_SECONDS)
            except asyncio.CancelledError:
                continue
        return "too late"

    rig = open_rig(profile_of(work, timeout=SHORT))

    job_id = rig.run()

    assert rig.dead(job_id).reason is FailureReason.TIMEOUT
    assert abandoned(rig) == 1
    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    assert rig.dead(job_id).reason is FailureReason.TIMEOUT


@pytest.mark.case("C-019")
def test_a_sync_handler_that_ignores_its_timeout_loses_its_row_at_once_and_its_result_for_good(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end, told = gates.new(), threading.Event()

    def work(job: Note, ctx: JobContext) -> str:
        wait(may_end)
        if ctx.cancelled and ctx.remaining == timedelta(0):
            told.set()
        return "late"

    rig = open_rig(profile_of(work, timeout=SHORT))

    job_id = rig.run()

    before = rig.dead(job_id)
    assert (before.reason, before.error_type, before.attempt) == (FailureReason.TIMEOUT, "Timeout", 1)
    assert abandoned(rig) == 1
    (overstayed,) = rig.events.wait_for(EventName.JOB_ABANDONED, job_id)
    assert overstayed.facts == {"told_because": "timed_out"}
    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    rig.visit()
    assert rig.dead(job_id) == before
    assert told.is_set()
    assert rig.store.counts().archive == 0
    assert rig.store.totals()["default"].failed == 1


@pytest.mark.case("C-019")
def test_abandoned_threads_keep_their_slots_and_a_healthy_job_runs_in_the_free_one(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end = gates.new()

    def work(job: Note) -> str:
        if job.text != "healthy":
            wait(may_end)
        return "fine"

    rig = open_rig(profile_of(work, timeout=SHORT))
    stuck = [rig.enqueue(Note(text=f"stuck {n}"), priority=20) for n in range(3)]
    healthy = rig.enqueue(Note(text="healthy"))

    rig.visit()

    assert [rig.dead(job_id).reason for job_id in stuck] == [FailureReason.TIMEOUT] * 3
    assert rig.archived(healthy).attempt == 1
    assert abandoned(rig) == 3


@pytest.mark.case("C-019")
def test_twenty_stuck_jobs_never_take_more_than_the_capacity_and_a_healthy_one_runs_when_a_slot_is_free(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end = gates.new()
    lock, running, most = threading.Lock(), [0], [0]

    def work(job: Note) -> str:
        if job.text == "healthy":
            return "fine"
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        wait(may_end)
        with lock:
            running[0] -= 1
        return "late"

    told: list[str] = []
    rig = open_rig(profile_of(work, timeout=SHORT), on_exhausted=lambda: told.append("exhausted"))
    rig.enqueue_many(20)
    healthy = rig.enqueue(Note(text="healthy"))

    rig.visit()

    assert abandoned(rig) == 4
    assert most[0] == 4
    assert told == ["exhausted"]
    assert len(rig.events.of(EventName.WORKER_ALL_SLOTS_ABANDONED)) == 1
    assert (rig.store.counts().hot, rig.store.counts().dlq) == (17, 4)
    rig.visit()
    assert (rig.store.counts().hot, rig.store.counts().dlq) == (17, 4)
    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    rig.visit()
    assert rig.archived(healthy).attempt == 1
    assert (rig.store.counts().archive, rig.store.counts().dlq) == (17, 4)
    assert most[0] == 4


def test_a_worker_whose_every_slot_is_abandoned_stays_in_sight_and_health_tells_of_it(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end, rules = gates.new(), HealthRules()
    rig = open_rig(profile_of(lambda job: wait(may_end), timeout=SHORT), worker=ONE_AT_A_TIME)
    rig.enqueue_many(2)

    rig.visit()

    (row,) = rig.store.workers()
    assert (row.state, row.active, row.abandoned, row.capacity) == (WorkerState.DRAINING, 0, 1, 1)
    check = judge_workers(workforce(rig.store.vitals(), rules, {}), rules)
    assert (check.status, check.data["abandoned"]) == (HealthStatus.DEGRADED, 1)

    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    rig.visit()
    (row,) = rig.store.workers()
    assert (row.state, row.active, row.abandoned) == (WorkerState.STOPPED, 0, 0)


def test_fetched_jobs_go_back_when_every_slot_is_abandoned(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end), timeout=SHORT), worker=replace(ONE_AT_A_TIME, prefetch=2))
    stuck, others = rig.enqueue(priority=20), rig.enqueue_many(4)

    rig.visit()

    assert rig.dead(stuck).reason is FailureReason.TIMEOUT
    assert {(rig.hot(job_id).status, rig.hot(job_id).attempt) for job_id in others} == {(Status.PENDING, 0)}


def test_handlers_that_stop_soon_after_their_timeout_do_not_count_as_stuck(
    open_rig: OpenRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chokaq_core.engine.run.STUCK_SECONDS", 30.0)
    told: list[str] = []

    async def work(job: Note) -> str:
        if job.text == "healthy":
            return "fine"
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(rig.events.wait_for, EventName.JOB_TIMED_OUT_OR_CANCELLED)
        raise AssertionError("nobody cancelled")

    rig = open_rig(profile_of(work, timeout=SHORT), worker=ONE_AT_A_TIME, on_exhausted=lambda: told.append("exhausted"))
    slow, healthy = rig.enqueue(priority=20), rig.enqueue(Note(text="healthy"))

    rig.visit()

    assert rig.dead(slow).reason is FailureReason.TIMEOUT
    assert rig.archived(healthy).attempt == 1
    assert told == []


def test_abandoned_slots_show_in_the_workers_row(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()

    def work(job: Note) -> None:
        wait(may_end)

    stuck, long = profile_of(work, "stuck.v1", timeout=SHORT), profile_of(work, "long.v1", job_type=Longer)
    rig = open_rig(stuck, long)
    rig.enqueue()
    rig.enqueue(Longer())

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED)
        wait_until(lambda: _row(rig) == (1, 1))
        may_end.set()


class Longer(Note):
    """
    A second model.
    """


def test_a_job_does_not_run_again_beside_its_own_abandoned_thread(
    open_rig: OpenRig, gates: Gates, clocked_store: Store, clock: SteppedClock
) -> None:
    may_end, runs = gates.new(), list[int]()

    def work(job: Note, ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        if len(runs) == 1:
            wait(may_end)

    rig = open_rig(profile_of(work, timeout=SHORT), store=clocked_store)
    job_id = rig.run()
    clocked_store.resurrect([job_id], "ann")

    rig.visit()

    waiting = rig.hot(job_id)
    assert (waiting.status, waiting.attempt, waiting.due_at - clock.now()) == (Status.PENDING, 0, 30 * SECOND)
    assert runs == [1]
    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    clock.advance(31 * SECOND)
    rig.visit()
    assert rig.archived(job_id).attempt == 1
    assert runs == [1, 1]


def test_nothing_waits_for_an_abandoned_thread_at_the_end(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end), timeout=SHORT))
    rig.run()

    assert rig.engine.stop() is True

    assert abandoned(rig) == 1
    assert rig.events.of(EventName.PROCESSING_TASK_DRAIN_TIMED_OUT) == []
    assert len(rig.events.of(EventName.WORKER_STOPPED)) == 1


def test_the_nearest_timeout_wins_whichever_was_claimed_first(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()

    def work(job: Note) -> None:
        wait(may_end)

    rules = ExecutionRules(queue_timeouts={"slow": timedelta(hours=1), "quick": SHORT})
    rig = open_rig(profile_of(work), execution=rules)
    slow = rig.enqueue(queue="slow")
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        quick = rig.enqueue(queue="quick")
        rig.events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED, quick)
        assert rig.dead(quick).reason is FailureReason.TIMEOUT
        assert rig.hot(slow).status is Status.PROCESSING
        may_end.set()
    assert rig.archived(slow).attempt == 1


def test_a_timeout_is_not_retried(open_rig: OpenRig, gates: Gates) -> None:
    runs: list[int] = []

    async def work(job: Note, ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        await asyncio.Event().wait()

    rig = open_rig(profile_of(work, timeout=SHORT, max_attempts=5))

    assert rig.dead(rig.run()).attempt == 1
    assert runs == [1]


def test_a_timeout_fires_although_the_event_loop_is_blocked(open_rig: OpenRig, gates: Gates) -> None:
    may_end, runs = gates.new(), list[str]()

    async def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    rig = open_rig(profile_of(work, timeout=SHORT), worker=replace(QUICK_WORKER, max_concurrency=2))
    ids = rig.enqueue_many(2)

    rig.visit()

    assert [rig.dead(job_id).reason for job_id in ids] == [FailureReason.TIMEOUT] * 2
    may_end.set()
    wait_until(lambda: abandoned(rig) == 0)
    assert len(runs) == 1


def test_a_handler_that_ends_just_before_its_timeout_keeps_its_result(open_rig: OpenRig) -> None:
    """
    Whichever comes first decides, and only one of them does, also when both come at once.
    """

    def work(job: Note, ctx: JobContext) -> str:
        time.sleep(max(0.0, ctx.remaining.total_seconds() - 0.0005 * (int(job.text) % 5)))
        return "just in time"

    rig = open_rig(profile_of(work, timeout=20 * MILLISECOND), worker=replace(QUICK_WORKER, max_concurrency=8))
    ids = rig.enqueue_many(80)

    while rig.store.counts().hot:
        rig.visit()

    counts, totals = rig.store.counts(), rig.store.totals()["default"]
    assert counts.archive + counts.dlq == 80
    assert (totals.succeeded, totals.failed) == (counts.archive, counts.dlq)
    endings = [len(_endings(rig.events, job_id)) for job_id in ids]
    assert endings == [1] * 80
    assert rig.events.of(EventName.STATE_TRANSITION_NOT_APPLIED) == []


# Leases of handlers that block


@pytest.mark.case("C-003")
@pytest.mark.parametrize("way", ["sleeps", "spins"])
def test_an_async_handler_that_blocks_the_loop_keeps_its_lease(
    open_rig: OpenRig, open_file: OpenFile, gates: Gates, way: str
) -> None:
    """
    The handler goes on until its heartbeat is two zombie timeouts old and more; scans look for it all the while.
    """
    runs, may_end = list[int](), gates.new()

    async def block(job: Note, ctx: JobContext) -> str:
        runs.append(ctx.attempt)
        if way == "sleeps":
            wait(may_end)
        while way == "spins" and not may_end.is_set():
            pass
        return "done"

    rig = open_rig(
        profile_of(block, "blocks.v1"),
        profile_of(lambda job: "quick", "quick.v1", job_type=Longer),
        store=open_file(),
    )
    watcher = open_file()
    zombie_timeout = 1500 * MILLISECOND
    rules = RescueRules(processing_zombie_timeout=zombie_timeout)
    rescue = Rescue(watcher, rig.catalog, rules, RetryRules(), RecordedEvents())
    rescue.scan()
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        quick = rig.enqueue(Longer(), queue="quick")
        wait_until(lambda: rescue.scan().buried or _has_beaten_for(watcher, job_id, 2 * zombie_timeout))
        may_end.set()

    assert rig.archived(job_id).attempt == 1
    assert rig.archived(quick).attempt == 1
    assert runs == [1]


def _has_beaten_for(store: Store, job_id: str, span: timedelta) -> bool:
    """
    Whether the last heartbeat of a job came so long after its start.
    """
    job = store.find(job_id)
    assert isinstance(job, HotJob)
    assert job.started_at is not None
    return job.heartbeat_at is not None and job.heartbeat_at - job.started_at > span


def _row(rig: Rig) -> tuple[int, int]:
    row = next(row for row in rig.store.workers() if row.worker_id == rig.engine.worker_id)
    return row.active, row.abandoned


def _endings(events: RecordedEvents, job_id: str) -> list[str]:
    names = {"JobSucceededArchived", "JobTimedOutOrCancelled"}
    return [name for name in events.names(job_id) if name in names]
