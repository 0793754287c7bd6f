"""
Delayed wakes: asked for only when none for an earlier time is under way, and only for what is near.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.moves import complete, hand_back, postpone, release, retry
from chokaq_core.ports import EnqueueOutcome, WorkerFacts
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage

MICROSECOND = timedelta(microseconds=1)


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


def _enqueue(stage: Stage, delay: timedelta | None) -> timedelta | None:
    return stage.store.enqueue([stage.new_job(delay=delay)]).wake_in


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
