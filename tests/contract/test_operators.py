"""
What people do to jobs: cancel, resurrect, edit, purge.
"""

from __future__ import annotations

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Place, Status
from chokaq_core.domain.moves import complete
from chokaq_core.ports import CancelOutcome, Edit, PillarCounts, ResurrectOutcome, Totals
from tests.contract.stages import MINUTE, WORKER, Stage, changed, place_of, snapshot
from tests.support.clock import NOON

DEAD_LETTERED, MARKED, CANCEL_STALE = CancelOutcome
RESURRECTED, KEY_HELD, RESURRECT_STALE = ResurrectOutcome


class TestCancel:
    @pytest.mark.parametrize("place", [Place.PENDING, Place.FETCHED])
    def test_a_job_that_waits_goes_to_the_dlq_at_once(self, stage: Stage, place: Place) -> None:
        staged = stage.put(place, queue="mail", idempotency_key="order-7")
        before = stage.hot(staged.id)
        stage.clock.advance(MINUTE)

        assert list(stage.store.cancel([staged.id], "ann")) == [DEAD_LETTERED]

        after = stage.dead_row(staged.id)
        assert changed(before, after) == {"last_updated_at": NOON + MINUTE, "last_modified_by": "ann"}
        assert (after.reason, after.status, after.failed_at) == (
            FailureReason.CANCELLED,
            Status.CANCELLED,
            NOON + MINUTE,
        )
        assert (after.error_type, after.error_details) == (None, "cancelled by ann")
        assert stage.store.totals() == {"mail": Totals(failed=1)}
        assert [(b.queue, b.outcome, b.reason, b.completed) for b in stage.buckets()] == [("mail", 1, 1, 1)]

    def test_a_delayed_job_is_cancelled_before_it_is_due(self, stage: Stage) -> None:
        job = stage.add(delay=MINUTE)

        assert list(stage.store.cancel([job.id], "ann")) == [DEAD_LETTERED]
        assert stage.turn(want=1).next_due_at is None

    def test_a_running_job_is_only_marked(self, stage: Stage) -> None:
        before = stage.hot(stage.running().lease.job_id)
        stage.clock.advance(MINUTE)

        assert list(stage.store.cancel([before.id], "ann")) == [MARKED]

        assert changed(before, stage.hot(before.id)) == {
            "cancel_requested_at": NOON + MINUTE,
            "cancel_requested_by": "ann",
        }
        assert stage.store.totals() == {}

    def test_the_first_mark_stays(self, stage: Stage) -> None:
        job_id = stage.running().lease.job_id
        stage.store.cancel([job_id], "ann")
        stage.clock.advance(MINUTE)

        assert list(stage.store.cancel([job_id], "bob")) == [MARKED]

        job = stage.hot(job_id)
        assert (job.cancel_requested_at, job.cancel_requested_by) == (NOON, "ann")

    def test_a_fetched_job_that_was_cancelled_cannot_be_started(self, stage: Stage) -> None:
        lease = stage.fetched().lease
        stage.store.cancel([lease.job_id], "ann")

        assert stage.turn(starts=(lease,)).stale == {lease.job_id}
        assert place_of(stage.store, lease.job_id) is Place.DLQ

    def test_each_job_is_answered_by_its_own_state_in_order(self, stage: Stage) -> None:
        running, archived = stage.running().lease.job_id, stage.archived().lease.job_id
        pending = stage.add().id

        outcomes = stage.store.cancel([archived, pending, "nobody", running, pending], "ann")

        assert list(outcomes) == [CANCEL_STALE, DEAD_LETTERED, CANCEL_STALE, MARKED, CANCEL_STALE]
        assert stage.store.counts() == PillarCounts(hot=1, archive=1, dlq=1)


class TestResurrect:
    def test_the_job_starts_afresh_and_keeps_its_history(self, stage: Stage) -> None:
        dead = stage.dead(queue="mail", priority=7, tags="news", idempotency_key="order-7", delay=MINUTE * 0)
        before = stage.dead_row(dead.lease.job_id)
        stage.clock.advance(MINUTE)

        assert list(stage.store.resurrect([before.id], "ann")) == [RESURRECTED]

        after = stage.hot(before.id)
        assert changed(before, after) == {
            "attempt": 0,
            "worker_id": None,
            "due_at": NOON + MINUTE,
            "started_at": None,
            "last_updated_at": NOON + MINUTE,
            "lifetime_start_at": NOON + MINUTE,
            "last_modified_by": "ann",
        }
        assert (after.status, after.is_ready, after.heartbeat_at) == (Status.PENDING, True, None)
        assert [error.message for error in after.attempt_errors] == ["boom"]
        assert stage.store.counts() == PillarCounts(hot=1, archive=0, dlq=0)

    def test_a_cancel_mark_does_not_come_back_with_it(self, stage: Stage) -> None:
        lease = stage.running().lease
        stage.store.cancel([lease.job_id], "ann")
        stage.bury(lease.job_id)
        stage.store.resurrect([lease.job_id], "bob")

        (again,) = stage.turn(want=1).claimed

        job = stage.hot(lease.job_id)
        assert (job.cancel_requested_at, job.cancel_requested_by) == (None, None)
        assert not again.is_cancel_requested
        assert (again.attempt, again.lease.number) == (1, 2)

    @pytest.mark.case("C-043")
    def test_it_is_refused_while_an_active_job_holds_the_same_key(self, stage: Stage) -> None:
        dead = stage.dead(idempotency_key="order-7")
        holder = stage.add(idempotency_key="order-7")
        assert list(stage.store.resurrect([dead.lease.job_id], "ann")) == [KEY_HELD]

        stage.store.cancel([holder.id], "ann")
        assert list(stage.store.resurrect([dead.lease.job_id], "ann")) == [RESURRECTED]

    @pytest.mark.case("C-043")
    def test_of_two_dead_jobs_with_one_key_the_first_comes_back(self, stage: Stage) -> None:
        ids = [stage.dead(idempotency_key="order-7").lease.job_id for _ in range(2)]

        assert list(stage.store.resurrect(ids, "ann")) == [RESURRECTED, KEY_HELD]

    def test_each_job_is_answered_by_its_own_state_in_order(self, stage: Stage) -> None:
        dead, archived = stage.dead().lease.job_id, stage.archived().lease.job_id
        pending = stage.add().id

        outcomes = stage.store.resurrect([pending, dead, archived, "nobody", dead], "ann")

        assert list(outcomes) == [RESURRECT_STALE, RESURRECTED, RESURRECT_STALE, RESURRECT_STALE, RESURRECT_STALE]

    def test_the_counters_of_its_first_life_stay(self, stage: Stage) -> None:
        dead = stage.dead()
        stage.store.resurrect([dead.lease.job_id], "ann")
        (again,) = stage.turn(want=1).claimed
        stage.settle(complete(again.lease, 1.0))

        assert stage.store.totals() == {"default": Totals(succeeded=1, failed=1)}


class TestEdit:
    @pytest.mark.parametrize("place", [Place.PENDING, Place.DLQ])
    def test_new_values_replace_the_old_ones(self, stage: Stage, place: Place) -> None:
        before = stage.store.find(stage.put(place, tags="old").id)
        assert before is not None
        stage.clock.advance(MINUTE)

        edit = Edit(payload='{"to": "eve"}', tags="new", priority=99)
        assert list(stage.store.edit([before.id], edit, "ann")) == [True]

        after = stage.store.find(before.id)
        assert after is not None
        assert changed(before, after) == {
            "payload": '{"to": "eve"}',
            "tags": "new",
            "priority": 99,
            "last_modified_by": "ann",
            "last_updated_at": NOON + MINUTE,
        }

    @pytest.mark.parametrize("place", [Place.PENDING, Place.DLQ])
    @pytest.mark.parametrize(
        "edit,expected",
        [
            (Edit(payload="[]"), {"payload": "[]"}),
            (Edit(tags=""), {"tags": ""}),
            (Edit(priority=0), {"priority": 0}),
            (Edit(), {}),
        ],
    )
    def test_what_is_not_given_stays(self, stage: Stage, place: Place, edit: Edit, expected: dict[str, object]) -> None:
        before = stage.store.find(stage.put(place, tags="old").id)
        assert before is not None

        assert list(stage.store.edit([before.id], edit, "ann")) == [True]

        after = stage.store.find(before.id)
        assert after is not None
        assert changed(before, after) == {"last_modified_by": "ann", **expected}

    def test_an_edited_dead_job_runs_with_its_new_payload(self, stage: Stage) -> None:
        dead = stage.dead()
        stage.store.edit([dead.lease.job_id], Edit(payload='{"to": "eve"}'), "ann")
        stage.store.resurrect([dead.lease.job_id], "ann")

        assert stage.turn(want=1).claimed[0].payload == '{"to": "eve"}'

    def test_a_delayed_job_keeps_its_due_time(self, stage: Stage) -> None:
        job = stage.add(delay=MINUTE)
        stage.store.edit([job.id], Edit(priority=99), "ann")

        assert stage.hot(job.id).due_at == NOON + MINUTE
        assert stage.claim() == []


class TestPurge:
    @pytest.mark.parametrize("place", [Place.ARCHIVE, Place.DLQ])
    def test_the_job_is_gone_for_good_and_its_counts_stay(self, stage: Stage, place: Place) -> None:
        staged = stage.put(place)
        totals, buckets = stage.store.totals(), stage.buckets()

        assert list(stage.store.purge([staged.id])) == [True]

        assert stage.store.find(staged.id) is None
        assert (stage.store.totals(), stage.buckets()) == (totals, buckets)

    def test_each_job_is_answered_by_its_own_state_in_order(self, stage: Stage) -> None:
        running, archived = stage.running().lease.job_id, stage.archived().lease.job_id
        dead = stage.dead().lease.job_id
        before = snapshot(stage, running)

        assert list(stage.store.purge([running, archived, "nobody", dead, archived])) == [
            False,
            True,
            False,
            True,
            False,
        ]
        assert snapshot(stage, running).job == before.job
        assert stage.store.counts() == PillarCounts(hot=1, archive=0, dlq=0)
        assert stage.hot(running).worker_id == WORKER


@pytest.mark.parametrize("command", ["cancel", "resurrect", "purge"])
def test_a_thousand_jobs_are_taken_in_one_call(stage: Stage, command: str) -> None:
    ids = stage.add_many(1000)
    if command != "cancel":
        assert set(stage.store.cancel(ids, "ann")) == {DEAD_LETTERED}

    assert len(_command(stage, command, ids)) == 1000

    assert (
        stage.store.counts()
        == {
            "cancel": PillarCounts(hot=0, archive=0, dlq=1000),
            "resurrect": PillarCounts(hot=1000, archive=0, dlq=0),
            "purge": PillarCounts(hot=0, archive=0, dlq=0),
        }[command]
    )


def _command(stage: Stage, command: str, ids: list[str]) -> list[object]:
    if command == "cancel":
        return list(stage.store.cancel(ids, "ann"))
    if command == "resurrect":
        return list(stage.store.resurrect(ids, "ann"))
    return list(stage.store.purge(ids))


@pytest.mark.parametrize("command", ["cancel", "resurrect", "purge"])
def test_a_command_for_no_job_is_answered_with_nothing(stage: Stage, command: str) -> None:
    assert _command(stage, command, []) == []
