"""
The book that a process's threads share, on a clock of the test's own.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from unittest import mock

import pytest

from chokaq_core.domain import moves
from chokaq_core.domain.failures import Interrupted, Succeeded, TimedOut
from chokaq_core.domain.job import Lease, Status
from chokaq_core.engine.ledger import Ledger
from chokaq_core.engine.run import Run, StopReason
from chokaq_core.engine.visits import Look
from chokaq_core.policy.running import WorkerRules
from tests.support.held_jobs import claimed_job, run_of
from tests.support.polling import wait_until

SECOND = timedelta(seconds=1)
FOUND_NOTHING = Look(is_full=False, claimed=0, seconds_to_due=None, has_open_queue=True)


class Seconds:
    """
    A monotonic clock that a test moves; each look at it takes a tenth of a millisecond.
    """

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.0001
        return self.now


def _ledger(seconds: Seconds, *, capacity: int = 4, prefetch: int = 0) -> Ledger:
    rules = WorkerRules(
        max_concurrency=capacity,
        prefetch=prefetch,
        polling_interval=SECOND,
        paused_queue_polling_delay=3 * SECOND,
        no_queues_sleep_interval=5 * SECOND,
        idle_linger=2 * SECOND,
        drain_budget=60 * SECOND,
    )
    return Ledger(rules, 5 * SECOND, monotonic=seconds)


def test_a_stray_that_turns_out_to_be_held_here_is_not_put_off() -> None:
    """
    The answer to a claim came late: the heartbeat took the job for a stray meanwhile, and now it runs.
    """
    ledger = _ledger(Seconds())
    ledger.arrive()
    ledger.add_settlements([moves.postpone(Lease("job-1", "worker-1", 1), SECOND)])

    ledger.hold([run_of("job-1")], [])
    work = ledger.next_work()

    assert work is not None
    assert work.settlements == ()
    assert [run.lease.job_id for run in ledger.live()] == ["job-1"]


def test_a_real_stray_is_put_off() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()
    stray = moves.postpone(Lease("job-1", "worker-1", 1), SECOND)
    ledger.add_settlements([stray])

    ledger.hold([run_of("job-1", number=2)], [])
    work = ledger.next_work()

    assert work is not None
    assert work.settlements == (stray,)


def test_a_cancel_that_came_before_its_run_stops_it() -> None:
    ledger = _ledger(Seconds())
    ledger.keep_cancel(("job-1", 1), "ada", 30 * SECOND)
    run, other, later = run_of("job-1"), run_of("job-2"), run_of("job-1", number=2)

    ledger.hold([run, other, later], [])

    assert run.stop_order is not None
    assert (run.stop_order.reason, run.stop_order.by) == (StopReason.CANCELLED, "ada")
    assert other.stop_order is None
    assert later.stop_order is None


def test_a_cancel_that_is_older_than_its_retention_means_nothing() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds)
    ledger.keep_cancel(("job-1", 1), "ada", 30 * SECOND)
    seconds.now += 30
    run = run_of("job-1")

    ledger.hold([run], [])

    assert run.stop_order is None


def test_an_abandoned_handler_keeps_its_slot_until_it_ends_and_its_late_outcome_counts_for_nothing() -> None:
    ledger = _ledger(Seconds(), capacity=2)
    ledger.arrive()
    late, running = run_of("job-1", timeout=timedelta(0)), run_of("job-2")
    late.deadline = running.deadline = 0.0
    ledger.hold([late], [])

    expired, _ = ledger.expire()
    work = ledger.next_work()

    assert expired == [late]
    assert work is not None
    assert work.ended == ((late, TimedOut(timedelta(0))),)
    assert work.want == 1
    assert ledger.abandoned() == [late]
    ledger.run_ended(late, Succeeded())
    assert ledger.abandoned() == []


def test_a_lost_run_is_told_and_never_settled() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()
    run = run_of("job-1")
    ledger.hold([run], [])

    assert ledger.lose(run)
    ledger.run_ended(run, Succeeded())
    work = ledger.next_work()

    assert run.stop_order is not None
    assert run.stop_order.reason is StopReason.LEASE_LOST
    assert work is not None
    assert work.ended == ()


def test_fetched_jobs_start_when_a_slot_is_free_and_are_given_back_when_no_more_is_wanted() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds, capacity=1, prefetch=2)
    ledger.arrive()
    first, second = (claimed_job(name, status=Status.FETCHED) for name in ("job-1", "job-2"))
    ledger.hold([], [first, second])

    starting = ledger.next_work()
    assert starting is not None
    ledger.hold([run_of("job-1")], [])
    ledger.turn_taken(starting, FOUND_NOTHING)
    seconds.now += 61
    ending = ledger.next_work()

    assert starting.starts == (first,)
    assert ending is not None
    assert (ending.starts, ending.unfetched) == ((), (second,))


def _past_the_budget(ledger: Ledger, seconds: Seconds, *deadlines: float) -> list[Run]:
    """
    Runs with these seconds left, on a ledger whose one visit has spent its budget of a minute.
    """
    first = ledger.next_work()
    assert first is not None
    runs = [run_of(f"job-{number}") for number in range(len(deadlines))]
    ledger.hold(runs, [])
    ledger.turn_taken(first, FOUND_NOTHING)
    seconds.now += 61
    for run, left in zip(runs, deadlines, strict=True):
        run.deadline = seconds.now + left
    return runs


def _is_look_due(ledger: Ledger, seconds: Seconds) -> bool:
    """
    Whether the store thread would look for work now; `next_work` would wait for ever where it would not.
    """
    return ledger._room.seconds_to_look(seconds.now) == 0  # noqa: SLF001


def test_past_the_budget_only_jobs_are_claimed_that_end_before_the_longest_one_that_runs() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds, capacity=4, prefetch=2)
    ledger.arrive()
    _past_the_budget(ledger, seconds, 100.0, 20.0)

    work = ledger.next_work()

    assert work is not None
    assert (work.want, work.prefetch) == (2, 0)
    assert work.looks_again_within == timedelta(0)
    assert work.longest_timeout is not None
    assert work.longest_timeout == pytest.approx(99 * SECOND, abs=0.1 * SECOND)


def test_within_the_budget_jobs_of_any_length_are_claimed() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()

    work = ledger.next_work()

    assert work is not None
    assert (work.want, work.longest_timeout) == (4, None)


def test_past_the_budget_nobody_looks_once_no_job_is_short_enough() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds)
    ledger.arrive()
    (run,) = _past_the_budget(ledger, seconds, 6.1)
    assert _is_look_due(ledger, seconds)

    seconds.now += 0.2

    assert not _is_look_due(ledger, seconds)
    ledger.run_ended(run, Succeeded())
    work = ledger.next_work()
    assert work is not None
    assert (work.want, work.longest_timeout) == (0, None)


def test_a_claim_that_took_long_moves_the_end_of_the_visit_no_further() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds)
    ledger.arrive()
    _past_the_budget(ledger, seconds, 20.0)
    work = ledger.next_work()
    assert work is not None
    late = run_of("job-late")
    seconds.now += 10
    late.deadline = seconds.now + 19
    ledger.hold([late], [])
    ledger.turn_taken(work, FOUND_NOTHING)
    seconds.now += 2

    again = ledger.next_work()

    assert again is not None
    assert again.longest_timeout == pytest.approx(7 * SECOND, abs=0.1 * SECOND)


def test_a_fresh_visit_may_claim_whatever_was_left_out_before() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds)
    ledger.arrive()
    _past_the_budget(ledger, seconds, 20.0)
    bounded = ledger.next_work()
    assert bounded is not None
    ledger.turn_taken(bounded, FOUND_NOTHING)

    ledger.arrive()
    work = ledger.next_work()

    assert bounded.longest_timeout is not None
    assert work is not None
    assert (work.want, work.longest_timeout) == (3, None)


def test_without_anything_that_runs_the_budget_is_the_end() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds)
    ledger.arrive()
    _past_the_budget(ledger, seconds)

    assert not _is_look_due(ledger, seconds)


def test_all_that_is_held_or_about_to_be_stored_is_accounted_for() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()
    ended = run_of("job-1")
    ledger.hold([ended, run_of("job-2")], [claimed_job("job-3", status=Status.FETCHED)])
    ledger.run_ended(ended, Interrupted())
    assert ledger.leases() == {("job-1", 1), ("job-2", 1), ("job-3", 1)}

    work = ledger.next_work()

    assert work is not None
    assert ledger.leases() == {("job-1", 1), ("job-2", 1), ("job-3", 1)}
    ledger.turn_taken(work, FOUND_NOTHING)
    assert ledger.leases() == {("job-2", 1)}


def test_the_last_visit_waits_for_a_turn_that_is_under_way() -> None:
    """
    A claim that is under way may bring jobs; a visit that left meanwhile would leave them to run with nobody there.
    """
    seconds = Seconds()
    ledger = _ledger(seconds)
    visit = ledger.arrive()
    first = ledger.next_work()
    assert first is not None
    ledger.turn_taken(first, FOUND_NOTHING)
    ledger.turn_over()
    visit.has_worked = True
    seconds.now += 2
    second = ledger.next_work()
    seconds.now += 5

    assert second is not None
    assert not ledger._is_done(visit)  # noqa: SLF001 - waiting for it in another thread would prove less
    ledger.turn_taken(second, FOUND_NOTHING)
    # What the turn did is not told yet: a host that flushes telemetry at the end of a visit would send it never.
    assert not ledger._is_done(visit)  # noqa: SLF001
    ledger.turn_over()
    assert ledger._is_done(visit)  # noqa: SLF001


def test_a_turn_wakes_a_lone_visitor_only_when_nothing_runs_any_more() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()
    run = run_of("job-1")
    wakes = [_wakes_of_a_turn(ledger, [run])]
    ledger.run_ended(run, Succeeded())
    wakes.append(_wakes_of_a_turn(ledger, []))

    assert wakes == [0, 1]


def test_a_turn_wakes_several_visitors_while_something_runs() -> None:
    ledger = _ledger(Seconds())
    ledger.arrive()
    ledger.arrive()

    assert _wakes_of_a_turn(ledger, [run_of("job-1")]) == 1


def _wakes_of_a_turn(ledger: Ledger, runs: list[Run]) -> int:
    """
    How often a turn that claims these runs wakes those who wait for things to move on.
    """
    work = ledger.next_work()
    assert work is not None
    ledger.hold(runs, [])
    with mock.patch.object(ledger._has_moved, "notify_all") as notify:  # noqa: SLF001 - nothing else tells
        ledger.turn_taken(work, FOUND_NOTHING)
        ledger.turn_over()
    return notify.call_count


def test_who_waits_for_fetched_jobs_to_be_given_back_hears_of_it_while_another_job_runs() -> None:
    seconds = Seconds()
    ledger = _ledger(seconds, prefetch=1)
    ledger.arrive()
    ledger.hold([run_of("job-1")], [claimed_job("job-2", status=Status.FETCHED)])
    seconds.now += 61
    with ThreadPoolExecutor(1) as pool:
        released = pool.submit(ledger.wait_until_released, 20.0)
        wait_until(lambda: ledger._waiters == 1)  # noqa: SLF001 - nothing else tells
        work = ledger.next_work()
        assert work is not None
        ledger.turn_taken(work, FOUND_NOTHING)
        ledger.turn_over()

        assert released.result(10)
