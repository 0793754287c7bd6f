"""
What there is room for, asked of a book and visits without a lock or a thread.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.failures import TimedOut
from chokaq_core.domain.job import Status
from chokaq_core.engine.book import Book
from chokaq_core.engine.room import Room
from chokaq_core.engine.run import Run
from chokaq_core.engine.visits import Visits
from chokaq_core.policy.running import WorkerRules
from tests.support.held_jobs import claimed_job, run_of

SECOND = timedelta(seconds=1)
NO_TIME = timedelta(0)
ARRIVAL, PAST_THE_BUDGET = 1000.0, 1061.0


class Desk:
    """
    A room of four slots and two places to wait in, with a book and visits that a test fills.
    """

    def __init__(self) -> None:
        rules = WorkerRules(
            max_concurrency=4, prefetch=2, drain_budget=60 * SECOND, polling_interval=SECOND, idle_linger=2 * SECOND
        )
        self.book = Book(rules.max_concurrency)
        self.visits = Visits(rules)
        self.room = Room(rules, 5 * SECOND, self.book, self.visits)

    def run(self, *deadlines: float) -> list[Run]:
        """
        Runs that have to end by these times.
        """
        runs = [run_of(f"job-{number}") for number in range(len(deadlines))]
        for run, deadline in zip(runs, deadlines, strict=True):
            run.deadline = deadline
        self.book.hold(runs, [])
        return runs

    def abandon(self, *told_at: float) -> None:
        """
        Handlers that were told to stop at these times and go on.
        """
        for run, at in zip(self.run(*told_at), told_at, strict=True):
            self.book.abandon(run, TimedOut(SECOND))
            run.abandoned_at = at


def _desk() -> Desk:
    desk = Desk()
    desk.visits.arrive(ARRIVAL)
    return desk


def test_nothing_is_claimed_where_nobody_visits() -> None:
    desk = Desk()
    assert desk.room.to_claim(ARRIVAL) == (0, 0)
    assert desk.room.seconds_to_look(ARRIVAL) is None


def test_free_slots_and_places_to_wait_in_are_filled() -> None:
    desk = _desk()
    desk.run(2000.0)
    desk.book.hold([], [claimed_job("waits", status=Status.FETCHED)])
    assert desk.room.to_claim(ARRIVAL) == (3, 1)


def test_a_handler_that_nobody_waits_for_keeps_its_slot() -> None:
    desk = _desk()
    desk.abandon(ARRIVAL, ARRIVAL)
    assert desk.room.to_claim(ARRIVAL) == (2, 2)


def test_where_such_handlers_hold_every_slot_nothing_is_claimed_and_what_waits_goes_back() -> None:
    desk = _desk()
    desk.abandon(ARRIVAL, ARRIVAL, ARRIVAL, ARRIVAL)
    desk.book.hold([], [claimed_job("waits", status=Status.FETCHED)])
    assert desk.room.to_claim(ARRIVAL) == (0, 0)
    assert not desk.room.wants_starts(ARRIVAL)
    assert desk.room.has_startable(ARRIVAL)


def test_they_count_as_stuck_two_seconds_after_the_last_was_told() -> None:
    desk = _desk()
    desk.abandon(1000.0, 1001.5, 1000.5)
    assert desk.book.seconds_to_stuck(1002.0) == pytest.approx(1.5)


def test_with_less_capacity_than_runs_nothing_is_claimed_for_slots() -> None:
    desk = _desk()
    desk.run(2000.0, 2000.0, 2000.0)
    desk.book.capacity = 2
    assert desk.room.to_claim(ARRIVAL) == (0, 2)
    assert desk.room.promise(ARRIVAL) == NO_TIME


def test_an_engine_that_stops_claims_nothing_and_gives_back_what_waits() -> None:
    desk = _desk()
    desk.run(2000.0)
    desk.book.hold([], [claimed_job("waits", status=Status.FETCHED)])
    desk.book.is_stopping = True
    for now in (ARRIVAL, PAST_THE_BUDGET):
        assert desk.room.to_claim(now) == (0, 0)
        assert desk.room.has_startable(now)
        assert desk.room.promise(now) == NO_TIME


def test_a_fetched_job_waits_while_every_slot_is_taken() -> None:
    desk = _desk()
    desk.run(2000.0, 2000.0, 2000.0, 2000.0)
    desk.book.hold([], [claimed_job("waits", status=Status.FETCHED)])
    assert not desk.room.has_startable(ARRIVAL)


def test_a_worker_with_a_free_slot_promises_to_look_again_and_one_without_does_not() -> None:
    desk = _desk()
    desk.run(2000.0, 2000.0, 2000.0)
    assert desk.room.promise(ARRIVAL) == 1.25 * SECOND
    desk.book.hold([run_of("fourth")], [])
    assert desk.room.promise(ARRIVAL) == NO_TIME


def test_past_the_budget_a_job_may_take_the_time_of_the_longest_that_runs_less_a_second() -> None:
    desk = _desk()
    desk.run(1081.0, 1071.0)
    assert desk.room.longest_timeout(ARRIVAL) is None
    assert desk.room.longest_timeout(PAST_THE_BUDGET) == 19 * SECOND
    assert desk.room.to_claim(PAST_THE_BUDGET) == (2, 0)


def test_a_job_that_came_past_the_budget_gives_the_next_no_more_time() -> None:
    desk = _desk()
    desk.run(1081.0)
    assert desk.room.longest_timeout(PAST_THE_BUDGET) == 19 * SECOND
    late = run_of("late")
    late.deadline = 1100.0
    desk.book.hold([late], [])
    assert desk.room.longest_timeout(PAST_THE_BUDGET) == 19 * SECOND
    desk.room.renew()
    assert desk.room.longest_timeout(PAST_THE_BUDGET) == 38 * SECOND


def test_past_the_budget_nothing_is_claimed_once_the_shortest_job_would_end_too_late() -> None:
    desk = _desk()
    desk.run(1067.0)
    assert desk.room.to_claim(PAST_THE_BUDGET) == (3, 0)
    assert desk.room.to_claim(PAST_THE_BUDGET + 0.1) == (0, 0)
    assert desk.room.longest_timeout(PAST_THE_BUDGET + 0.1) is None
