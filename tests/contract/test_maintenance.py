"""
What keeps a database small: old rows go in batches, oldest first, and counters are folded without a change of any sum.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ClaimedJob, Place
from chokaq_core.domain.moves import complete, dead_letter, release, retry
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.ports import PillarCounts, WorkerFacts
from tests.contract.racing import at_once
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage, place_of

HOUR = 60 * MINUTE
DAY = 24 * HOUR


@pytest.mark.case("C-041")
class TestExpiry:
    @pytest.mark.parametrize("pillar", [Place.ARCHIVE, Place.DLQ])
    def test_jobs_that_ended_so_long_ago_are_deleted_oldest_first(self, stage: Stage, pillar: Place) -> None:
        ids = []
        for _ in range(5):
            ids.append(stage.put(pillar).id)
            stage.clock.advance(HOUR)

        assert stage.store.purge_expired(pillar, 2 * HOUR, 3) == 3
        assert [place_of(stage.store, job_id) for job_id in ids] == [*[Place.ABSENT] * 3, pillar, pillar]
        assert stage.store.purge_expired(pillar, 2 * HOUR, 3) == 1
        assert stage.store.purge_expired(pillar, 2 * HOUR, 3) == 0
        assert place_of(stage.store, ids[4]) is pillar

    @pytest.mark.parametrize("age,count", [(59 * MINUTE, 1), (60 * MINUTE, 1), (61 * MINUTE, 0)])
    def test_age_is_counted_from_the_end_of_a_job_and_not_from_its_beginning(
        self, stage: Stage, age: timedelta, count: int
    ) -> None:
        running = stage.running()
        stage.clock.advance(10 * DAY)
        stage.settle(complete(running.lease, 1.0))
        stage.clock.advance(HOUR)

        assert stage.store.purge_expired(Place.ARCHIVE, age, 10) == count

    @pytest.mark.parametrize("pillar,other", [(Place.ARCHIVE, Place.DLQ), (Place.DLQ, Place.ARCHIVE)])
    def test_nothing_else_goes(self, stage: Stage, pillar: Place, other: Place) -> None:
        for place in (Place.PROCESSING, Place.FETCHED, other, Place.PENDING):
            stage.put(place, queue=str(place))
        before = stage.store.totals()
        stage.clock.advance(100 * DAY)

        assert stage.store.purge_expired(pillar, 0 * SECOND, 100) == 0
        assert stage.store.counts() == PillarCounts(3, int(other is Place.ARCHIVE), int(other is Place.DLQ))
        assert stage.store.totals() == before

    def test_two_at_once_delete_each_job_once(self, stage: Stage) -> None:
        for _ in range(40):
            stage.archived()

        counts = at_once([partial(stage.store.purge_expired, Place.ARCHIVE, 0 * SECOND, 15) for _ in range(4)])

        assert sum(counts) == 40
        assert stage.store.counts().archive == 0


class TestPruning:
    def test_old_buckets_go_oldest_first_and_whole_seconds_at_a_time(self, stage: Stage) -> None:
        for _ in range(4):
            stage.archived()
            stage.dead()
            stage.clock.advance(HOUR)

        assert stage.store.prune_buckets(2 * HOUR, 1) == 2
        assert stage.store.prune_buckets(2 * HOUR, 3) == 4
        assert stage.store.prune_buckets(2 * HOUR, 3) == 0
        assert len(stage.buckets()) == 2
        assert (stage.store.totals()["default"].succeeded, stage.store.totals()["default"].failed) == (4, 4)

    def test_old_entries_of_the_operator_log_go_oldest_first(self, stage: Stage) -> None:
        for number in range(4):
            job = stage.dead()
            stage.store.purge([job.lease.job_id], LogNote("ann", "purge", str(number)))
            stage.clock.advance(DAY)

        assert stage.store.prune_operator_log(2 * DAY, 2) == 2
        assert stage.store.prune_operator_log(2 * DAY, 2) == 1
        assert stage.store.prune_operator_log(2 * DAY, 2) == 0
        assert [entry.target for entry in stage.store.operator_log(None, 10)] == ["3"]


class TestLanes:
    def test_a_lane_without_jobs_for_a_day_is_forgotten(self, stage: Stage) -> None:
        stage.archived()
        assert stage.store.prune_lanes(DAY) == 0

        stage.clock.advance(DAY - SECOND)
        assert stage.store.prune_lanes(DAY) == 0

        stage.clock.advance(SECOND)
        assert stage.store.prune_lanes(DAY) == 1
        assert stage.store.prune_lanes(DAY) == 0

    @pytest.mark.parametrize("way", ["ready", "delayed", "fetched", "running", "retried"])
    def test_a_lane_with_a_job_of_any_kind_stays(self, stage: Stage, way: str) -> None:
        stage.archived()
        stage.store.prune_lanes(DAY)
        stage.clock.advance(10 * DAY)
        if way in {"ready", "delayed"}:
            stage.add(delay=20 * DAY if way == "delayed" else None)
        elif way == "fetched":
            stage.fetched()
        else:
            running = stage.running()
            if way == "retried":
                stage.settle(retry(running.lease, 20 * DAY, BOOM))

        assert [stage.store.prune_lanes(DAY) for _ in range(2)] == [0, 0]
        stage.clock.advance(10 * DAY)
        assert stage.store.prune_lanes(DAY) == 0

    def test_a_lane_that_was_used_meanwhile_is_empty_anew(self, stage: Stage) -> None:
        stage.store.prune_lanes(DAY)
        running = stage.running()
        stage.clock.advance(2 * DAY)
        stage.store.prune_lanes(DAY)
        stage.settle(complete(running.lease, 1.0))

        assert stage.store.prune_lanes(DAY) == 0
        stage.clock.advance(DAY)
        assert stage.store.prune_lanes(DAY) == 1

    @pytest.mark.parametrize("way", ["enqueue", "resurrect"])
    def test_a_job_that_comes_later_brings_its_lane_back(self, stage: Stage, way: str) -> None:
        dead = stage.dead()
        stage.store.prune_lanes(DAY)
        stage.clock.advance(DAY)
        assert stage.store.prune_lanes(DAY) == 1

        if way == "enqueue":
            job_id = stage.add().id
        else:
            job_id = dead.lease.job_id
            stage.store.resurrect([job_id], "ann")

        assert stage.claim() == [job_id]


class TestFolding:
    def test_counts_of_gone_workers_are_folded_and_every_sum_stays(self, stage: Stage) -> None:
        for worker in ("a", "b", "c"):
            for queue in ("mail", "other"):
                _end_some(stage, worker, queue)
        stage.clock.advance(HOUR)
        totals, buckets = stage.store.totals(), stage.buckets()

        assert stage.store.fold_counters(1000) > 0
        assert stage.store.fold_counters(1000) == 0

        assert stage.store.totals() == totals
        assert stage.buckets() == buckets

    def test_counts_go_on_after_a_fold(self, stage: Stage) -> None:
        _end_some(stage, WORKER, "mail")
        stage.clock.advance(HOUR)
        stage.store.fold_counters(1000)
        _end_some(stage, WORKER, "mail")
        stage.clock.advance(HOUR)
        stage.store.fold_counters(1000)

        totals = stage.store.totals()["mail"]
        assert (totals.succeeded, totals.failed, totals.retried) == (4, 2, 2)
        assert sum(bucket.completed for bucket in stage.buckets()) == 6

    def test_totals_of_a_worker_that_has_a_row_stay_its_own(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host", 4))
        _end_some(stage, WORKER, "mail")

        assert stage.store.fold_counters(1000) == 0

    def test_buckets_that_may_still_be_added_to_stay(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host", 4))
        _end_some(stage, WORKER, "mail")
        stage.clock.advance(2 * MINUTE - SECOND)
        assert stage.store.fold_counters(1000) == 0

        stage.clock.advance(SECOND)
        assert stage.store.fold_counters(1000) == 2

    def test_a_fold_takes_no_more_than_it_is_asked_to(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host", 4))
        for _ in range(5):
            stage.archived()
            stage.clock.advance(SECOND)
        stage.clock.advance(HOUR)
        before = stage.buckets()

        assert [stage.store.fold_counters(2) for _ in range(4)] == [2, 2, 1, 0]
        assert stage.buckets() == before

    def test_two_at_once_lose_and_double_nothing(self, stage: Stage) -> None:
        for worker in ("a", "b", "c"):
            _end_some(stage, worker, "mail")
        stage.clock.advance(HOUR)
        totals, buckets = stage.store.totals(), stage.buckets()

        at_once([partial(stage.store.fold_counters, 2) for _ in range(6)])

        assert (stage.store.totals(), stage.buckets()) == (totals, buckets)


def _end_some(stage: Stage, worker: str, queue: str) -> None:
    """
    Two successes, a failure for good and a retry.
    """
    stage.add_many(4, queue=queue)
    jobs: tuple[ClaimedJob, ...] = stage.turn(worker, want=4).claimed
    endings = (
        complete(jobs[0].lease, 10.0),
        complete(jobs[1].lease, 30.0),
        dead_letter(jobs[2].lease, FailureReason.TIMEOUT, BOOM, 5.0),
        retry(jobs[3].lease, 100 * DAY, BOOM),
    )
    stage.settle(*endings, worker=worker)


def test_what_is_given_back_is_no_end(stage: Stage) -> None:
    lease = stage.fetched(OTHER_WORKER).lease
    stage.settle(release(lease), worker=OTHER_WORKER)
    stage.clock.advance(DAY)

    assert stage.store.fold_counters(1000) == 0
