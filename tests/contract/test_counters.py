"""
Totals and metric buckets: each worker writes its own shard, readers see the sums.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.moves import complete, dead_letter, hand_back, postpone, release, retry
from chokaq_core.ports import Beat, MetricBucket, Totals
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage
from tests.support.clock import NOON

HALF_A_SECOND = timedelta(milliseconds=500)


class TestTotals:
    def test_nothing_was_counted_at_the_start(self, stage: Stage) -> None:
        assert stage.store.totals() == {}

    def test_each_queue_counts_what_succeeded_failed_and_was_retried(self, stage: Stage) -> None:
        for _ in range(3):
            stage.archived(queue="mail")
        for _ in range(2):
            stage.dead(queue="mail")
        stage.settle(retry(stage.running(queue="other").lease, MINUTE, BOOM))

        assert stage.store.totals() == {"mail": Totals(succeeded=3, failed=2), "other": Totals(retried=1)}

    def test_many_endings_of_one_turn_are_all_counted(self, stage: Stage) -> None:
        stage.add_many(6)
        leases = [job.lease for job in stage.turn(want=6).claimed]
        stage.settle(
            complete(leases[0], 1.0),
            complete(leases[1], 1.0),
            complete(leases[2], 1.0),
            dead_letter(leases[3], FailureReason.TIMEOUT, BOOM),
            dead_letter(leases[4], FailureReason.FATAL_ERROR, BOOM),
            retry(leases[5], MINUTE, BOOM),
        )

        assert stage.store.totals() == {"default": Totals(succeeded=3, failed=2, retried=1)}

    def test_counts_of_one_worker_add_up_from_turn_to_turn(self, stage: Stage) -> None:
        for _ in range(3):
            stage.archived()
            stage.dead()
            stage.settle(retry(stage.running().lease, MINUTE, BOOM))

        assert stage.store.totals() == {"default": Totals(succeeded=3, failed=3, retried=3)}

    def test_what_workers_operators_and_scans_end_is_one_sum(self, stage: Stage) -> None:
        stage.settle(complete(stage.running().lease, 1.0))
        stage.settle(complete(stage.running(OTHER_WORKER).lease, 1.0), worker=OTHER_WORKER)
        stage.store.cancel([stage.add().id], "ann")
        stage.bury(stage.running().lease.job_id)

        assert stage.store.totals() == {"default": Totals(succeeded=2, failed=2)}

    def test_moves_that_end_nothing_are_not_counted(self, stage: Stage) -> None:
        handed_back, put_off, marked = (stage.running().lease for _ in range(3))
        released = stage.fetched().lease
        stage.settle(hand_back(handed_back), postpone(put_off, MINUTE), release(released))
        stage.store.cancel([marked.job_id], "ann")
        stage.store.beat(Beat(WORKER))

        assert stage.store.totals() == {}
        assert list(stage.buckets()) == []

    def test_a_stale_settlement_is_not_counted(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.settle(complete(lease, 1.0))
        stage.turn(settlements=(complete(lease, 1.0),))

        assert stage.store.totals() == {"default": Totals(succeeded=1)}
        assert [bucket.completed for bucket in stage.buckets()] == [1]


class TestBuckets:
    def test_a_second_sums_what_ended_in_it(self, stage: Stage) -> None:
        for duration in (10.0, 30.0, 20.5):
            stage.settle(complete(stage.running(queue="mail").lease, duration))
            stage.clock.advance(timedelta(milliseconds=300))

        assert list(stage.buckets()) == [
            MetricBucket(
                at=NOON,
                queue="mail",
                outcome=0,
                reason=-1,
                completed=3,
                duration_count=3,
                total_duration_ms=60.5,
                max_duration_ms=30.0,
            )
        ]

    def test_every_second_has_its_own(self, stage: Stage) -> None:
        stage.clock.advance(HALF_A_SECOND)
        for _ in range(3):
            stage.archived()
            stage.clock.advance(HALF_A_SECOND)

        assert [(bucket.at, bucket.completed) for bucket in stage.buckets()] == [(NOON, 1), (NOON + SECOND, 2)]

    def test_outcomes_and_reasons_are_kept_apart(self, stage: Stage) -> None:
        stage.archived()
        for reason in (FailureReason.MAX_RETRIES_EXCEEDED, FailureReason.TIMEOUT, FailureReason.TIMEOUT):
            stage.settle(dead_letter(stage.running().lease, reason, BOOM, 5.0))

        found = [(bucket.outcome, bucket.reason, bucket.completed) for bucket in stage.buckets()]

        assert found == [(0, -1, 1), (1, 0, 1), (1, 7, 2)]

    def test_queues_are_kept_apart(self, stage: Stage) -> None:
        for queue in ("red", "blue"):
            stage.archived(queue=queue)

        assert [(bucket.queue, bucket.completed) for bucket in stage.buckets()] == [("blue", 1), ("red", 1)]

    def test_workers_are_summed_and_the_longest_of_all_is_the_longest(self, stage: Stage) -> None:
        for worker, duration in ((WORKER, 10.0), (OTHER_WORKER, 50.0), ("worker-3", 20.0)):
            stage.settle(complete(stage.running(worker).lease, duration), worker=worker)

        (bucket,) = stage.buckets()

        assert (bucket.completed, bucket.duration_count) == (3, 3)
        assert (bucket.total_duration_ms, bucket.max_duration_ms) == (80.0, 50.0)

    def test_a_job_that_ended_without_a_duration_counts_but_does_not_weigh(self, stage: Stage) -> None:
        timed, untimed = (stage.running().lease for _ in range(2))
        stage.settle(
            dead_letter(timed, FailureReason.TIMEOUT, BOOM, 40.0), dead_letter(untimed, FailureReason.TIMEOUT, BOOM)
        )

        (bucket,) = stage.buckets()

        assert (bucket.completed, bucket.duration_count) == (2, 1)
        assert (bucket.total_duration_ms, bucket.max_duration_ms) == (40.0, 40.0)

    def test_retries_end_nothing(self, stage: Stage) -> None:
        stage.settle(retry(stage.running().lease, MINUTE, BOOM))

        assert list(stage.buckets()) == []

    def test_they_are_answered_from_a_time_on_oldest_first(self, stage: Stage) -> None:
        for _ in range(4):
            stage.archived()
            stage.clock.advance(SECOND)

        found = stage.store.buckets(NOON + 2 * SECOND)

        assert [bucket.at for bucket in found] == [NOON + 2 * SECOND, NOON + 3 * SECOND]
