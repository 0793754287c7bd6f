from __future__ import annotations

import itertools
import threading
from collections import Counter

import pytest

from chokaq_core.contracts import FatalJobError, JobContext, ThrottledError
from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import HotJob, Status
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules, Suspect, loss_error
from chokaq_core.ports import Burial, PillarCounts, Store, Totals, TurnAnswer
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MINUTE,
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

METHODS = ("enqueue", "register", "turn", "beat", "retire", "rest")
MANY = 10_000


class Mixed:
    """
    A handler whose jobs end in every way, and which counts its runs.
    """

    def __init__(self) -> None:
        self.runs: Counter[tuple[str, int]] = Counter()

    def __call__(self, job: Note, ctx: JobContext) -> str:
        self.runs[ctx.job_id, ctx.attempt] += 1
        match job.text:
            case "flaky" if ctx.attempt < 3:
                raise OSError("flaky")
            case "throttled" if ctx.attempt < 2:
                raise ThrottledError("slow down", 0 * SECOND)
            case "fatal":
                raise FatalJobError("never")
        return "done"


def is_first(answer: object) -> bool:
    """
    Whether an answer is not the repeat of an earlier one.
    """
    return not (isinstance(answer, TurnAnswer) and answer.is_repeat)


def visit_until_empty(rig: Rig) -> None:
    """
    Visits as wakes and the poll would, until nothing is active.
    """
    for _ in range(500):
        if rig.store.counts().hot == 0:
            return
        rig.visit()
    raise AssertionError(f"still active: {rig.store.counts()}")


def enqueue_surely(rig: Rig, job_id: str, text: str) -> None:
    """
    Enqueues as a careful caller does: with an id of its own, again and again until there is an answer.
    """
    while True:
        try:
            rig.enqueue(Note(text=text), job_id=job_id)
        except StoreUnavailableError:
            continue
        return


@pytest.mark.parametrize("way", ["lost-answer", "lost-request"])
@pytest.mark.parametrize("method", METHODS)
def test_whatever_call_gets_no_answer_each_attempt_runs_once_and_is_counted_once(
    open_rig: OpenRig, faulty: FaultyStore, method: str, way: str
) -> None:
    handler = Mixed()
    rig = open_rig(profile_of(handler), store=faulty.as_store())
    if way == "lost-answer":
        faulty.lose_answer(method, MANY, when=is_first) if method == "turn" else faulty.lose_answer(method, 6)
    else:
        faulty.refuse(method, 6)

    for number, text in enumerate(["flaky", "throttled", "fatal", "good"] * 5):
        enqueue_surely(rig, f"job-{number}", text)
    visit_until_empty(rig)

    assert rig.store.counts() == PillarCounts(hot=0, archive=15, dlq=5)
    assert rig.store.totals()["default"] == Totals(succeeded=15, failed=5, retried=15)
    assert set(handler.runs.values()) == {1}
    assert len(handler.runs) == 5 * (3 + 2 + 1 + 1)
    assert rig.events.of(EventName.STATE_TRANSITION_NOT_APPLIED) == []
    assert len(rig.events.of(EventName.JOB_SUCCEEDED_ARCHIVED)) == 15


@pytest.mark.parametrize("prefetch", [0, 3])
def test_fetched_jobs_too_run_once_when_every_answer_of_a_turn_is_lost_once(
    open_rig: OpenRig, faulty: FaultyStore, prefetch: int
) -> None:
    handler = Mixed()
    worker = replace(ONE_AT_A_TIME, prefetch=prefetch)
    rig = open_rig(profile_of(handler), store=faulty.as_store(), worker=worker)
    faulty.lose_answer("turn", MANY, when=is_first)
    rig.enqueue_many(20)

    visit_until_empty(rig)

    assert set(handler.runs.values()) == {1}
    assert rig.store.totals()["default"] == Totals(succeeded=20, failed=0, retried=0)


def test_a_claim_whose_answer_was_lost_at_the_end_of_a_visit_runs_at_the_next_one(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    handler = Mixed()
    rig = open_rig(profile_of(handler), store=faulty.as_store())
    faulty.lose_answer("turn")
    job_id = rig.run()
    assert rig.hot(job_id).status is Status.PROCESSING

    rig.visit()

    assert rig.archived(job_id).attempt == 1
    assert handler.runs == {(job_id, 1): 1}


# The store away for long


@pytest.mark.case("C-057")
def test_an_outage_is_told_once_and_so_is_its_end(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(Mixed()), store=faulty.as_store())
    rig.visit()
    job_id = rig.enqueue()
    faulty.go_away("turn", "beat", "register", "retire", "rest", "enqueue")

    for _ in range(5):
        rig.visit()
    with pytest.raises(StoreUnavailableError):
        rig.enqueue()
    faulty.come_back()
    visit_until_empty(rig)

    assert len(rig.events.of(EventName.WORKER_LOOP_CRASHED)) == 1
    assert len(rig.events.of(EventName.WORKER_LOOP_RECOVERED)) == 1
    assert rig.archived(job_id).attempt == 1


@pytest.mark.case("C-057")
def test_jobs_that_run_through_an_outage_end_once_and_are_charged_nothing(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore
) -> None:
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> None:
        runs.append(job.text)
        if job.text == "long":
            wait(may_end)

    rig = open_rig(profile_of(work), store=faulty.as_store())
    long = rig.enqueue(Note(text="long"))

    with rig.visiting() as visit:
        rig.events.wait_for(EventName.JOB_STARTED)
        others = rig.enqueue_many(20)
        wait_until(lambda: rig.store.counts().archive == 20)
        faulty.go_away("turn", "beat", "retire", "register", "enqueue")
        may_end.set()
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        tries = faulty.calls["turn"]
        wait_until(lambda: faulty.calls["turn"] >= tries + 3)
        assert visit.is_alive()
        faulty.come_back()

    assert rig.archived(long).attempt == 1
    assert {rig.archived(job_id).attempt for job_id in others} == {1}
    assert Counter(runs)["long"] == 1
    assert len(rig.events.of(EventName.WORKER_LOOP_CRASHED)) == 1
    assert len(rig.events.of(EventName.WORKER_LOOP_RECOVERED)) == 1
    assert rig.store.totals()["default"] == Totals(succeeded=21, failed=0, retried=0)


def test_a_visit_to_a_store_that_is_away_ends_without_an_error(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(Mixed()), store=faulty.as_store())
    job_id = rig.enqueue()
    faulty.go_away(*METHODS)

    rig.visit()

    assert faulty.calls["turn"] == 0
    assert len(rig.events.of(EventName.WORKER_LOOP_CRASHED)) == 1
    assert rig.hot(job_id).attempt == 0


def test_somebody_comes_back_for_a_claim_whose_answer_was_lost_at_the_end_of_a_visit(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    """
    The jobs of such a claim have no heart: without another visit they would be taken for the jobs of a dead worker.
    """
    rig = open_rig(profile_of(Mixed()), store=faulty.as_store(), worker=replace(QUICK_WORKER, retry_base_delay=MINUTE))
    job_id = rig.enqueue()
    faulty.lose_answer("turn")

    rig.visit()
    assert rig.wakes.delays[-1] == MINUTE

    rig.visit()
    assert rig.archived(job_id).attempt == 1


def test_nobody_asks_a_store_that_is_away_while_nobody_visits(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(profile_of(Mixed()), store=faulty.as_store())
    rig.visit()
    faulty.go_away("turn")
    rig.visit()
    seen = faulty.total_calls()

    rig.wait_until_at_rest()

    assert faulty.total_calls() == seen


def test_pauses_between_tries_grow_and_end_early_when_a_visit_arrives(open_rig: OpenRig, faulty: FaultyStore) -> None:
    rig = open_rig(
        profile_of(lambda job: faulty.go_away("turn")),
        store=faulty.as_store(),
        worker=replace(QUICK_WORKER, retry_base_delay=60 * SECOND),
    )
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        faulty.come_back()
        rig.visit()

    assert rig.archived(job_id).attempt == 1


@pytest.mark.case("C-057")
def test_an_outcome_whose_lease_was_lost_while_the_store_was_away_is_stale(
    open_rig: OpenRig, gates: Gates, clocked_store: Store, clock: SteppedClock
) -> None:
    faulty = FaultyStore(clocked_store)
    rig = open_rig(profile_of(lambda job: faulty.go_away("turn", "beat")), store=faulty.as_store())
    job_id = rig.enqueue()
    rules = RescueRules(processing_zombie_timeout=MINUTE, scan_interval=60 * MINUTE)
    rescue = Rescue(clocked_store, rig.catalog, rules, RetryRules(), rig.events)

    with rig.visiting():
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        rescue.scan()
        clock.advance(2 * MINUTE)
        assert rescue.scan().buried == 1
        faulty.come_back()

    stale = rig.events.of(EventName.STATE_TRANSITION_NOT_APPLIED, job_id)
    assert [event.facts["transition"] for event in stale] == ["complete"]
    assert rig.dead(job_id).reason is FailureReason.ZOMBIE
    assert rig.events.of(EventName.JOB_SUCCEEDED_ARCHIVED) == []
    assert clocked_store.totals()["default"] == Totals(succeeded=0, failed=1, retried=0)


@pytest.mark.case("C-057")
def test_nothing_alive_is_buried_when_the_store_returns_after_longer_than_the_zombie_timeout(
    open_rig: OpenRig, gates: Gates, clocked_store: Store, clock: SteppedClock
) -> None:
    may_end = gates.new()
    faulty = FaultyStore(clocked_store)
    rig = open_rig(profile_of(lambda job: wait(may_end)), store=faulty.as_store())
    rules = RescueRules(processing_zombie_timeout=10 * MINUTE, scan_interval=MINUTE)
    rescue = Rescue(faulty.as_store(), rig.catalog, rules, RetryRules(), rig.events)
    rescue.scan()
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        faulty.go_away("turn", "beat", "timer_started")
        for _ in range(15):
            clock.advance(MINUTE)
            with pytest.raises(StoreUnavailableError):
                rescue.scan()
        faulty.come_back()
        assert rescue.scan().is_armed
        wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
        clock.advance(MINUTE)
        assert rescue.scan().buried == 0
        may_end.set()

    assert rig.archived(job_id).attempt == 1


def test_a_fault_of_ours_in_the_store_thread_is_told_and_the_turn_is_repeated(
    open_rig: OpenRig, faulty: FaultyStore
) -> None:
    handler = Mixed()
    rig = open_rig(profile_of(handler), store=faulty.as_store())
    job_id = rig.enqueue()
    faulty.alter("turn", lambda answer: 1 / 0, when=lambda answer: bool(answer.claimed))

    rig.visit()
    rig.visit()

    told = rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY)
    assert [event.facts["thread"] for event in told] == ["chokaq-store"]
    assert rig.archived(job_id).attempt == 1
    assert handler.runs == {(job_id, 1): 1}


@pytest.mark.parametrize("refused", ["chokaq-handler", "chokaq-loop"])
def test_a_job_that_cannot_be_given_a_thread_is_put_off_and_harms_no_other_job(
    open_rig: OpenRig, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    async def on_loop(job: Note) -> str:
        return "fine"

    rig = open_rig(profile_of(on_loop, "loop.v1"), profile_of(lambda job: None, "thread.v1", job_type=OnThread))
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith(refused):
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    ids = {"chokaq-handler": rig.enqueue(OnThread()), "chokaq-loop": rig.enqueue()}
    blocked = ids.pop(refused)
    (free,) = ids.values()
    rig.visit()

    assert rig.archived(free).attempt == 1
    job = rig.hot(blocked)
    assert (job.status, job.attempt) == (Status.PENDING, 0)
    assert job.due_at > job.created_at
    assert len(rig.events.of(EventName.PROCESSING_TASK_WRAPPER_FAILED, blocked)) == 1


class OnThread(Note):
    """
    A second model.
    """


@pytest.mark.parametrize("prefetch", [0, 1], ids=["runs-at-once", "is-fetched-first"])
def test_a_late_result_is_not_taken_for_that_of_another_job_under_the_same_id(
    open_rig: OpenRig, gates: Gates, faulty: FaultyStore, prefetch: int
) -> None:
    """
    A job that was purged leaves nothing that counts its leases on: the next one under its id has the same lease.
    """
    may_end, runs = gates.new(), list[str]()

    def work(job: Note) -> str:
        runs.append(job.text)
        if job.text == "old":
            wait(may_end)
        return job.text

    capacity = 1 if prefetch else 2
    rules = replace(QUICK_WORKER, max_concurrency=capacity, prefetch=prefetch)
    rig = open_rig(profile_of(work), store=faulty.as_store(), worker=rules)
    rig.enqueue(Note(text="old"), job_id="order-1")

    with rig.visiting():
        wait_until(lambda: runs == ["old"])
        faulty.go_away("beat")
        old = rig.hot("order-1")
        _lose(rig, old)
        assert rig.store.purge(["order-1"]) == [True]
        claim = faulty.hold_after("turn", when=lambda answer: answer.claimed)
        rig.enqueue(Note(text="new"), job_id="order-1")
        claim.wait_until_reached()
        assert (rig.hot("order-1").worker_id, rig.hot("order-1").lease_number) == (old.worker_id, old.lease_number)
        may_end.set()
        wait_until(lambda: not rig.engine._ledger.live())  # noqa: SLF001 - the old handler has ended
        claim.release()
        rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, "order-1")

    assert runs == ["old", "new"]
    assert rig.archived("order-1").result == '"new"'
    assert len(rig.events.of(EventName.STATE_TRANSITION_NOT_APPLIED, "order-1")) == 1


def _lose(rig: Rig, job: HotJob) -> None:
    """
    Takes a job from its worker as a rescue does.
    """
    assert job.heartbeat_at is not None
    assert job.worker_id is not None
    suspect = Suspect(
        job.id, job.lease_number, job.worker_id, job.heartbeat_at, job.queue, job.type_key, job.attempt, job.created_at
    )
    zombie = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
    assert rig.store.bury([Burial(suspect, zombie, loss_error(suspect))]) == [True]


# One turn, one round trip


def test_a_lone_job_costs_one_turn_to_claim_and_one_to_settle(open_rig: OpenRig, faulty: FaultyStore) -> None:
    # It does not look again while the job runs, however long that takes here.
    worker = replace(QUICK_WORKER, polling_interval=MINUTE)
    rig = open_rig(profile_of(Mixed()), store=faulty.as_store(), worker=worker)

    rig.run()

    assert (faulty.calls["enqueue"], faulty.calls["turn"]) == (1, 2)


def test_jobs_that_end_together_are_settled_together(open_rig: OpenRig, faulty: FaultyStore) -> None:
    barrier = threading.Barrier(16)
    worker = replace(QUICK_WORKER, max_concurrency=16)
    rig = open_rig(profile_of(lambda job: barrier.wait(30)), store=faulty.as_store(), worker=worker)
    rig.enqueue_many(16)

    rig.visit()

    assert faulty.calls["turn"] <= 8
    assert rig.store.counts().archive == 16


def test_overlapping_visits_share_one_store_thread(open_rig: OpenRig, gates: Gates) -> None:
    names = itertools.count()
    rig = open_rig(profile_of(lambda job: next(names)))
    rig.enqueue_many(30)
    threads = [threading.Thread(target=rig.engine.attend) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)

    assert rig.store.counts().archive == 30
    assert next(names) == 30
    assert len(rig.events.of(EventName.WORKER_STARTED)) == 1
