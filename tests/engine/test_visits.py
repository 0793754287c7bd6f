"""
The rhythm of looks, as a table on a clock of the test's own.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.engine.visits import Look, Visits
from chokaq_core.policy.running import WorkerRules

SECOND = timedelta(seconds=1)
RULES = WorkerRules(
    polling_interval=SECOND,
    no_queues_sleep_interval=5 * SECOND,
    paused_queue_polling_delay=3 * SECOND,
    idle_linger=2 * SECOND,
    drain_budget=60 * SECOND,
)


def _look(
    *,
    is_full: bool = False,
    claimed: int = 0,
    seconds_to_due: float | None = None,
    has_open_queue: bool = True,
    has_lost_fetched: bool = False,
) -> Look:
    return Look(is_full, claimed, seconds_to_due, has_open_queue, has_lost_fetched)


@pytest.mark.parametrize(
    "look,pause",
    [
        (_look(), 1.0),
        (_look(is_full=True, claimed=4), 0.0),
        (_look(seconds_to_due=0.25), 0.25),
        (_look(seconds_to_due=7.0), 1.0),
        (_look(seconds_to_due=-1.0), 0.0),
        (_look(has_open_queue=False), 5.0),
        (_look(has_lost_fetched=True), 3.0),
    ],
)
def test_the_pause_before_the_next_look_follows_from_what_the_last_one_found(look: Look, pause: float) -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)
    visits.look_begins(100.0)

    visits.looked(look, 100.0, is_idle=True)

    assert visits.seconds_to_look(100.0) == pause


def test_a_look_that_was_asked_for_during_another_one_is_due_at_once() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)
    visits.look_begins(100.0)
    visits.look_now()

    visits.looked(_look(), 100.1, is_idle=True)

    assert visits.seconds_to_look(100.1) == 0.0


def test_a_visit_that_finds_nothing_at_its_first_look_is_over() -> None:
    visits = Visits(RULES)
    visit = visits.arrive(100.0)
    assert not visits.is_over(visit, 100.0)

    visits.look_begins(100.0)
    visits.looked(_look(), 100.1, is_idle=True)

    assert visits.is_over(visit, 100.1)


def test_a_visit_that_has_worked_lingers_and_is_then_over() -> None:
    visits = Visits(RULES)
    visit = visits.arrive(100.0)
    visits.look_begins(100.0)
    visits.looked(_look(claimed=1), 100.0, is_idle=False)
    visits.look_begins(101.0)
    visits.looked(_look(), 101.0, is_idle=True)

    assert not visits.is_over(visit, 102.9)
    assert visits.is_over(visit, 103.0)


def test_a_look_from_before_a_visit_says_nothing_about_it() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)
    visits.look_begins(100.0)
    late = visits.arrive(100.05)
    visits.looked(_look(), 100.1, is_idle=True)

    assert not visits.is_over(late, 200.0)


def test_no_claims_are_wanted_once_every_budget_is_spent() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)
    assert visits.have_budget(159.9)
    assert not visits.have_budget(160.0)

    visits.arrive(160.0)
    assert visits.have_budget(160.0)


def test_a_fresh_visit_promises_nothing_since_it_may_end_at_once() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)

    assert visits.promise(100.0, is_idle=True) == timedelta(0)


def test_a_worker_with_something_running_promises_its_next_look() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)

    assert visits.promise(100.0, is_idle=False) == 1.25 * SECOND
    assert visits.promise(159.5, is_idle=False) == timedelta(0)


def test_a_lingering_worker_promises_only_looks_that_it_will_take() -> None:
    visits = Visits(RULES)
    visits.arrive(100.0)
    visits.looked(_look(claimed=1), 100.0, is_idle=False)
    visits.looked(_look(), 101.0, is_idle=True)

    assert visits.promise(101.5, is_idle=True) == 1.25 * SECOND
    assert visits.promise(102.3, is_idle=True) == timedelta(0)


def test_a_visit_stays_until_it_has_taken_the_look_that_it_promised() -> None:
    visits = Visits(RULES)
    visit = visits.arrive(100.0)
    visits.looked(_look(claimed=1), 100.0, is_idle=False)
    visits.look_begins(101.0)
    visits.looked(_look(), 101.0, is_idle=True)
    assert visits.promise(102.0, is_idle=True) == 1.25 * SECOND

    assert not visits.is_over(visit, 103.1)
    assert visits.promise(103.1, is_idle=True) == timedelta(0)
    assert visits.is_over(visit, 103.1)
