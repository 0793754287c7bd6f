from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from chokaq_core.contracts import JobContext, Profile
from chokaq_core.domain.events import EventName
from chokaq_core.domain.job import HotJob, Status
from chokaq_core.domain.value import replace
from chokaq_core.ports import QueueChange, Store, TurnAnswer, WorkerState
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MILLISECOND,
    MINUTE,
    ONE_AT_A_TIME,
    QUICK_RETRY,
    QUICK_WORKER,
    Gates,
    Note,
    Rig,
    join,
    profile_of,
    rests,
    wait,
)
from tests.support.faulty_store import FaultyStore
from tests.support.polling import WAIT_SECONDS, wait_until

HOUR = timedelta(hours=1)
PATIENT = replace(QUICK_WORKER, polling_interval=HOUR, no_queues_sleep_interval=HOUR)


class Long(Note):
    """
    A note whose handler may take long.
    """


def finds_nothing(answer: TurnAnswer) -> bool:
    """
    Whether a turn looked in vain.
    """
    return not answer.claimed


def start_visit(rig: Rig) -> threading.Thread:
    """
    A visit on a thread of its own.
    """
    thread = threading.Thread(target=rig.engine.attend, name="visit", daemon=True)
    thread.start()
    return thread


# The end of a visit


def test_a_visit_that_finds_nothing_ends_at_once(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store(), worker=replace(PATIENT, idle_linger=HOUR))

    rig.visit()

    assert faulty.calls == {"register": 1, "turn": 1, "retire": 1, "rest": 1}


def test_a_visit_that_has_worked_ends_after_it_lingered(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=replace(QUICK_WORKER, idle_linger=150 * MILLISECOND))
    rig.enqueue()
    began_at = time.monotonic()

    rig.visit()

    assert time.monotonic() - began_at >= 0.15
    assert rig.store.counts().archive == 1


def test_a_lingering_visit_takes_what_comes_meanwhile(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=replace(QUICK_WORKER, idle_linger=HOUR))
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
        later = rig.enqueue()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, later)
        rig.engine.stop()


def test_a_lingering_visit_finds_what_another_process_enqueued(
    open_rig: OpenRig, open_file: Callable[[], Store]
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=open_file(), worker=replace(QUICK_WORKER, idle_linger=HOUR))
    elsewhere = open_rig(profile_of(lambda job: None), store=open_file())
    rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
        later = elsewhere.enqueue()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, later)
        rig.engine.stop()


def test_a_delayed_job_is_taken_when_it_is_due_and_not_a_whole_pause_later(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end) if job.text else None), worker=PATIENT)
    rig.enqueue(Note(text="keeps the visit open"))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        delayed = rig.enqueue(delay=100 * MILLISECOND)
        rig.engine.producer.enqueue(Note())
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, delayed)
        may_end.set()


def test_no_store_is_called_between_visits(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store())
    rig.enqueue_many(10)
    rig.visit()
    seen = faulty.total_calls()

    rig.wait_until_at_rest()

    assert faulty.total_calls() == seen


def test_the_workers_row_says_running_during_a_visit_and_stopped_after_it(open_rig: OpenRig) -> None:
    states: list[WorkerState] = []
    rig = open_rig(profile_of(lambda job: states.append(rig.store.workers()[0].state)))

    rig.run()

    rows = rig.store.workers()
    assert states == [WorkerState.RUNNING]
    assert [(row.worker_id, row.state, row.capacity) for row in rows] == [
        (rig.engine.worker_id, WorkerState.STOPPED, 4)
    ]


def test_the_same_worker_comes_back_at_the_next_visit(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    first, second = rig.archived(rig.run()), rig.archived(rig.run())

    assert first.worker_id == second.worker_id
    assert len(rig.store.workers()) == 1
    assert len(rig.events.of(EventName.WORKER_STARTED)) == 1


# Looks


def test_a_full_look_is_followed_by_the_next_one_without_a_pause(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=PATIENT)
    rig.enqueue_many(101)

    rig.visit()

    assert rig.store.counts().archive == 101


def test_a_free_slot_is_filled_without_a_pause(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(
        profile_of(lambda job: wait(may_end) if job.text == "long" else None),
        worker=replace(PATIENT, max_concurrency=2),
    )
    rig.enqueue(Note(text="long"), priority=99)
    rig.enqueue_many(20)

    with rig.visiting():
        wait_until(lambda: rig.store.counts().archive == 20)
        may_end.set()

    assert rig.store.counts().archive == 21


def test_a_job_enqueued_here_while_a_look_is_answered_does_not_wait_for_the_next_pause(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end) if job.text else None), store=faulty.as_store(), worker=PATIENT)
    rig.enqueue(Note(text="keeps the visit open"))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        late = faulty.hold_after("turn", when=finds_nothing)
        rig.engine._ledger.look_now()  # noqa: SLF001 - a look for nothing
        late.wait_until_reached()
        job_id = rig.enqueue()
        late.release()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, job_id)
        may_end.set()


def test_a_visit_that_arrives_while_a_look_is_under_way_looks_for_itself(
    open_rig: OpenRig, faulty: FaultyStore, store: Store
) -> None:
    rig = open_rig(profile_of(lambda job: None), store=faulty.as_store(), worker=PATIENT)
    other = open_rig(profile_of(lambda job: None), store=store)
    late = faulty.hold_after("turn", when=finds_nothing)

    with rig.visiting():
        late.wait_until_reached()
        job_id = other.enqueue()
        second = start_visit(rig)
        wait_until(lambda: _open_visits(rig) == 2)
        late.release()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, job_id)
        join(second)


def test_nothing_of_a_paused_queue_starts_and_all_of_it_runs_after_the_pause(open_rig: OpenRig) -> None:
    runs: list[str] = []
    rig = open_rig(profile_of(lambda job: runs.append(job.text)))
    rig.store.change_queue("sms", QueueChange(is_paused=True))
    sms = rig.enqueue(Note(text="sms"), queue="sms")
    mail = rig.enqueue(Note(text="mail"), queue="mail")

    rig.visit()
    assert runs == ["mail"]
    rig.store.change_queue("sms", QueueChange(is_paused=False))
    rig.visit()

    assert runs == ["mail", "sms"]
    assert [rig.archived(job_id).attempt for job_id in (sms, mail)] == [1, 1]


def test_fetched_jobs_of_a_queue_that_is_paused_go_back_unstarted(open_rig: OpenRig, gates: Gates) -> None:
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    rig = open_rig(profile_of(work), worker=replace(ONE_AT_A_TIME, prefetch=2))
    rig.enqueue(Note(text="first"), priority=20)
    rest = rig.enqueue_many(2)

    with rig.visiting():
        wait_until(lambda: [rig.hot(job_id).status for job_id in rest] == [Status.FETCHED] * 2)
        rig.store.change_queue("default", QueueChange(is_paused=True))
        may_end.set()

    assert runs == ["first"]
    assert [(rig.hot(job_id).status, rig.hot(job_id).attempt) for job_id in rest] == [(Status.PENDING, 0)] * 2


def test_a_queues_limit_holds_across_engines(open_rig: OpenRig, open_file: Callable[[], Store]) -> None:
    """
    Three jobs wait for each other, so that three must run at once; a fourth beside them would show.
    """
    lock, running, most, three = threading.Lock(), [0], [0], threading.Barrier(3)

    def work(job: Note) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        three.wait(WAIT_SECONDS)
        with lock:
            running[0] -= 1

    rigs = [open_rig(profile_of(work, queue="erp"), store=open_file()) for _ in range(2)]
    rigs[0].store.change_queue("erp", QueueChange(max_workers=3))
    rigs[0].enqueue_many(60)

    while rigs[0].store.counts().hot:
        visits = [start_visit(rig) for rig in rigs]
        for visit in visits:
            join(visit)

    assert rigs[0].store.counts().archive == 60
    assert most[0] == 3


# Several visits


def test_overlapping_visits_run_no_more_than_the_capacity_at_once(open_rig: OpenRig) -> None:
    lock, running, most, four = threading.Lock(), set[str](), [0], threading.Barrier(4)

    def work(job: Note, ctx: JobContext) -> None:
        with lock:
            running.add(ctx.job_id)
            most[0] = max(most[0], len(running))
        four.wait(WAIT_SECONDS)
        with lock:
            running.discard(ctx.job_id)

    rig = open_rig(profile_of(work))
    rig.enqueue_many(60)
    visits = [start_visit(rig) for _ in range(5)]

    for visit in visits:
        join(visit)

    assert rig.store.counts().archive == 60
    assert most[0] == 4


def test_the_last_one_out_waits_for_what_runs(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), worker=replace(QUICK_WORKER, drain_budget=200 * MILLISECOND))
    job_id = rig.enqueue()
    visits = [start_visit(rig) for _ in range(3)]

    rig.events.wait_for(EventName.JOB_STARTED)
    wait_until(lambda: sum(visit.is_alive() for visit in visits) == 1)
    (last,) = (visit for visit in visits if visit.is_alive())
    wait_until(lambda: rests(last))
    may_end.set()
    for visit in visits:
        join(visit)

    assert rig.archived(job_id).attempt == 1


def test_visits_that_come_and_go_at_once_lose_nothing(open_rig: OpenRig) -> None:
    runs: list[str] = []
    rig = open_rig(profile_of(lambda job, ctx: runs.append(ctx.job_id)))

    def produce_and_visit() -> None:
        for _ in range(25):
            rig.enqueue()
            rig.visit()

    threads = [threading.Thread(target=produce_and_visit, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    rig.visit()

    assert len(runs) == len(set(runs)) == 150
    assert rig.store.counts().archive == 150
    assert [row.state for row in rig.store.workers()] == [WorkerState.STOPPED]


# The drain budget


def test_a_visit_whose_budget_is_spent_claims_no_more_and_hands_over(open_rig: OpenRig, gates: Gates) -> None:
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    worker = replace(ONE_AT_A_TIME, prefetch=2, drain_budget=300 * MILLISECOND)
    rig = open_rig(profile_of(work), worker=worker)
    ids = rig.enqueue_many(6)
    rig.wakes.delays.clear()

    with rig.visiting():
        rig.events.wait_for(EventName.PREFETCHED_JOB_RELEASED, count=2)
        may_end.set()

    assert len(runs) == 1
    left = [job for job_id in ids if isinstance(job := rig.store.find(job_id), HotJob)]
    assert [(job.status, job.attempt) for job in left] == [(Status.PENDING, 0)] * 5
    assert rig.wakes.delays == [None]


def test_a_long_job_idles_no_visit_whose_budget_is_spent(open_rig: OpenRig, gates: Gates) -> None:
    """
    Jobs that must end before it are run beside it; others are left, and handed over.
    """
    may_end, ran = gates.new(), list[str]()

    def work(job: Note) -> None:
        ran.append(job.text)
        if job.text == "long":
            wait(may_end)

    profile = Profile("budget")
    profile.handler("long.v1", job_type=Long, timeout=10 * MINUTE)(work)
    profile.handler("short.v1", job_type=Note, timeout=MINUTE)(work)
    rig = open_rig(profile, worker=replace(QUICK_WORKER, drain_budget=200 * MILLISECOND))

    rig.enqueue(Long(text="long"))
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        wait_until(lambda: not _wants_claims(rig))
        others = [rig.enqueue(Long(text="other")) for _ in range(3)]
        ids = [rig.enqueue(Note(text="short")) for _ in range(12)]
        for job_id in ids:
            rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, job_id)
        may_end.set()

    assert Counter(ran) == {"long": 1, "short": 12}
    assert [rig.hot(job_id).status for job_id in others] == [Status.PENDING] * 3


def test_a_look_at_short_jobs_alone_keeps_the_hand_over_of_what_it_left(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    profile = Profile("budget")
    profile.handler("long.v1", job_type=Long, timeout=10 * MINUTE)(lambda job: wait(may_end))
    profile.handler("short.v1", job_type=Note, timeout=MINUTE)(lambda job: None)
    rig = open_rig(profile, worker=replace(QUICK_WORKER, max_concurrency=2, drain_budget=200 * MILLISECOND))
    rig.enqueue(Long())
    rig.enqueue(Long())
    rig.enqueue(Long())
    rig.wakes.delays.clear()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=2)
        wait_until(lambda: not _wants_claims(rig))
        rig.engine.set_capacity(3)
        short = rig.enqueue()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, short)
        rig.wakes.delays.clear()
        may_end.set()

    assert rig.wakes.delays == [None]


def test_a_visit_without_more_work_hands_nothing_over(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.enqueue_many(3)
    rig.wakes.delays.clear()

    rig.visit()

    assert rig.wakes.delays == []


def test_a_retry_that_is_due_soon_asks_for_one_delayed_wake(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    def work(job: Note) -> None:
        raise OSError("down")

    rig = open_rig(profile_of(work), store=clocked_store, retry=replace(QUICK_RETRY, base_delay=5 * MINUTE))
    rig.enqueue_many(3)
    rig.wakes.delays.clear()

    rig.visit()

    assert rig.wakes.delays == [5 * MINUTE]


def test_a_retry_that_is_due_after_the_budget_was_spent_asks_for_a_wake_too(
    open_rig: OpenRig, gates: Gates, clocked_store: Store
) -> None:
    may_end = gates.new()

    def work(job: Note) -> None:
        wait(may_end)
        raise OSError("down")

    rig = open_rig(
        profile_of(work),
        store=clocked_store,
        worker=replace(QUICK_WORKER, drain_budget=200 * MILLISECOND),
        retry=replace(QUICK_RETRY, base_delay=5 * MINUTE),
    )
    rig.enqueue()
    rig.wakes.delays.clear()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        wait_until(lambda: not _wants_claims(rig))
        may_end.set()

    assert rig.wakes.delays == [5 * MINUTE]


def test_a_due_time_beyond_a_quarter_of_an_hour_is_left_to_the_poll(open_rig: OpenRig) -> None:
    def work(job: Note) -> None:
        raise OSError("down")

    rig = open_rig(profile_of(work), retry=replace(QUICK_RETRY, base_delay=16 * MINUTE))
    rig.enqueue()
    rig.wakes.delays.clear()

    rig.visit()

    assert rig.wakes.delays == []


def test_a_wake_that_cannot_be_sent_at_the_end_of_a_visit_is_told_and_forgotten(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)), worker=replace(ONE_AT_A_TIME, drain_budget=200 * MILLISECOND))
    rig.enqueue_many(3)
    rig.wakes.error = OSError("queue service away")

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        wait_until(lambda: not _wants_claims(rig))
        may_end.set()

    assert [str(event.error) for event in rig.events.of(EventName.NOTIFICATION_FAILED)] == ["queue service away"]


def test_a_worker_that_stays_full_recruits_another_one_every_two_seconds_at_most(open_rig: OpenRig) -> None:
    """
    Each job brings the next one, so that every look is full, until the worker has asked for help twice.
    """

    def work(job: Note) -> None:
        if len(rig.wakes.delays) < 2:
            producer.enqueue()

    rig, producer = open_rig(profile_of(work), worker=ONE_AT_A_TIME), open_rig(profile_of(work))
    producer.enqueue_many(2)
    began_at = time.monotonic()

    rig.visit()

    assert rig.wakes.delays[0] is None
    assert 2 <= len(rig.wakes.delays) <= 2 + (time.monotonic() - began_at) / 2


def _open_visits(rig: Rig) -> int:
    return len(rig.engine._ledger._visits)  # noqa: SLF001 - nothing else tells that a visit is in


def _wants_claims(rig: Rig) -> bool:
    return rig.engine._ledger._visits.have_budget(time.monotonic())  # noqa: SLF001 - the same for its budget
