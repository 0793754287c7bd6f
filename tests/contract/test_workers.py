"""
Worker rows, timers, and what the poll asks: how much waits, and who is there for it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.moves import complete
from chokaq_core.ports import Beat, Demand, TimerRow, WorkerFacts, WorkerState
from tests.contract.stages import MINUTE, OTHER_WORKER, SECOND, WORKER, Stage
from tests.support.clock import NOON

MICROSECOND = timedelta(microseconds=1)


class TestWorkerRows:
    def test_a_registered_worker_is_known_with_what_it_said(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))

        assert list(stage.store.workers()) == [
            WorkerFacts(
                WORKER,
                "host-1",
                capacity=16,
                state=WorkerState.RUNNING,
                active=0,
                abandoned=0,
                started_at=NOON,
                heartbeat_at=NOON,
            )
        ]

    def test_registering_again_keeps_its_start_and_renews_the_rest(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))
        stage.clock.advance(MINUTE)

        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=8, state=WorkerState.DRAINING))

        worker = stage.worker(WORKER)
        assert (worker.capacity, worker.state) == (8, WorkerState.DRAINING)
        assert (worker.started_at, worker.heartbeat_at) == (NOON, NOON + MINUTE)

    def test_a_turn_is_a_sign_of_life(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4))
        stage.clock.advance(MINUTE)

        stage.turn(want=1)

        assert [worker.heartbeat_at for worker in stage.store.workers()] == [NOON + MINUTE]

    def test_a_retired_worker_is_stopped_until_it_registers_again(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))
        stage.store.beat(Beat(WORKER, active=3, capacity=16))
        stage.clock.advance(MINUTE)

        stage.store.retire(WORKER)
        stopped = stage.worker(WORKER)
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=16))

        assert (stopped.state, stopped.active, stopped.heartbeat_at) == (WorkerState.STOPPED, 0, NOON + MINUTE)
        assert stage.worker(WORKER).state is WorkerState.RUNNING

    def test_workers_stand_in_the_order_of_their_start(self, stage: Stage) -> None:
        for worker in ("b", "c", "a"):
            stage.store.register(WorkerFacts(worker, "host-1", capacity=1))
            stage.clock.advance(SECOND)

        assert [worker.worker_id for worker in stage.store.workers()] == ["b", "c", "a"]

    def test_retiring_a_stranger_makes_no_row(self, stage: Stage) -> None:
        stage.store.retire("stranger")

        assert list(stage.store.workers()) == []


class TestPruning:
    def test_workers_silent_for_longer_are_deleted(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts("old", "host-1", capacity=1))
        stage.clock.advance(MICROSECOND)
        stage.store.register(WorkerFacts("young", "host-1", capacity=1))
        stage.clock.advance(MINUTE)

        assert stage.store.prune_workers(MINUTE) == 1
        assert [worker.worker_id for worker in stage.store.workers()] == ["young"]
        assert stage.store.prune_workers(MINUTE) == 0

    def test_a_heartbeat_keeps_a_worker(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=1))
        stage.clock.advance(MINUTE)
        stage.store.beat(Beat(WORKER, capacity=1))

        assert stage.store.prune_workers(SECOND) == 0

    def test_a_silent_worker_that_still_holds_a_job_stays_until_it_is_taken_from_it(self, stage: Stage) -> None:
        for worker in (WORKER, OTHER_WORKER):
            stage.store.register(WorkerFacts(worker, "host-1", capacity=1))
        running = stage.running(WORKER).lease
        stage.fetched(OTHER_WORKER)
        stage.clock.advance(MINUTE)

        assert stage.store.prune_workers(SECOND) == 0

        stage.bury(running.job_id)
        stage.store.recover(SECOND, 10)
        assert stage.store.prune_workers(SECOND) == 2

    def test_a_pruned_worker_may_come_back_and_take_its_next_turn(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=1))
        stage.archived()
        stage.clock.advance(MINUTE)
        stage.store.prune_workers(SECOND)

        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=1))
        lease = stage.running().lease

        assert not stage.settle(complete(lease, 1.0)).is_repeat


class TestTimers:
    def test_the_first_start_answers_that_nothing_is_known(self, stage: Stage) -> None:
        assert stage.store.timer_started("rescue") == TimerRow(NOON, None, None, None)

    def test_a_start_answers_what_was_known_before_it(self, stage: Stage) -> None:
        stage.store.timer_started("rescue")
        stage.clock.advance(SECOND)
        stage.store.timer_finished("rescue", "buried 2", has_succeeded=True)
        stage.clock.advance(MINUTE)

        assert stage.store.timer_started("rescue") == TimerRow(NOON + SECOND + MINUTE, NOON, NOON + SECOND, "buried 2")

    def test_a_failed_run_keeps_the_time_of_the_last_success(self, stage: Stage) -> None:
        stage.store.timer_started("rescue")
        stage.store.timer_finished("rescue", "fine", has_succeeded=True)
        stage.clock.advance(MINUTE)
        stage.store.timer_started("rescue")
        stage.store.timer_finished("rescue", "the database was away", has_succeeded=False)

        assert stage.store.timers() == {"rescue": TimerRow(NOON + MINUTE, NOON + MINUTE, NOON, "the database was away")}

    def test_timers_do_not_mix(self, stage: Stage) -> None:
        stage.store.timer_started("poll")
        stage.clock.advance(SECOND)
        stage.store.timer_started("rescue")
        stage.store.timer_finished("poll", "fine", has_succeeded=True)

        at = NOON + SECOND
        assert stage.store.timers() == {
            "poll": TimerRow(at, NOON, at, "fine"),
            "rescue": TimerRow(at, at, None, None),
        }

    def test_there_is_none_before_one_has_started(self, stage: Stage) -> None:
        assert stage.store.timers() == {}


class TestClaimable:
    def test_due_jobs_are_counted_ready_or_just_come_due(self, stage: Stage) -> None:
        stage.add_many(3)
        stage.add_many(2, delay=MINUTE)
        stage.add(delay=2 * MINUTE)
        assert _claimable(stage) == 3

        stage.clock.advance(MINUTE)
        assert _claimable(stage) == 5

    def test_held_and_ended_jobs_are_not(self, stage: Stage) -> None:
        stage.running()
        stage.fetched()
        stage.archived()
        stage.dead()

        assert _claimable(stage) == 0

    @pytest.mark.parametrize("bound,expected", [(0, 0), (1, 1), (3, 3), (4, 4), (5, 5), (6, 5), (1000, 5)])
    def test_no_more_are_counted_than_the_bound(self, stage: Stage, bound: int, expected: int) -> None:
        stage.add_many(2, delay=MINUTE)
        stage.clock.advance(MINUTE)
        stage.add_many(3)

        assert _claimable(stage, bound) == expected

    @pytest.mark.parametrize("control", [{"is_paused": True}, {"is_active": False}])
    def test_those_of_closed_queues_are_not(self, stage: Stage, control: dict[str, bool]) -> None:
        stage.add_many(3, queue="mail")
        stage.add_many(2, queue="mail", delay=MINUTE)
        stage.add(queue="other")
        stage.set_queue("mail", **control)
        stage.clock.advance(MINUTE)

        assert _claimable(stage) == 1

    def test_those_of_closed_queues_do_not_use_up_the_bound(self, stage: Stage) -> None:
        stage.add_many(5, queue="mail", delay=SECOND)
        stage.add(queue="other", delay=2 * SECOND)
        stage.set_queue("mail", is_paused=True)
        stage.clock.advance(MINUTE)

        assert _claimable(stage, bound=3) == 1

    def test_those_of_a_limited_queue_count_as_far_as_its_limit_leaves_room(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=3)
        stage.add_many(5, queue="mail")
        stage.add_many(2, queue="other")
        assert _claimable(stage) == 5

        assert [job.queue for job in stage.turn(want=1, prefetch=1).claimed] == ["mail", "other"]
        assert _claimable(stage) == 3

    def test_a_queue_at_its_limit_offers_nothing(self, stage: Stage) -> None:
        stage.set_queue("mail", max_workers=1)
        stage.running(queue="mail")
        stage.add_many(5, queue="mail")
        stage.add_many(5, queue="mail", delay=MINUTE)
        stage.clock.advance(MINUTE)

        assert _claimable(stage) == 0

    def test_of_an_empty_store_there_is_none(self, stage: Stage) -> None:
        assert stage.store.demand(1000) == Demand(NOON, claimable=0, looking_workers=0)


def _claimable(stage: Stage, bound: int = 1000) -> int:
    return stage.store.demand(bound).claimable


class TestLookingWorkers:
    def test_one_that_promised_to_look_again_counts_until_its_promise_is_over(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4))
        assert _looking(stage) == 0

        stage.turn(want=1, looks_again_within=SECOND)
        assert _looking(stage) == 1

        stage.clock.advance(SECOND)
        assert _looking(stage) == 0

    def test_a_claim_that_takes_every_free_slot_voids_the_promise(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4))
        stage.add_many(3)

        stage.turn(want=2, looks_again_within=SECOND)
        assert _looking(stage) == 0

        stage.turn(want=2, looks_again_within=SECOND)
        assert _looking(stage) == 1

    def test_a_turn_that_promises_nothing_takes_the_promise_back(self, stage: Stage) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4))
        stage.turn(want=1, looks_again_within=SECOND)

        stage.turn(want=1)

        assert _looking(stage) == 0

    @pytest.mark.parametrize("state", [WorkerState.DRAINING, WorkerState.STOPPED])
    def test_one_that_leaves_does_not_count(self, stage: Stage, state: WorkerState) -> None:
        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4))
        stage.turn(want=1, looks_again_within=SECOND)

        stage.store.register(WorkerFacts(WORKER, "host-1", capacity=4, state=state))

        assert _looking(stage) == 0


def _looking(stage: Stage) -> int:
    return stage.store.demand(1000).looking_workers
