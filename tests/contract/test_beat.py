"""
The heartbeat: one call for all jobs that run in a worker's name, answered with all that are held in it.
"""

from __future__ import annotations

import pytest

from chokaq_core.domain.moves import complete, postpone, retry
from chokaq_core.domain.value import replace
from chokaq_core.ports import Beat, BeatAnswer, HeldJob, Progress, WorkerFacts
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage, changed
from tests.support.clock import NOON


class TestHeartbeat:
    def test_it_is_written_for_every_running_job_and_touches_nothing_else(self, stage: Stage) -> None:
        before = [stage.hot(stage.running().lease.job_id) for _ in range(3)]
        stage.clock.advance(MINUTE)

        stage.store.beat(Beat(WORKER))

        assert [changed(job, stage.hot(job.id)) for job in before] == [{"heartbeat_at": NOON + MINUTE}] * 3

    def test_it_leaves_alone_what_waits_what_is_fetched_and_what_others_run(self, stage: Stage) -> None:
        jobs = [
            stage.hot(stage.running(OTHER_WORKER).lease.job_id),
            stage.hot(stage.fetched().lease.job_id),
            stage.hot(stage.add().id),
        ]
        stage.clock.advance(MINUTE)

        stage.store.beat(Beat(WORKER))

        assert [stage.hot(job.id) for job in jobs] == jobs

    def test_a_started_job_beats_from_then_on(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.clock.advance(MINUTE)
        stage.turn(starts=(lease,))
        assert stage.hot(lease.job_id).heartbeat_at == NOON + MINUTE

        stage.clock.advance(MINUTE)
        stage.store.beat(Beat(WORKER))
        assert stage.hot(lease.job_id).heartbeat_at == NOON + 2 * MINUTE

    def test_a_thousand_jobs_beat_in_one_call(self, stage: Stage) -> None:
        stage.add_many(1000)
        ids = stage.claim(1000)
        stage.clock.advance(MINUTE)

        held = stage.store.beat(Beat(WORKER)).held

        assert set(held) == set(ids)
        assert len(ids) == 1000
        assert {stage.hot(job_id).heartbeat_at for job_id in ids[::100]} == {NOON + MINUTE}


class TestHeldJobs:
    def test_all_that_the_worker_holds_are_named_with_their_leases(self, stage: Stage) -> None:
        first = stage.running().lease
        stage.settle(retry(first, 0 * SECOND, BOOM))
        again = stage.turn(want=1).claimed[0].lease
        ahead = stage.fetched().lease
        stage.running(OTHER_WORKER)
        stage.add()

        answer = stage.store.beat(Beat(WORKER))

        assert answer == BeatAnswer(
            {
                again.job_id: HeldJob(lease_number=2, is_running=True, is_cancel_requested=False),
                ahead.job_id: HeldJob(lease_number=1, is_running=False, is_cancel_requested=False),
            }
        )

    def test_a_cancel_mark_comes_with_the_name_of_who_asked(self, stage: Stage) -> None:
        marked, other = (stage.running().lease.job_id for _ in range(2))
        stage.store.cancel([marked], "ann")

        held = stage.store.beat(Beat(WORKER)).held

        assert held[marked] == HeldJob(1, is_running=True, is_cancel_requested=True, cancel_requested_by="ann")
        assert held[other] == HeldJob(1, is_running=True, is_cancel_requested=False)

    def test_what_was_lost_is_missing(self, stage: Stage) -> None:
        buried, settled, postponed = (stage.running().lease for _ in range(3))
        cancelled = stage.fetched().lease
        kept = stage.running().lease
        stage.bury(buried.job_id)
        stage.settle(complete(settled, 1.0), postpone(postponed, MINUTE))
        stage.store.cancel([cancelled.job_id], "ann")

        assert set(stage.store.beat(Beat(WORKER)).held) == {kept.job_id}

    def test_a_job_that_another_worker_has_claimed_since_is_missing(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.clock.advance(MINUTE)
        stage.store.recover(SECOND, 10)
        stage.claim(1, OTHER_WORKER)

        assert stage.store.beat(Beat(WORKER)).held == {}
        assert stage.store.beat(Beat(OTHER_WORKER)).held[lease.job_id].lease_number == 2

    def test_a_worker_that_nobody_knows_holds_nothing(self, stage: Stage) -> None:
        stage.running()

        assert stage.store.beat(Beat("stranger")) == BeatAnswer({})


class TestProgress:
    @pytest.mark.parametrize("percent,note", [(0, None), (55, "line 55 of 100"), (100, "")])
    def test_it_is_stored_with_the_heartbeat(self, stage: Stage, percent: int, note: str | None) -> None:
        lease = stage.running().lease

        stage.store.beat(Beat(WORKER, progress=(Progress(lease, percent, note),)))

        job = stage.hot(lease.job_id)
        assert (job.progress, job.progress_note) == (percent, note)

    def test_it_stays_until_it_is_reported_anew(self, stage: Stage) -> None:
        first, second = (stage.running().lease for _ in range(2))
        stage.store.beat(Beat(WORKER, progress=(Progress(first, 10, "ten"), Progress(second, 20, "twenty"))))
        stage.store.beat(Beat(WORKER, progress=(Progress(second, 30, None),)))

        jobs = [stage.hot(lease.job_id) for lease in (first, second)]
        assert [(job.progress, job.progress_note) for job in jobs] == [(10, "ten"), (30, None)]

    def test_that_of_a_lost_lease_is_ignored_and_holds_up_no_other(self, stage: Stage) -> None:
        gone, earlier, kept = (stage.running().lease for _ in range(3))
        stage.settle(complete(gone, 1.0), retry(earlier, 0 * SECOND, BOOM))
        stage.turn(want=1)
        reports = tuple(Progress(lease, 50, "half") for lease in (gone, earlier, kept))

        stage.store.beat(Beat(WORKER, progress=reports))

        assert stage.hot(earlier.job_id).progress is None
        assert stage.hot(kept.job_id).progress == 50

    def test_that_of_another_workers_job_is_ignored(self, stage: Stage) -> None:
        lease = stage.running(OTHER_WORKER).lease

        stage.store.beat(Beat(WORKER, progress=(Progress(replace(lease, worker_id=WORKER), 50, "half"),)))

        assert stage.hot(lease.job_id).progress is None


class TestWorkerRow:
    def test_it_says_what_the_heartbeat_said(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))
        stage.clock.advance(MINUTE)

        stage.store.beat(Beat(WORKER, active=3, abandoned=1, capacity=15))

        assert stage.worker(WORKER) == WorkerFacts(
            WORKER, "host-1", capacity=15, active=3, abandoned=1, started_at=NOON, heartbeat_at=NOON + MINUTE
        )

    def test_the_heartbeat_of_an_unregistered_worker_makes_no_row(self, stage: Stage) -> None:
        lease = stage.running().lease

        assert set(stage.store.beat(Beat(WORKER)).held) == {lease.job_id}
        assert stage.store.workers() == []
