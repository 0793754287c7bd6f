"""
A worker's turn as one transaction: settle, start, claim; and its repeat after a lost answer.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Lease, Place, Status
from chokaq_core.domain.moves import complete, dead_letter, hand_back, postpone, release, retry
from chokaq_core.domain.value import replace
from chokaq_core.ports import Beat, Edit, PillarCounts, Totals, Turn, TurnAnswer
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage, changed, place_of
from tests.support.clock import NOON


class TestOneTurn:
    def test_it_settles_starts_and_claims_at_once(self, stage: Stage) -> None:
        ending, failing = (stage.running().lease for _ in range(2))
        ahead = stage.fetched().lease
        waiting = stage.add()

        answer = stage.turn(
            settlements=(complete(ending, 5.0), retry(failing, MINUTE, BOOM)), starts=(ahead,), want=1, prefetch=1
        )

        assert (answer.stale, answer.cancelled) == (frozenset(), frozenset())
        assert [job.lease for job in answer.claimed] == [Lease(waiting.id, WORKER, 1)]
        assert place_of(stage.store, ending.job_id) is Place.ARCHIVE
        assert place_of(stage.store, failing.job_id) is Place.PENDING
        assert place_of(stage.store, ahead.job_id) is Place.PROCESSING
        assert place_of(stage.store, waiting.id) is Place.PROCESSING

    def test_an_empty_turn_moves_nothing(self, stage: Stage) -> None:
        stage.add()

        answer = stage.turn(after_queue="mail")

        assert answer == TurnAnswer(now=NOON, last_queue="mail")

    def test_a_stale_settlement_does_not_hold_up_the_others(self, stage: Stage) -> None:
        lost, kept = (stage.running().lease for _ in range(2))
        stage.bury(lost.job_id)
        waiting = stage.add()

        answer = stage.turn(settlements=(complete(lost, 5.0), complete(kept, 5.0)), want=1)

        assert answer.stale == {lost.job_id}
        assert place_of(stage.store, kept.job_id) is Place.ARCHIVE
        assert [job.lease.job_id for job in answer.claimed] == [waiting.id]

    def test_a_stale_start_is_named_like_a_stale_settlement(self, stage: Stage) -> None:
        gone, kept = (stage.fetched().lease for _ in range(2))
        lost = stage.running().lease
        stage.store.cancel([gone.job_id], "ann")
        stage.bury(lost.job_id)

        answer = stage.turn(settlements=(complete(lost, 5.0),), starts=(gone, kept))

        assert answer.stale == {gone.job_id, lost.job_id}
        assert stage.hot(kept.job_id).status is Status.PROCESSING

    def test_a_job_that_is_due_again_at_once_may_be_claimed_in_the_same_turn(self, stage: Stage) -> None:
        failed, handed_back, put_off = (stage.running().lease for _ in range(3))
        released = stage.fetched().lease

        answer = stage.turn(
            settlements=(
                retry(failed, timedelta(0), BOOM),
                hand_back(handed_back),
                postpone(put_off, timedelta(0)),
                release(released),
            ),
            want=10,
        )

        assert [job.lease.number for job in answer.claimed] == [2, 2, 2, 2]

    def test_a_key_is_free_as_soon_as_its_job_has_settled(self, stage: Stage) -> None:
        lease = stage.running(idempotency_key="order-7").lease
        stage.settle(complete(lease, 5.0))

        stage.add(idempotency_key="order-7")

    def test_turns_of_two_workers_have_nothing_to_do_with_each_other(self, stage: Stage) -> None:
        first, second = stage.add_many(2)

        mine = stage.store.turn(Turn(WORKER, 1, want=1))
        theirs = stage.store.turn(Turn(OTHER_WORKER, 1, want=1))

        assert [job.lease for job in mine.claimed] == [Lease(first, WORKER, 1)]
        assert [job.lease for job in theirs.claimed] == [Lease(second, OTHER_WORKER, 1)]
        assert not theirs.is_repeat

    def test_a_worker_settles_only_what_it_holds_itself(self, stage: Stage) -> None:
        lease = stage.running(OTHER_WORKER).lease

        answer = stage.turn(WORKER, settlements=(complete(lease, 5.0),))

        assert answer.stale == {lease.job_id}
        assert stage.hot(lease.job_id).worker_id == OTHER_WORKER


class TestStart:
    def test_it_counts_the_attempt_and_begins_the_heartbeat(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        before = stage.hot(lease.job_id)
        stage.clock.advance(MINUTE)

        stage.turn(starts=(lease,))

        assert changed(before, stage.hot(lease.job_id)) == {
            "status": Status.PROCESSING,
            "attempt": 1,
            "started_at": NOON + MINUTE,
            "heartbeat_at": NOON + MINUTE,
            "last_updated_at": NOON + MINUTE,
        }

    def test_many_start_at_once_whatever_their_queues(self, stage: Stage) -> None:
        for number in range(6):
            stage.add(queue=f"queue-{number % 3}")
        leases = [job.lease for job in stage.turn(prefetch=6).claimed]

        answer = stage.turn(starts=tuple(leases[:4]))

        assert answer.stale == frozenset()
        assert [stage.hot(lease.job_id).attempt for lease in leases] == [1, 1, 1, 1, 0, 0]

    def test_a_second_start_is_stale(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.turn(starts=(lease,))

        assert stage.turn(starts=(lease,)).stale == {lease.job_id}
        assert stage.hot(lease.job_id).attempt == 1


class TestRepeat:
    def test_it_gives_the_first_answer_again(self, stage: Stage) -> None:
        lost, kept, marked = (stage.running().lease for _ in range(3))
        stage.bury(lost.job_id)
        stage.store.cancel([marked.job_id], "ann")
        stage.add_many(3, queue="mail")
        stage.add(delay=MINUTE)
        turn = stage.next_turn(
            settlements=(complete(lost, 5.0), complete(kept, 5.0), retry(marked, MINUTE, BOOM)),
            want=2,
            prefetch=5,
            after_queue="default",
        )
        first = stage.store.turn(turn)

        again = stage.store.turn(turn)

        assert first.stale == {lost.job_id}
        assert first.cancelled == {marked.job_id}
        assert [job.status.label for job in first.claimed] == ["Processing", "Processing", "Fetched"]
        assert (first.last_queue, first.next_due_at) == ("mail", NOON + MINUTE)
        assert again == replace(first, is_repeat=True)

    def test_a_started_job_that_was_taken_away_meanwhile_is_stale(self, stage: Stage) -> None:
        kept, lost = stage.fetched().lease, stage.fetched().lease
        turn = stage.next_turn(starts=(kept, lost))
        assert stage.store.turn(turn).stale == frozenset()
        stage.bury(lost.job_id)

        assert stage.store.turn(turn).stale == {lost.job_id}

    def test_it_says_again_that_the_claim_was_full(self, stage: Stage) -> None:
        stage.add_many(3)
        stage.add(delay=MINUTE)
        turn = stage.next_turn(want=2)
        first = stage.store.turn(turn)

        assert first.is_full
        assert stage.store.turn(turn) == replace(first, is_repeat=True)

    def test_it_says_again_that_no_queue_was_open(self, stage: Stage) -> None:
        stage.set_queue("default", is_paused=True)
        turn = stage.next_turn(want=2)
        first = stage.store.turn(turn)

        assert not first.has_open_queue
        assert stage.store.turn(turn) == replace(first, is_repeat=True)

    def test_it_moves_nothing_and_counts_nothing_again(self, stage: Stage) -> None:
        good, bad, again = (stage.running().lease for _ in range(3))
        settlements = (
            complete(good, 5.0),
            dead_letter(bad, FailureReason.TIMEOUT, BOOM, 7.0),
            retry(again, timedelta(0), BOOM),
        )
        turn = stage.next_turn(settlements=settlements, want=1)
        stage.store.turn(turn)
        stage.clock.advance(10 * MINUTE)
        stage.add_many(3)

        for _ in range(3):
            stage.store.turn(turn)

        assert stage.store.counts() == PillarCounts(hot=4, archive=1, dlq=1)
        assert stage.store.totals() == {"default": Totals(succeeded=1, failed=1, retried=1)}
        assert sum(bucket.completed for bucket in stage.buckets()) == 2
        retried = stage.hot(again.job_id)
        assert (retried.lease_number, retried.attempt, len(retried.attempt_errors)) == (2, 2, 1)
        assert stage.archived_row(good.job_id).finished_at == NOON

    def test_the_jobs_claimed_come_again_with_the_same_leases_in_the_same_order(self, stage: Stage) -> None:
        low, high = (stage.add(priority=p).id for p in (1, 2))
        turn = stage.next_turn(want=1, prefetch=5)
        first = stage.store.turn(turn)

        again = stage.store.turn(turn)

        assert [job.lease for job in again.claimed] == [Lease(high, WORKER, 1), Lease(low, WORKER, 1)]
        assert again.claimed == first.claimed

    def test_jobs_that_have_moved_on_since_are_left_out(self, stage: Stage) -> None:
        ids = stage.add_many(6)
        turn = stage.next_turn(want=2, prefetch=4)
        claimed = {job.lease.job_id: job for job in stage.store.turn(turn).claimed}
        stays, buried, cancelled, paused, recovered, _ = ids
        stage.bury(buried)
        stage.store.cancel([cancelled], "ann")
        stage.clock.advance(MINUTE)
        stage.set_queue("default", is_paused=True)
        stage.set_queue("default", is_paused=False)
        theirs = stage.claim(2, OTHER_WORKER)
        assert theirs == [paused, recovered]

        again = stage.store.turn(turn)

        assert _leases(again) == [claimed[stays].lease]

    def test_a_job_that_this_worker_has_claimed_anew_is_not_taken_for_the_first_claim(self, stage: Stage) -> None:
        job = stage.add()
        turn = stage.next_turn(prefetch=1)
        stage.store.turn(turn)
        stage.clock.advance(MINUTE)
        stage.store.recover(SECOND, 10)

        again = stage.store.turn(turn)
        anew = stage.turn(prefetch=1)

        assert again.claimed == ()
        assert _leases(anew) == [Lease(job.id, WORKER, 2)]

    def test_a_job_marked_for_cancellation_since_comes_with_its_mark(self, stage: Stage) -> None:
        job = stage.add()
        turn = stage.next_turn(want=1)
        stage.store.turn(turn)
        stage.store.cancel([job.id], "ann")

        (again,) = stage.store.turn(turn).claimed

        assert again.lease == Lease(job.id, WORKER, 1)
        assert again.is_cancel_requested

    def test_the_next_turn_is_no_repeat(self, stage: Stage) -> None:
        first, second = stage.add_many(2)
        turn = stage.next_turn(want=1)
        stage.store.turn(turn)
        stage.store.turn(turn)

        answer = stage.turn(want=1)

        assert (stage.claim(), _leases(answer)) == ([], [Lease(second, WORKER, 1)])
        assert not answer.is_repeat
        assert stage.hot(first).lease_number == 1

    def test_a_repeat_of_an_empty_turn_answers_nothing_again(self, stage: Stage) -> None:
        turn = stage.next_turn(after_queue="mail")
        first = stage.store.turn(turn)
        stage.add()

        assert stage.store.turn(turn) == replace(first, is_repeat=True)

    def test_heartbeats_and_edits_in_between_do_not_change_the_answer(self, stage: Stage) -> None:
        stage.add()
        waiting = stage.add()
        turn = stage.next_turn(want=1)
        first = stage.store.turn(turn)
        stage.clock.advance(SECOND)
        stage.store.beat(Beat(WORKER))
        stage.store.edit([waiting.id], Edit(priority=99), "ann")

        again = stage.store.turn(turn)

        assert _leases(again) == _leases(first)
        assert stage.hot(waiting.id).status is Status.PENDING


def _leases(answer: TurnAnswer) -> list[Lease]:
    return [job.lease for job in answer.claimed]
