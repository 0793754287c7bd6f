"""
The one place that the threads of a process share.

Handlers report here, the store thread takes its work from here, the heartbeat asks what is alive, visits wait for it to
run dry. One lock guards the book and the visits, and nobody calls out while holding it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chokaq_core.engine.book import Book, Work
from chokaq_core.engine.holdings import Holdings
from chokaq_core.engine.room import Room
from chokaq_core.engine.visits import Look, Visit, Visits

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from chokaq_core.domain.failures import Outcome
    from chokaq_core.engine.run import Run
    from chokaq_core.policy.running import WorkerRules

GATHER_SECONDS = 0.001
"""How long an outcome waits for others that are about to end, so that one turn settles them all."""


class Ledger(Holdings):
    """
    What a process holds, with the visits that want it done and the waiting around both.

    Args:
        shortest_timeout: no job here has a shorter one.
    """

    def __init__(
        self,
        rules: WorkerRules,
        shortest_timeout: timedelta,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(Book(rules.max_concurrency), monotonic)
        self._visits = Visits(rules)
        self._room = Room(rules, shortest_timeout, self._book, self._visits)
        self._is_in_trouble = False
        self._is_gathering = False
        self._waiters = 0

    # Visits

    def arrive(self) -> Visit:
        """
        Opens a visit: work is wanted from now on.
        """
        with self._lock:
            visit = self._visits.arrive(self._monotonic())
            self._room.renew()
            self._is_in_trouble = False
            self._has_work.notify()
        return visit

    def wait_until_done(self, visit: Visit) -> None:
        """
        Blocks until the visit may end.

        The last one out waits for every live job, and until every outcome is settled and told.
        """
        with self._has_moved:
            while not self._is_done(visit):
                is_notified = self._has_moved.wait(self._patience(visit))
                if not is_notified:
                    self._has_work.notify()

    def leave(self, visit: Visit) -> bool:
        """
        Closes a visit; True for the last one out.
        """
        with self._lock:
            self._visits.leave(visit)
            self._has_moved.notify_all()
            return len(self._visits) == 0

    def has_visits(self) -> bool:
        """
        Whether anybody wants work done.
        """
        with self._lock:
            return len(self._visits) > 0

    def is_answer_due(self) -> bool:
        """
        Whether a turn is under way, or was sent and never answered.
        """
        with self._lock:
            return self._book.is_turning

    def look_now(self) -> None:
        """
        Makes the store thread look for work at once, if anybody wants it done.
        """
        with self._lock:
            self._visits.look_now()
            self._has_work.notify()

    def set_capacity(self, capacity: int) -> int:
        """
        Sets how many jobs run at once, from the next start on; answers what it was. Jobs that run beyond it go on.
        """
        with self._lock:
            before, self._book.capacity = self._book.capacity, capacity
            self._visits.look_now()
            self._has_work.notify()
            self._has_moved.notify_all()
        return before

    # The store thread

    def next_work(self) -> Work | None:
        """
        Waits for something to do; None once the engine stops and everything is settled.
        """
        with self._lock:
            while True:
                if self._book.ended or self._book.settlements:
                    self._gather()
                    return self._take_work(self._monotonic())
                now = self._monotonic()
                to_look = self._room.seconds_to_look(now)
                if to_look == 0 or self._room.has_startable(now):
                    return self._take_work(now)
                if self._book.is_stopping and not self._book.live:
                    return None
                self._has_work.wait(to_look)

    def wait_in_trouble(self, seconds: float) -> bool:
        """
        Marks the store as away and waits before the next try, longer while nobody needs it; False to give up for good.
        """
        deadline = self._monotonic() + seconds
        with self._lock:
            self._is_in_trouble = True
            self._has_moved.notify_all()
            while self._is_in_trouble and self._is_needed() and (left := deadline - self._monotonic()) > 0:
                self._has_work.wait(left)
            while not (self._is_needed() or self._book.is_stopping):
                self._has_work.wait()
            return self._is_needed()

    def turn_taken(self, work: Work, look: Look) -> None:
        """
        Notes that a turn is stored and what its look found. Claimed jobs are in the book already.

        Nobody leaves yet: what happened is told first, or the process could be gone before.
        """
        now = self._monotonic()
        with self._lock:
            self._has_runs.notify_all()
            self._is_in_trouble = False
            self._book.answer_turn()
            is_idle = not self._book.is_busy() and not self._book.fetched
            if work.is_look:
                self._visits.looked(look, now, is_idle=is_idle)
            elif not is_idle:
                self._visits.worked()

    def turn_over(self) -> None:
        """
        Ends a turn of which everything is told, or that met a fault of ours, so that nobody waits for it any more.
        """
        with self._lock:
            self._book.end_turn()
            # A lone visitor stays as long as anything runs: waking it after each turn took a tenth of a drain's time.
            if self._waiters > 0 or not self._book.is_busy() or len(self._visits) != 1:
                self._has_moved.notify_all()

    # Runs

    def run_ended(self, run: Run, outcome: Outcome) -> None:
        """
        A handler ended: its slot is free, and its outcome counts unless the run had concluded before.
        """
        with self._lock:
            if not self._book.run_ended(run, outcome):
                self._has_moved.notify_all()
            if not self._is_gathering or not self._book.live:
                self._has_work.notify()

    def is_exhausted(self) -> bool:
        """
        Whether every slot is taken by a handler that nobody waits for, and none of them ends soon.
        """
        with self._lock:
            return self._book.is_clogged() and self._book.seconds_to_stuck(self._monotonic()) <= 0

    # The ends

    def stop(self) -> None:
        """
        No more claims, for good.
        """
        with self._lock:
            self._book.is_stopping = True
            self._has_work.notify()
            self._has_moved.notify_all()
            self._has_runs.notify_all()

    def wait_until_settled(self, seconds: float) -> bool:
        """
        Waits until nothing is live, fetched or unsettled; False if that took too long.
        """
        return self._wait_until(self._is_settled, seconds)

    def wait_until_released(self, seconds: float) -> bool:
        """
        Waits until every fetched job is given back; False if that took too long.
        """
        return self._wait_until(lambda: not self._is_releasing(), seconds)

    def _wait_until(self, has_come: Callable[[], bool], seconds: float) -> bool:
        with self._has_moved:
            self._waiters += 1
            try:
                return self._has_moved.wait_for(has_come, seconds)
            finally:
                self._waiters -= 1

    # Inside, under the lock

    def _is_done(self, visit: Visit) -> bool:
        now = self._monotonic()
        if self._book.is_stopping:
            return True
        if self._book.is_busy():
            return len(self._visits) > 1 and not self._visits.has_budget(visit, now)
        if self._is_in_trouble:
            return True
        if self._book.is_turning or self._book.fetched:
            return False
        if self._book.is_clogged():
            return self._book.seconds_to_stuck(now) <= 0
        return not self._visits.has_budget(visit, now) or self._visits.is_over(visit, now)

    def _patience(self, visit: Visit) -> float | None:
        """
        How long to wait before time alone may end the visit.
        """
        now = self._monotonic()
        patience = self._visits.patience(visit, now)
        if not self._book.is_clogged():
            return patience
        seconds = max(0.0, self._book.seconds_to_stuck(now))
        return seconds if patience is None else min(seconds, patience)

    def _is_settled(self) -> bool:
        is_answered = not self._book.is_turning or self._is_in_trouble
        return is_answered and not self._book.is_busy() and not self._book.fetched

    def _is_releasing(self) -> bool:
        """
        Whether fetched jobs are here, are on their way back, or may come with the answer to a turn.
        """
        may_claim = self._book.is_turning and not self._is_in_trouble and not self._book.live
        return bool(self._book.fetched or self._book.in_turn.unfetched) or may_claim

    def _is_needed(self) -> bool:
        return self._book.is_busy() or (len(self._visits) > 0 and not self._book.is_stopping)

    def _gather(self) -> None:
        """
        Waits a moment for running jobs that are about to end; never when nothing else runs.
        """
        deadline = self._monotonic() + GATHER_SECONDS
        self._is_gathering = True
        while self._book.live and (left := deadline - self._monotonic()) > 0:
            self._has_work.wait(left)
        self._is_gathering = False

    def _take_work(self, now: float) -> Work:
        book, wants_starts = self._book, self._room.wants_starts(now)
        starts = book.take_starts(book.free_slots()) if wants_starts else ()
        unfetched = () if wants_starts else book.take_fetched()
        want, prefetch = self._room.to_claim(now)
        work = Work(
            ended=book.take_ended(),
            settlements=book.take_settlements(),
            starts=starts,
            unfetched=unfetched,
            want=max(0, want - len(starts)),
            prefetch=prefetch,
            longest_timeout=self._room.longest_timeout(now),
            looks_again_within=self._room.promise(now),
        )
        if work.is_look:
            self._visits.look_begins(now)
        book.in_turn = work
        book.turns_begun += 1
        return work
