"""
Delayed wakes: asked for only when none for an earlier time is under way, and only for what is near.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.domain.circuit import CircuitReport, CircuitSignal, CircuitState
from chokaq_core.domain.job import Lease
from chokaq_core.domain.moves import complete, hand_back, postpone, release, retry
from chokaq_core.ports import EnqueueOutcome, WorkerFacts
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage

MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
BREAK = timedelta(seconds=30)
BROKEN = "broken.v1"


class TestEnqueue:
    @pytest.mark.parametrize(
        "delay,expected",
        [
            (None, None),
            (0 * SECOND, None),
            (MICROSECOND, MICROSECOND),
            (MINUTE, MINUTE),
            (15 * MINUTE, 15 * MINUTE),
            (15 * MINUTE + MICROSECOND, None),
            (timedelta(days=1), None),
        ],
    )
    def test_a_job_that_is_due_soon_wants_a_wake_for_then(
        self, stage: Stage, delay: timedelta | None, expected: timedelta | None
    ) -> None:
        assert _enqueue(stage, delay) == expected

    def test_only_an_earlier_job_wants_another_one(self, stage: Stage) -> None:
        assert _enqueue(stage, 5 * MINUTE) == 5 * MINUTE
        assert _enqueue(stage, 6 * MINUTE) is None
        assert _enqueue(stage, 5 * MINUTE) is None
        assert _enqueue(stage, 4 * MINUTE) == 4 * MINUTE
        assert _enqueue(stage, 5 * MINUTE) is None

    def test_one_whose_time_has_passed_holds_up_no_other(self, stage: Stage) -> None:
        _enqueue(stage, MINUTE)
        stage.clock.advance(MINUTE)

        assert _enqueue(stage, 10 * MINUTE) == 10 * MINUTE

    def test_the_earliest_of_a_batch_counts(self, stage: Stage) -> None:
        delays = (3 * MINUTE, 2 * MINUTE, timedelta(days=1))

        assert stage.store.enqueue([stage.new_job(delay=delay) for delay in delays]).wake_in == 2 * MINUTE

    def test_a_job_that_was_not_stored_wants_none(self, stage: Stage) -> None:
        stage.add(idempotency_key="order-7")
        job = stage.new_job(idempotency_key="order-7", delay=MINUTE)

        answer = stage.store.enqueue([job])

        assert answer.items[0].outcome is EnqueueOutcome.DUPLICATE
        assert answer.wake_in is None


def _enqueue(stage: Stage, delay: timedelta | None, **values: Any) -> timedelta | None:  # noqa: ANN401 - NewJob's fields
    return stage.store.enqueue([stage.new_job(delay=delay, **values)]).wake_in


class TestTurn:
    def test_the_earliest_retry_or_postponement_wants_one(self, stage: Stage) -> None:
        first, second, third = (stage.running().lease for _ in range(3))

        answer = stage.settle(
            retry(first, 9 * SECOND, BOOM), postpone(second, 5 * SECOND), retry(third, timedelta(hours=1), BOOM)
        )

        assert answer.wake_in == 5 * SECOND

    def test_what_is_due_at_once_or_ended_wants_none(self, stage: Stage) -> None:
        done, failed, handed_back = (stage.running().lease for _ in range(3))
        ahead = stage.fetched().lease

        answer = stage.settle(
            complete(done, 1.0), retry(failed, 0 * SECOND, BOOM), hand_back(handed_back), release(ahead)
        )

        assert answer.wake_in is None

    def test_a_settlement_that_was_not_applied_or_became_cancelled_wants_none(self, stage: Stage) -> None:
        lost, marked = (stage.running().lease for _ in range(2))
        stage.bury(lost.job_id)
        stage.store.cancel([marked.job_id], "ann")

        answer = stage.turn(settlements=(retry(lost, SECOND, BOOM), retry(marked, SECOND, BOOM)))

        assert answer.wake_in is None

    def test_one_under_way_for_an_earlier_job_is_enough(self, stage: Stage) -> None:
        lease = stage.running().lease
        _enqueue(stage, 3 * SECOND)

        assert stage.settle(retry(lease, 6 * SECOND, BOOM)).wake_in is None

    def test_a_repeat_wants_the_same_again(self, stage: Stage) -> None:
        lease = stage.running().lease
        turn = stage.next_turn(settlements=(retry(lease, 6 * SECOND, BOOM),))

        assert [stage.store.turn(turn).wake_in for _ in range(2)] == [6 * SECOND, 6 * SECOND]


class TestRetire:
    def test_a_worker_that_leaves_asks_for_the_next_due_time(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.settle(retry(lease, 6 * SECOND, BOOM))
        stage.add(delay=timedelta(hours=2))
        stage.clock.advance(SECOND)
        assert stage.store.retire(WORKER) is None

        stage.clock.advance(timedelta(hours=1, minutes=50))
        stage.claim()
        assert stage.store.retire(WORKER) == 9 * MINUTE + 59 * SECOND

    def test_only_the_last_of_several_workers_asks(self, stage: Stage) -> None:
        for worker in (WORKER, OTHER_WORKER):
            stage.store.register(WorkerFacts(worker, "host", 4))
        stage.add(delay=timedelta(hours=1))
        stage.clock.advance(timedelta(minutes=50))
        stage.turn(want=1, looks_again_within=SECOND, worker=OTHER_WORKER)

        assert stage.store.retire(WORKER) is None
        assert stage.store.retire(OTHER_WORKER) == 10 * MINUTE

    def test_a_job_that_came_due_since_the_last_look_is_worth_a_wake_at_once(self, stage: Stage) -> None:
        stage.add(delay=SECOND)
        stage.claim()
        stage.clock.advance(2 * SECOND)

        assert stage.store.retire(WORKER) == timedelta(0)

    def test_without_delayed_jobs_it_asks_for_none(self, stage: Stage) -> None:
        stage.add()

        assert stage.store.retire(WORKER) is None


def test_what_is_remembered_of_wakes_is_no_timer(stage: Stage) -> None:
    _enqueue(stage, MINUTE)

    assert stage.store.timers() == {}


CLOSINGS: list[dict[str, Any]] = [{"is_paused": True}, {"is_active": False}, {"max_workers": 1}]
OPENINGS: list[dict[str, Any]] = [{"is_paused": False}, {"is_active": True}, {"clear": frozenset({"max_workers"})}]


@pytest.fixture(params=CLOSINGS, ids=lambda closing: next(iter(closing)))
def shut(stage: Stage, request: pytest.FixtureRequest) -> str:
    """
    A queue from which nothing is claimed: paused, inactive, or at its limit of one job.
    """
    stage.running(queue="shut")
    stage.set_queue("shut", **request.param)
    return "shut"


class TestClosedQueues:
    """
    Nobody comes for a job that nobody may claim, and somebody must come when it may be claimed.
    """

    def test_a_due_job_is_no_reason_to_come(self, stage: Stage, shut: str) -> None:
        assert not _is_claimable(stage, queue=shut)
        assert _is_claimable(stage, queue="mail")
        assert stage.store.enqueue([stage.new_job(queue=shut), stage.new_job(queue="mail")]).is_claimable

    def test_a_job_that_is_due_later_wants_no_wake(self, stage: Stage, shut: str) -> None:
        assert _enqueue(stage, MINUTE, queue=shut) is None
        assert _enqueue(stage, 2 * MINUTE, queue="mail") == 2 * MINUTE

    def test_one_of_a_batch_leaves_the_others_their_wake(self, stage: Stage, shut: str) -> None:
        jobs = [stage.new_job(queue=shut, delay=MINUTE), stage.new_job(queue="mail", delay=2 * MINUTE)]

        assert stage.store.enqueue(jobs).wake_in == 2 * MINUTE

    def test_no_look_and_no_leaving_worker_waits_for_its_jobs(self, stage: Stage, shut: str) -> None:
        stage.add(queue=shut, delay=MINUTE)
        assert stage.turn(OTHER_WORKER, want=1).next_due_at is None
        assert stage.store.retire(OTHER_WORKER) is None

        stage.add(queue="mail", delay=2 * MINUTE)
        assert stage.turn(OTHER_WORKER, want=1).next_due_at == stage.clock.now() + 2 * MINUTE

    def test_a_backlog_in_front_does_not_hide_what_is_open(self, stage: Stage, shut: str) -> None:
        stage.add_many(999, queue=shut, delay=MINUTE)
        stage.add(queue="mail", delay=5 * MINUTE)

        assert stage.turn(OTHER_WORKER, want=1).next_due_at == stage.clock.now() + 5 * MINUTE

    @pytest.mark.parametrize("number", range(len(CLOSINGS)), ids=lambda number: next(iter(CLOSINGS[number])))
    def test_once_it_is_open_the_next_worker_to_leave_asks(self, stage: Stage, number: int) -> None:
        stage.running(queue="shut")
        stage.set_queue("shut", **CLOSINGS[number])
        stage.add(queue="shut", delay=MINUTE)
        assert stage.store.retire(OTHER_WORKER) is None

        stage.set_queue("shut", **OPENINGS[number])

        assert stage.store.retire(OTHER_WORKER) == MINUTE

    def test_a_queue_below_its_limit_is_open(self, stage: Stage) -> None:
        stage.running(queue="mail")
        stage.set_queue("mail", max_workers=2)

        assert _is_claimable(stage, queue="mail")
        assert _enqueue(stage, MINUTE, queue="mail") == MINUTE

    def test_what_was_put_off_into_a_closed_queue_wants_no_wake(self, stage: Stage) -> None:
        shut, mail = stage.running(queue="shut").lease, stage.running(queue="mail").lease
        stage.set_queue("shut", is_paused=True)

        assert stage.settle(retry(shut, 5 * SECOND, BOOM)).wake_in is None
        assert stage.settle(postpone(mail, 9 * SECOND)).wake_in == 9 * SECOND

    def test_a_job_that_ends_makes_room_for_the_one_that_is_due_next(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        lease = stage.running(queue="mail").lease
        stage.add(queue="mail", delay=MINUTE)
        assert stage.store.retire(OTHER_WORKER) is None

        answer = stage.settle(complete(lease, 1.0))

        assert answer.next_due_at == stage.clock.now() + MINUTE
        assert stage.store.retire(WORKER) == MINUTE


class TestOpenCircuits:
    """
    A type that is held back is come for when its break is over.
    """

    @pytest.mark.parametrize(
        "delay,expected",
        [(None, BREAK), (SECOND, BREAK), (BREAK, BREAK), (BREAK + SECOND, BREAK + SECOND), (HOUR, None)],
    )
    def test_a_new_job_waits_for_the_later_of_its_due_time_and_the_end_of_the_break(
        self, stage: Stage, delay: timedelta | None, expected: timedelta | None
    ) -> None:
        _open_circuit(stage)

        answer = stage.store.enqueue([stage.new_job(type_key=BROKEN, delay=delay)])

        assert not answer.is_claimable
        assert answer.wake_in == expected

    def test_jobs_of_other_types_are_not_affected(self, stage: Stage) -> None:
        _open_circuit(stage)

        assert _is_claimable(stage)
        assert _enqueue(stage, SECOND) == SECOND

    def test_a_look_and_a_leaving_worker_wait_for_the_end_of_the_break(self, stage: Stage) -> None:
        _open_circuit(stage)
        stage.add(type_key=BROKEN, delay=SECOND)
        stage.clock.advance(10 * SECOND)

        answer = stage.turn(want=1)

        assert answer.claimed == ()
        assert answer.next_due_at == stage.clock.now() + BREAK - 10 * SECOND
        stage.clock.advance(2 * SECOND)
        stage.add(delay=MINUTE)
        assert stage.turn(want=1).next_due_at == stage.clock.now() + BREAK - 12 * SECOND

    def test_one_that_is_due_is_worth_a_wake_for_the_end_of_the_break(self, stage: Stage) -> None:
        stage.add(type_key=BROKEN)
        _open_circuit(stage)

        assert stage.turn(want=1).next_due_at == stage.clock.now() + BREAK
        assert stage.store.retire(WORKER) == BREAK

    def test_in_a_closed_queue_it_is_worth_none(self, stage: Stage) -> None:
        stage.add(type_key=BROKEN, queue="shut")
        stage.add(type_key=BROKEN, queue="shut", delay=SECOND)
        _open_circuit(stage)
        stage.set_queue("shut", is_paused=True)

        assert stage.turn(want=1).next_due_at is None
        assert stage.store.retire(WORKER) is None

    def test_the_retry_of_the_failure_that_opens_it_waits_for_the_end_of_the_break(self, stage: Stage) -> None:
        leases = [stage.running(type_key=BROKEN).lease for _ in range(5)]

        answer = stage.turn(settlements=[retry(lease, SECOND, BOOM) for lease in leases], reports=_failures(leases))

        assert answer.wake_in == BREAK

    def test_after_the_break_a_job_may_be_claimed_at_once(self, stage: Stage) -> None:
        _open_circuit(stage)
        stage.clock.advance(BREAK)

        assert _is_claimable(stage, type_key=BROKEN)
        assert _enqueue(stage, SECOND, type_key=BROKEN) == SECOND

    def test_while_its_probe_runs_the_others_wait_for_the_end_of_the_probes_time(self, stage: Stage) -> None:
        _open_circuit(stage)
        stage.clock.advance(BREAK)
        stage.running(type_key=BROKEN)

        answer = stage.store.enqueue([stage.new_job(type_key=BROKEN)])

        assert not answer.is_claimable
        assert answer.wake_in == 30 * SECOND


def _open_circuit(stage: Stage) -> None:
    leases = [stage.running(type_key=BROKEN, queue="broken").lease for _ in range(5)]
    answer = stage.turn(settlements=[complete(lease, 1.0) for lease in leases], reports=_failures(leases))
    assert [(event.type_key, event.state) for event in answer.circuit_events] == [(BROKEN, CircuitState.OPEN)]


def _failures(leases: Iterable[Lease]) -> tuple[CircuitReport, ...]:
    return tuple(CircuitReport(BROKEN, lease.job_id, 0, CircuitSignal.FAILURE) for lease in leases)


def _is_claimable(stage: Stage, **values: Any) -> bool:  # noqa: ANN401 - the fields of NewJob
    return stage.store.enqueue([stage.new_job(**values)]).is_claimable


class TestClaimable:
    """
    Whether an enqueue is a reason to come at once.
    """

    def test_a_due_job_is(self, stage: Stage) -> None:
        assert _is_claimable(stage)
        assert _is_claimable(stage, delay=timedelta(0))
        assert _is_claimable(stage, due_at=stage.clock.now() - HOUR)

    def test_a_delayed_one_is_not(self, stage: Stage) -> None:
        assert not _is_claimable(stage, delay=MICROSECOND)
        assert not _is_claimable(stage, due_at=stage.clock.now() + MINUTE)

    def test_the_repeat_of_a_lost_call_is_one_still(self, stage: Stage) -> None:
        job = stage.new_job()

        assert [stage.store.enqueue([job]).is_claimable for _ in range(2)] == [True, True]

    def test_a_duplicate_and_a_refused_job_are_not(self, stage: Stage) -> None:
        first = stage.add(idempotency_key="order-7")

        assert not _is_claimable(stage, idempotency_key="order-7")
        assert not _is_claimable(stage, id=first.id, payload="2")
