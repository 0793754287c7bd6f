"""
What each settling move does to every column of its job.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import AttemptError, Lease, Place, Status
from chokaq_core.domain.moves import complete, dead_letter, hand_back, postpone, release, retry
from chokaq_core.ports import Beat, PillarCounts, Progress, Totals
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Ending, Stage, changed, place_of
from tests.support.clock import NOON

FIRST_ERROR = AttemptError(attempt=1, at=NOON, type="OSError", message="once")
SECOND_ERROR = AttemptError(attempt=2, at=NOON + MINUTE, type="ValueError", message="boom")
CLEARED = {"worker_id": None, "heartbeat_at": None, "started_at": None, "progress": None, "progress_note": None}


def _running_with_history(stage: Stage) -> Lease:
    """
    A job in its second attempt that has reported progress.
    """
    first = stage.running(queue="mail", tags="news", idempotency_key="order-7", created_by="billing").lease
    stage.settle(retry(first, timedelta(0), ErrorFacts("OSError", "once", "…")))
    (again,) = stage.turn(want=1).claimed
    stage.store.beat(Beat(WORKER, progress=(Progress(again.lease, 40, "almost half"),)))
    stage.clock.advance(MINUTE)
    return again.lease


class TestComplete:
    def test_it_keeps_what_the_job_was_and_adds_how_it_ended(self, stage: Stage) -> None:
        lease = _running_with_history(stage)
        before = stage.hot(lease.job_id)

        stage.settle(complete(lease, 1234.5, result='{"sent": true}'))

        after = stage.archived_row(lease.job_id)
        assert changed(before, after) == {"last_updated_at": NOON + MINUTE}
        assert (after.finished_at, after.duration_ms) == (NOON + MINUTE, 1234.5)
        assert (after.result, after.result_note) == ('{"sent": true}', None)
        assert (after.attempt, after.attempt_errors, after.worker_id) == (2, (FIRST_ERROR,), WORKER)
        assert stage.store.counts() == PillarCounts(hot=0, archive=1, dlq=0)

    def test_a_result_that_could_not_be_kept_leaves_a_note(self, stage: Stage) -> None:
        lease = stage.running().lease

        stage.settle(complete(lease, 0.0, result=None, note="the result is not JSON: set"))

        after = stage.archived_row(lease.job_id)
        assert (after.result, after.result_note) == (None, "the result is not JSON: set")

    def test_a_job_of_no_measurable_duration_lasted_zero(self, stage: Stage) -> None:
        lease = stage.running().lease

        stage.settle(complete(lease, 0.0))

        assert stage.archived_row(lease.job_id).duration_ms == 0.0


class TestDeadLetter:
    def test_it_keeps_what_the_job_was_and_adds_why_it_ended(self, stage: Stage) -> None:
        lease = _running_with_history(stage)
        before = stage.hot(lease.job_id)

        stage.settle(dead_letter(lease, FailureReason.MAX_RETRIES_EXCEEDED, BOOM, 99.0))

        after = stage.dead_row(lease.job_id)
        assert changed(before, after) == {
            "last_updated_at": NOON + MINUTE,
            "attempt_errors": (FIRST_ERROR, SECOND_ERROR),
        }
        assert (after.reason, after.failed_at) == (FailureReason.MAX_RETRIES_EXCEEDED, NOON + MINUTE)
        assert after.error_type == "ValueError"
        assert after.error_details == "Traceback (most recent call last):\nValueError: boom"
        assert (after.idempotency_key, after.lease_number, after.worker_id) == ("order-7", 2, WORKER)
        assert stage.store.counts() == PillarCounts(hot=0, archive=0, dlq=1)

    @pytest.mark.parametrize("reason", FailureReason)
    def test_every_reason_is_kept(self, stage: Stage, reason: FailureReason) -> None:
        lease = stage.running().lease

        stage.settle(dead_letter(lease, reason, BOOM))

        assert stage.dead_row(lease.job_id).reason is reason

    @pytest.mark.parametrize(
        "reason,status",
        [
            (FailureReason.CANCELLED, Status.CANCELLED),
            (FailureReason.ZOMBIE, Status.ZOMBIE),
            (FailureReason.TIMEOUT, Status.FAILED),
        ],
    )
    def test_a_dead_job_reports_as_what_its_reason_says(
        self, stage: Stage, reason: FailureReason, status: Status
    ) -> None:
        lease = stage.running().lease

        stage.settle(dead_letter(lease, reason, BOOM))

        assert stage.dead_row(lease.job_id).status is status


class TestRetry:
    def test_it_clears_the_worker_sets_the_due_time_and_keeps_the_error(self, stage: Stage) -> None:
        lease = _running_with_history(stage)
        before = stage.hot(lease.job_id)

        stage.settle(retry(lease, 6 * SECOND, BOOM))

        assert changed(before, stage.hot(lease.job_id)) == CLEARED | {
            "status": Status.PENDING,
            "due_at": NOON + MINUTE + 6 * SECOND,
            "last_updated_at": NOON + MINUTE,
            "attempt_errors": (FIRST_ERROR, SECOND_ERROR),
        }

    def test_it_is_claimable_from_its_due_time_on(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.settle(retry(lease, 6 * SECOND, BOOM))
        stage.clock.advance(6 * SECOND - timedelta(microseconds=1))
        assert stage.claim() == []

        stage.clock.advance(timedelta(microseconds=1))
        (again,) = stage.turn(want=1).claimed
        assert (again.lease.number, again.attempt) == (2, 2)

    def test_one_without_delay_is_ready_at_once(self, stage: Stage) -> None:
        lease = stage.running().lease

        stage.settle(retry(lease, timedelta(0), BOOM))

        assert stage.hot(lease.job_id).is_ready

    def test_the_last_ten_errors_are_remembered(self, stage: Stage) -> None:
        job = stage.add()
        for number in range(1, 13):
            (claimed,) = stage.turn(want=1).claimed
            stage.clock.advance(SECOND)
            stage.settle(retry(claimed.lease, timedelta(0), ErrorFacts(f"E{number}", f"error {number}", "…")))

        errors = stage.hot(job.id).attempt_errors

        assert [error.attempt for error in errors] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        assert errors[0] == AttemptError(attempt=3, at=NOON + 3 * SECOND, type="E3", message="error 3")
        assert errors[9] == AttemptError(attempt=12, at=NOON + 12 * SECOND, type="E12", message="error 12")

    def test_the_error_of_a_dead_letter_is_one_of_the_ten(self, stage: Stage) -> None:
        job = stage.add()
        for number in range(1, 11):
            (claimed,) = stage.turn(want=1).claimed
            stage.settle(retry(claimed.lease, timedelta(0), ErrorFacts("E", f"error {number}", "…")))
        (last,) = stage.turn(want=1).claimed
        stage.settle(dead_letter(last.lease, FailureReason.MAX_RETRIES_EXCEEDED, ErrorFacts("E", "error 11", "…")))

        assert [error.message for error in stage.dead_row(job.id).attempt_errors] == [
            f"error {number}" for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
        ]

    def test_the_lifetime_goes_on(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.clock.advance(MINUTE)

        stage.settle(retry(lease, MINUTE, BOOM))

        assert stage.hot(lease.job_id).lifetime_start_at == NOON


class TestPostpone:
    def test_a_running_job_gets_its_attempt_back(self, stage: Stage) -> None:
        lease = _running_with_history(stage)
        before = stage.hot(lease.job_id)

        stage.settle(postpone(lease, 6 * SECOND))

        assert changed(before, stage.hot(lease.job_id)) == CLEARED | {
            "status": Status.PENDING,
            "attempt": 1,
            "due_at": NOON + MINUTE + 6 * SECOND,
            "last_updated_at": NOON + MINUTE,
        }

    def test_a_fetched_job_had_no_attempt_to_give_back(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(MINUTE)

        stage.settle(postpone(lease, 6 * SECOND))

        after = changed(before, stage.hot(lease.job_id))
        assert after.pop("heartbeat_at", None) is None
        assert after == {
            "status": Status.PENDING,
            "worker_id": None,
            "due_at": NOON + MINUTE + 6 * SECOND,
            "last_updated_at": NOON + MINUTE,
        }

    def test_one_without_delay_is_ready_at_once(self, stage: Stage) -> None:
        lease = stage.running().lease

        stage.settle(postpone(lease, timedelta(0)))

        assert stage.claim() == [lease.job_id]


class TestRelease:
    def test_it_only_clears_the_worker(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(MINUTE)

        stage.settle(release(lease))

        after = changed(before, stage.hot(lease.job_id))
        assert after.pop("heartbeat_at", None) is None
        assert after == {
            "status": Status.PENDING,
            "worker_id": None,
            "last_updated_at": NOON + MINUTE,
            "is_ready": True,
        }


class TestHandBack:
    def test_it_counts_the_interruption_instead_of_the_attempt(self, stage: Stage) -> None:
        lease = _running_with_history(stage)
        before = stage.hot(lease.job_id)

        stage.settle(hand_back(lease))

        assert changed(before, stage.hot(lease.job_id)) == CLEARED | {
            "status": Status.PENDING,
            "attempt": 1,
            "interruptions": 1,
            "due_at": NOON + MINUTE,
            "last_updated_at": NOON + MINUTE,
            "is_ready": True,
        }

    def test_interruptions_add_up_and_go_on_with_the_job(self, stage: Stage) -> None:
        job = stage.add()
        for _ in range(3):
            (claimed,) = stage.turn(want=1).claimed
            stage.settle(hand_back(claimed.lease))
        (claimed,) = stage.turn(want=1).claimed

        assert (claimed.attempt, claimed.interruptions, claimed.lease.number) == (1, 3, 4)
        stage.settle(complete(claimed.lease, 1.0))
        assert stage.archived_row(job.id).interruptions == 3


class TestDueTimesBeyondTheCalendar:
    @pytest.mark.case("C-011")
    @pytest.mark.parametrize(
        "move", [lambda lease, delay: retry(lease, delay, BOOM), postpone], ids=["retry", "postpone"]
    )
    def test_a_delay_past_year_9999_ends_at_its_last_moment(self, stage: Stage, move: object) -> None:
        assert callable(move)
        lease = stage.running().lease

        stage.settle(move(lease, timedelta(days=366 * 9000)))

        assert stage.hot(lease.job_id).due_at == datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


FAILURES = [
    pytest.param(lambda lease: retry(lease, MINUTE, BOOM), id="retry"),
    pytest.param(lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 7.0), id="dead_letter"),
]
POSTPONEMENTS = [
    pytest.param(lambda lease: postpone(lease, MINUTE), id="postpone"),
    pytest.param(hand_back, id="hand_back"),
]


class TestCancelMark:
    @pytest.mark.parametrize("ending", FAILURES + POSTPONEMENTS)
    def test_whatever_is_not_a_success_ends_as_cancelled(self, stage: Stage, ending: Ending) -> None:
        lease = stage.running(queue="mail").lease
        stage.store.cancel([lease.job_id], "ann")

        answer = stage.settle(ending(lease))

        assert answer.cancelled == {lease.job_id}
        after = stage.dead_row(lease.job_id)
        assert (after.reason, after.status) == (FailureReason.CANCELLED, Status.CANCELLED)
        assert after.last_modified_by == "ann"
        assert stage.store.totals() == {"mail": Totals(failed=1)}
        assert [(bucket.outcome, bucket.reason) for bucket in stage.buckets()] == [(1, 1)]

    def test_a_success_stays_a_success(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")

        answer = stage.settle(complete(lease, 5.0))

        assert answer.cancelled == frozenset()
        assert place_of(stage.store, lease.job_id) is Place.ARCHIVE

    def test_the_error_of_a_failed_run_is_kept(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")

        stage.settle(retry(lease, MINUTE, BOOM))

        after = stage.dead_row(lease.job_id)
        assert after.error_type == "ValueError"
        assert [error.message for error in after.attempt_errors] == ["boom"]

    @pytest.mark.parametrize("ending", POSTPONEMENTS)
    def test_a_run_without_an_error_says_who_cancelled_it(self, stage: Stage, ending: Ending) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")

        stage.settle(ending(lease))

        assert stage.dead_row(lease.job_id).error_details == "cancelled by ann"

    def test_a_worker_that_knew_of_the_mark_is_not_told_again(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")

        answer = stage.settle(dead_letter(lease, FailureReason.CANCELLED, BOOM))

        assert answer.cancelled == frozenset()
        after = stage.dead_row(lease.job_id)
        assert (after.reason, after.last_modified_by) == (FailureReason.CANCELLED, "ann")

    def test_a_mark_of_one_job_leaves_the_others_of_its_turn_alone(self, stage: Stage) -> None:
        marked, other = (stage.running().lease for _ in range(2))
        stage.store.cancel([marked.job_id], "ann")

        answer = stage.settle(retry(marked, MINUTE, BOOM), retry(other, MINUTE, BOOM))

        assert answer.cancelled == {marked.job_id}
        assert place_of(stage.store, other.job_id) is Place.PENDING


class TestManyAtOnce:
    def test_two_hundred_jobs_of_every_move_settle_in_one_turn(self, stage: Stage) -> None:
        stage.add_many(150)
        stage.add_many(50, queue="zz-ahead")
        claimed = stage.turn(want=150, prefetch=50).claimed
        moves: tuple[Ending, ...] = (
            lambda lease: complete(lease, 1.0),
            lambda lease: retry(lease, MINUTE, BOOM),
            lambda lease: postpone(lease, MINUTE),
            lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 1.0),
            hand_back,
        )
        running = [job.lease for job in claimed if job.status is Status.PROCESSING]
        ahead = [job.lease for job in claimed if job.status is Status.FETCHED]
        settlements = [moves[n % 5](lease) for n, lease in enumerate(running)]

        stage.settle(*settlements, *(release(lease) for lease in ahead))

        assert stage.store.counts() == PillarCounts(hot=140, archive=30, dlq=30)
        assert len(stage.claim(1000, OTHER_WORKER)) == 80
