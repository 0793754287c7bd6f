"""
What becomes of jobs whose worker fell silent: recover, suspects, bury.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import AttemptError, Lease, Place, Status
from chokaq_core.domain.moves import Move, complete, retry
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import Beat, Burial, MovedJob, PillarCounts, Suspects, Totals
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage, changed, place_of, snapshot
from tests.support.clock import NOON

MICROSECOND = timedelta(microseconds=1)
LOST = ErrorFacts("WorkerLost", "worker worker-1 fell silent", "WorkerLost: worker worker-1 fell silent")
AS_ZOMBIE = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
FOR_RETRY = Verdict(Move.RETRY, delay=6 * SECOND)


class TestRecover:
    def test_a_job_fetched_too_long_ago_goes_back(self, stage: Stage) -> None:
        lease = stage.fetched(queue="mail").lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(10 * MINUTE + MICROSECOND)

        moved = stage.store.recover(10 * MINUTE, 100)

        assert list(moved) == [MovedJob(lease.job_id, "mail", "email.send.v1", 0, WORKER)]
        after = changed(before, stage.hot(lease.job_id))
        assert after.pop("heartbeat_at", None) is None
        assert after == {
            "status": Status.PENDING,
            "worker_id": None,
            "last_updated_at": NOON + 10 * MINUTE + MICROSECOND,
            "is_ready": True,
        }

    def test_one_fetched_lately_or_running_stays(self, stage: Stage) -> None:
        running = stage.running().lease.job_id
        stage.clock.advance(MINUTE)
        lately = stage.fetched().lease.job_id
        stage.clock.advance(10 * MINUTE)

        assert list(stage.store.recover(10 * MINUTE, 100)) == []
        assert place_of(stage.store, running) is Place.PROCESSING
        assert place_of(stage.store, lately) is Place.FETCHED

    def test_what_is_recovered_may_be_claimed_and_the_old_lease_is_stale(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.clock.advance(MINUTE)
        stage.store.recover(SECOND, 100)

        answer = stage.turn(starts=(lease,))

        assert answer.stale == {lease.job_id}
        assert stage.claim(1, OTHER_WORKER) == [lease.job_id]

    def test_it_moves_no_more_than_it_may_and_the_rest_next_time(self, stage: Stage) -> None:
        stage.add_many(5)
        stage.turn(prefetch=5)
        stage.clock.advance(MINUTE)

        assert [len(stage.store.recover(SECOND, 2)) for _ in range(4)] == [2, 2, 1, 0]

    def test_it_counts_neither_an_attempt_nor_a_retry(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.clock.advance(MINUTE)
        stage.store.recover(SECOND, 100)

        assert stage.hot(lease.job_id).attempt == 0
        assert stage.store.totals() == {}


class TestSuspects:
    def test_a_running_job_without_a_heartbeat_for_too_long_is_one(self, stage: Stage) -> None:
        lease = stage.running(queue="mail", delay=0 * SECOND).lease
        stage.clock.advance(MINUTE)
        stage.store.beat(Beat(WORKER))
        stage.clock.advance(10 * MINUTE + MICROSECOND)
        before = snapshot(stage, lease.job_id)

        found = stage.store.suspects(10 * MINUTE, 100)

        assert found == Suspects(
            now=NOON + 11 * MINUTE + MICROSECOND,
            jobs=(
                Suspect(
                    job_id=lease.job_id,
                    lease_number=1,
                    worker_id=WORKER,
                    heartbeat_at=NOON + MINUTE,
                    queue="mail",
                    type_key="email.send.v1",
                    attempt=1,
                    lifetime_start_at=NOON,
                ),
            ),
        )
        assert snapshot(stage, lease.job_id) == before

    def test_exactly_at_the_timeout_it_is_none_yet(self, stage: Stage) -> None:
        stage.running()
        stage.clock.advance(10 * MINUTE)

        assert stage.store.suspects(10 * MINUTE, 100).jobs == ()

    def test_fetched_and_pending_jobs_are_never_suspect(self, stage: Stage) -> None:
        stage.fetched()
        stage.add()
        stage.clock.advance(100 * MINUTE)

        assert stage.store.suspects(MINUTE, 100).jobs == ()

    def test_a_queues_own_timeout_wins_over_the_default(self, stage: Stage) -> None:
        patient, strict, plain = (stage.running(queue=name).lease.job_id for name in ("patient", "strict", "plain"))
        stage.set_queue("patient", zombie_timeout=60 * MINUTE)
        stage.set_queue("strict", zombie_timeout=2 * MINUTE)

        assert _suspects_after(stage, 3 * MINUTE) == {strict}
        assert _suspects_after(stage, 8 * MINUTE) == {strict, plain}
        assert _suspects_after(stage, 50 * MINUTE) == {strict, plain, patient}

    def test_no_more_are_answered_than_were_asked_for(self, stage: Stage) -> None:
        stage.add_many(5)
        stage.claim(5)
        stage.clock.advance(MINUTE)

        assert len(stage.store.suspects(SECOND, 3).jobs) == 3


def _suspects_after(stage: Stage, wait: timedelta) -> set[str]:
    stage.clock.advance(wait)
    return {suspect.job_id for suspect in stage.store.suspects(10 * MINUTE, 100).jobs}


class TestBury:
    def test_a_zombie_goes_to_the_dlq_with_what_is_known_of_the_loss(self, stage: Stage) -> None:
        lease = stage.running(queue="mail", idempotency_key="order-7").lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(MINUTE)

        assert _bury(stage, _found(stage), AS_ZOMBIE) == [True]

        after = stage.dead_row(lease.job_id)
        assert changed(before, after) == {
            "last_updated_at": NOON + MINUTE,
            "attempt_errors": (AttemptError(1, NOON + MINUTE, "WorkerLost", "worker worker-1 fell silent"),),
        }
        assert (after.reason, after.status, after.failed_at) == (FailureReason.ZOMBIE, Status.ZOMBIE, NOON + MINUTE)
        assert (after.error_type, after.error_details) == ("WorkerLost", "WorkerLost: worker worker-1 fell silent")
        assert stage.store.totals() == {"mail": Totals(failed=1)}
        assert [(b.queue, b.outcome, b.reason, b.completed) for b in stage.buckets()] == [("mail", 1, 2, 1)]

    def test_one_that_may_run_again_is_retried_as_after_a_failed_attempt(self, stage: Stage) -> None:
        lease = stage.running(queue="mail").lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(MINUTE)

        assert _bury(stage, _found(stage), FOR_RETRY) == [True]

        assert changed(before, stage.hot(lease.job_id)) == {
            "status": Status.PENDING,
            "worker_id": None,
            "heartbeat_at": None,
            "started_at": None,
            "due_at": NOON + MINUTE + 6 * SECOND,
            "last_updated_at": NOON + MINUTE,
            "attempt_errors": (AttemptError(1, NOON + MINUTE, "WorkerLost", "worker worker-1 fell silent"),),
        }
        assert stage.store.totals() == {"mail": Totals(retried=1)}

    @pytest.mark.case("C-007")
    def test_a_job_that_has_beaten_since_is_left_alone(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.clock.advance(MINUTE)
        found = _found(stage)
        stage.store.beat(Beat(WORKER))
        before = snapshot(stage, lease.job_id)

        assert _bury(stage, found, AS_ZOMBIE) == [False]
        assert _bury(stage, found, FOR_RETRY) == [False]
        assert snapshot(stage, lease.job_id) == before

    @pytest.mark.case("C-001")
    def test_a_job_under_another_lease_is_left_alone(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.clock.advance(MINUTE)
        found = _found(stage)
        stage.settle(retry(lease, 0 * SECOND, BOOM))
        stage.claim(1, OTHER_WORKER)
        before = snapshot(stage, lease.job_id)

        assert _bury(stage, found, AS_ZOMBIE) == [False]
        assert snapshot(stage, lease.job_id) == before

    def test_so_is_one_whose_other_lease_began_in_the_moment_of_the_last_heartbeat(self, stage: Stage) -> None:
        lease = stage.running().lease
        found = [stage.suspect(lease.job_id)]
        stage.settle(retry(lease, 0 * SECOND, BOOM))
        stage.claim(1)
        before = snapshot(stage, lease.job_id)

        assert _bury(stage, found, AS_ZOMBIE) == [False]
        assert snapshot(stage, lease.job_id) == before

    @pytest.mark.parametrize("place", [Place.ARCHIVE, Place.DLQ, Place.ABSENT])
    def test_a_job_that_has_ended_since_is_left_alone(self, stage: Stage, place: Place) -> None:
        staged = stage.put(place)
        suspect = Suspect(staged.id, 1, WORKER, NOON, "default", "email.send.v1", 1, NOON)
        before = snapshot(stage, staged.id)

        assert _bury(stage, [suspect], AS_ZOMBIE) == [False]
        assert snapshot(stage, staged.id) == before

    def test_one_that_was_buried_already_is_not_buried_again(self, stage: Stage) -> None:
        stage.running()
        stage.clock.advance(MINUTE)
        (suspect,) = _found(stage)

        assert _bury(stage, [suspect, suspect], AS_ZOMBIE) == [True, False]
        assert _bury(stage, [suspect], AS_ZOMBIE) == [False]
        assert stage.store.totals() == {"default": Totals(failed=1)}

    def test_each_burial_is_judged_by_itself_and_answered_in_order(self, stage: Stage) -> None:
        ids = stage.add_many(4)
        stage.claim(4)
        stage.clock.advance(MINUTE)
        found = {suspect.job_id: suspect for suspect in _found(stage)}
        stage.settle(complete(Lease(ids[1], WORKER, 1), 1.0))
        burials = [
            Burial(found[job_id], verdict, LOST)
            for job_id, verdict in zip(ids, (AS_ZOMBIE, AS_ZOMBIE, FOR_RETRY, AS_ZOMBIE), strict=True)
        ]

        assert list(stage.store.bury(burials)) == [True, False, True, True]
        assert stage.store.counts() == PillarCounts(hot=1, archive=1, dlq=2)

    @pytest.mark.case("C-001")
    def test_the_lost_worker_settles_nothing_any_more(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.clock.advance(MINUTE)
        _bury(stage, _found(stage), AS_ZOMBIE)

        answer = stage.turn(settlements=(complete(lease, 1.0),))

        assert answer.stale == {lease.job_id}
        assert place_of(stage.store, lease.job_id) is Place.DLQ

    @pytest.mark.case("C-009")
    def test_it_frees_the_place_in_a_limited_queue(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        stage.running(queue="mail")
        waiting = stage.add(queue="mail")
        stage.clock.advance(MINUTE)
        assert stage.claim(1, OTHER_WORKER) == []

        _bury(stage, _found(stage), AS_ZOMBIE)

        assert stage.claim(1, OTHER_WORKER) == [waiting.id]

    def test_a_marked_job_is_not_retried_but_ends_as_cancelled(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")
        stage.clock.advance(MINUTE)

        assert _bury(stage, _found(stage), FOR_RETRY) == [True]

        after = stage.dead_row(lease.job_id)
        assert (after.reason, after.last_modified_by) == (FailureReason.CANCELLED, "ann")
        assert stage.store.totals() == {"default": Totals(failed=1)}
        assert [(bucket.outcome, bucket.reason) for bucket in stage.buckets()] == [(1, 1)]

    def test_a_marked_job_whose_fate_is_unknown_stays_a_zombie(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")
        stage.clock.advance(MINUTE)

        _bury(stage, _found(stage), AS_ZOMBIE)

        assert stage.dead_row(lease.job_id).reason is FailureReason.ZOMBIE

    def test_nothing_to_bury_is_answered_with_nothing(self, stage: Stage) -> None:
        assert list(stage.store.bury([])) == []


def _found(stage: Stage) -> list[Suspect]:
    return list(stage.store.suspects(SECOND, 100).jobs)


def _bury(stage: Stage, suspects: list[Suspect], verdict: Verdict) -> list[bool]:
    return list(stage.store.bury([Burial(suspect, verdict, LOST) for suspect in suspects]))
