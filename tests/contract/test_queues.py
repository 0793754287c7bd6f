"""
Queues: their controls, and what waits and runs in them.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.job import Place
from chokaq_core.domain.moves import complete, retry
from chokaq_core.ports import QueueChange, QueueRow
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, Stage, place_of

QUEUES_OF_A_SHARE_OF_100 = [f"queue-{number:02}" for number in range(60)]
OPEN_DEFAULT = QueueRow("default", is_paused=False, is_active=True, max_workers=None, zombie_timeout=None)


class TestControls:
    def test_the_default_queue_is_there_from_the_start_and_open(self, stage: Stage) -> None:
        assert list(stage.store.queues()) == [OPEN_DEFAULT]

    def test_queues_stand_in_the_order_of_their_names(self, stage: Stage) -> None:
        for name in ("red", "b.lue", "b_lue", "b-lue", "9"):
            stage.add(queue=name)

        assert [row.name for row in stage.store.queues()] == ["9", "b-lue", "b.lue", "b_lue", "default", "red"]

    def test_a_change_is_answered_and_kept(self, stage: Stage) -> None:
        change = QueueChange(is_paused=True, is_active=False, max_workers=3, zombie_timeout=5 * MINUTE)

        answer = stage.store.change_queue("mail", change)

        assert answer == QueueRow("mail", True, False, 3, 5 * MINUTE)
        assert stage.queue("mail") == answer

    def test_what_a_change_does_not_name_stays(self, stage: Stage) -> None:
        stage.set_queue("mail", is_paused=True, is_active=False, max_workers=3, zombie_timeout=5 * MINUTE)

        assert stage.set_queue("mail") == QueueRow("mail", True, False, 3, 5 * MINUTE)
        assert stage.set_queue("mail", max_workers=4) == QueueRow("mail", True, False, 4, 5 * MINUTE)
        assert stage.set_queue("mail", is_paused=False) == QueueRow("mail", False, False, 4, 5 * MINUTE)

    def test_limits_are_cleared_by_name(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=3, zombie_timeout=5 * MINUTE)

        assert stage.set_queue("mail", clear=frozenset({"max_workers"})).max_workers is None
        assert stage.queue("mail").zombie_timeout == 5 * MINUTE

        assert stage.set_queue("mail", clear=frozenset({"zombie_timeout"})).zombie_timeout is None

    def test_a_change_of_one_queue_leaves_the_others_alone(self, stage: Stage) -> None:
        stage.set_queue("mail", is_paused=True)

        assert stage.queue("default") == OPEN_DEFAULT


@pytest.mark.case("C-060")
class TestClosing:
    @pytest.mark.parametrize("control", [{"is_paused": True}, {"is_active": False}])
    def test_fetched_jobs_go_back_and_running_ones_go_on(self, stage: Stage, control: dict[str, bool]) -> None:
        running = stage.running(queue="mail").lease
        ahead = [stage.fetched(worker, queue="mail").lease for worker in ("worker-1", "worker-2")]

        answer = stage.set_queue("mail", **control)

        assert (answer.pending, answer.running) == (2, 1)
        assert [place_of(stage.store, lease.job_id) for lease in ahead] == [Place.PENDING, Place.PENDING]
        assert stage.turn(starts=(ahead[0],)).stale == {ahead[0].job_id}
        assert stage.turn(settlements=(complete(running, 1.0),)).stale == frozenset()

    def test_more_fetched_jobs_than_one_statement_moves_all_go_back(self, stage: Stage) -> None:
        for worker in ("worker-1", "worker-2", "worker-3"):
            stage.add_many(700, queue="mail")
            stage.turn(worker, prefetch=700)

        answer = stage.set_queue("mail", is_paused=True)

        assert (answer.pending, answer.running) == (2100, 0)

    def test_fetched_jobs_of_other_queues_stay(self, stage: Stage) -> None:
        lease = stage.fetched(queue="other").lease

        stage.set_queue("mail", is_paused=True)

        assert place_of(stage.store, lease.job_id) is Place.FETCHED

    def test_jobs_given_back_keep_their_attempts_and_their_place(self, stage: Stage) -> None:
        first = stage.fetched(queue="mail").lease
        stage.clock.advance(SECOND)
        second = stage.add(queue="mail")
        stage.set_queue("mail", is_paused=True)
        stage.set_queue("mail", is_paused=False)

        claimed = stage.turn(OTHER_WORKER, want=2).claimed

        assert [(job.lease.job_id, job.attempt) for job in claimed] == [(first.job_id, 1), (second.id, 1)]

    def test_a_running_job_may_still_be_retried_into_a_paused_queue(self, stage: Stage) -> None:
        lease = stage.running(queue="mail").lease
        stage.set_queue("mail", is_paused=True)

        stage.settle(retry(lease, 0 * SECOND, BOOM))

        assert stage.claim() == []
        assert place_of(stage.store, lease.job_id) is Place.PENDING


class TestWhatWaitsAndRuns:
    def test_due_jobs_are_pending_and_held_ones_running(self, stage: Stage) -> None:
        stage.running(queue="mail")
        stage.fetched(queue="mail")
        stage.add_many(3, queue="mail")
        stage.add(queue="other")
        stage.archived(queue="done")
        stage.dead(queue="done")

        found = {row.name: (row.pending, row.running) for row in stage.store.queues()}

        assert found == {"default": (0, 0), "done": (0, 0), "mail": (3, 2), "other": (1, 0)}

    def test_deep_queues_are_counted_up_to_an_even_share_of_one_look(self, stage: Stage) -> None:
        for name in QUEUES_OF_A_SHARE_OF_100:
            stage.set_queue(name)
        stage.add_many(100, queue="queue-01")
        stage.add_many(101, queue="queue-02")

        rows = [stage.queue(name) for name in ("queue-01", "queue-02", "queue-03")]

        assert [(row.pending, row.is_pending_complete) for row in rows] == [(100, True), (100, False), (0, True)]

    def test_of_jobs_that_just_came_due_a_thousand_are_counted(self, stage: Stage) -> None:
        stage.add_many(1000, queue="mail", delay=MINUTE)
        stage.clock.advance(2 * MINUTE)
        assert (stage.queue("mail").pending, stage.queue("mail").is_pending_complete) == (1000, True)

        stage.add_many(2, queue="mail", delay=SECOND)
        stage.clock.advance(MINUTE)
        assert (stage.queue("mail").pending, stage.queue("mail").is_pending_complete) == (1001, False)

    def test_lag_is_the_wait_of_the_job_that_has_been_due_longest(self, stage: Stage) -> None:
        stage.add(queue="mail")
        stage.clock.advance(MINUTE)
        stage.add(queue="mail", priority=99)
        stage.clock.advance(SECOND)

        assert stage.queue("mail").lag == timedelta(seconds=61)
        assert stage.queue("default").lag == timedelta(0)

    def test_a_delayed_job_waits_from_its_due_time_on_though_nobody_has_claimed_since(self, stage: Stage) -> None:
        stage.add(queue="mail", delay=MINUTE)
        assert (stage.queue("mail").pending, stage.queue("mail").lag) == (0, timedelta(0))

        stage.clock.advance(3 * MINUTE)
        assert (stage.queue("mail").pending, stage.queue("mail").lag) == (1, 2 * MINUTE)

    def test_the_older_of_a_ready_and_a_just_due_job_makes_the_lag(self, stage: Stage) -> None:
        stage.add(queue="just-due-first", delay=MINUTE)
        stage.add(queue="ready-first", delay=3 * MINUTE)
        stage.clock.advance(2 * MINUTE)
        stage.add(queue="just-due-first")
        stage.add(queue="ready-first")
        stage.clock.advance(3 * MINUTE)

        rows = [stage.queue(name) for name in ("just-due-first", "ready-first")]

        assert [(row.pending, row.lag) for row in rows] == [(2, 4 * MINUTE), (2, 3 * MINUTE)]

    @pytest.mark.parametrize("control", [{"is_paused": True}, {"is_active": False}])
    def test_a_closed_queue_has_no_lag(self, stage: Stage, control: dict[str, bool]) -> None:
        stage.add(queue="mail")
        stage.set_queue("mail", **control)
        stage.clock.advance(MINUTE)

        assert stage.queue("mail").lag == timedelta(0)
        assert stage.queue("mail").pending == 1

    def test_held_jobs_have_no_lag(self, stage: Stage) -> None:
        stage.running()
        stage.fetched()
        stage.clock.advance(MINUTE)

        assert stage.queue("default").lag == timedelta(0)
