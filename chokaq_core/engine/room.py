"""
How much more work this process may take on: what there is room, budget and time for.

Plain questions about the book and the visits, on a clock that is passed in; the ledger guards them with its lock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.engine.book import NEVER

if TYPE_CHECKING:
    from chokaq_core.engine.book import Book
    from chokaq_core.engine.visits import Visits
    from chokaq_core.policy.running import WorkerRules

CLAIM_SECONDS = 1.0
"""How long a claim may take before the time of a claimed job begins; counted only for jobs claimed past the budget."""


class Room:
    """
    What may be claimed and started now.

    Args:
        shortest_timeout: no job here has a shorter one.
    """

    def __init__(self, rules: WorkerRules, shortest_timeout: timedelta, book: Book, visits: Visits) -> None:
        self._prefetch = rules.prefetch
        self._shortest_timeout = shortest_timeout
        self._book = book
        self._visits = visits
        self._claims_end_by = NEVER

    def renew(self) -> None:
        """
        Forgets by when jobs had to end that were claimed past the budget: a fresh visit brings its own.
        """
        self._claims_end_by = NEVER

    def wants_starts(self, now: float) -> bool:
        """
        Whether fetched jobs may start, and others be fetched.
        """
        return self._wants_claims(now) and not self._book.is_clogged()

    def has_startable(self, now: float) -> bool:
        """
        Whether a fetched job can start, or is to be given back.
        """
        return bool(self._book.fetched) and (self._book.free_slots() > 0 or not self.wants_starts(now))

    def to_claim(self, now: float) -> tuple[int, int]:
        """
        How many jobs to claim for slots and for the wait behind them; none waits past the budget.
        """
        slots = max(0, self._book.free_slots())
        if self.wants_starts(now):
            return slots, max(0, self._prefetch - len(self._book.fetched))
        return (slots, 0) if self._wants_short_jobs(now) else (0, 0)

    def longest_timeout(self, now: float) -> timedelta | None:
        """
        The longest timeout that a job claimed now may have; None for any.
        """
        return self._time_left(now) if self._wants_short_jobs(now) else None

    def seconds_to_look(self, now: float) -> float | None:
        """
        Seconds until the next look for work, 0 when it is due; None while there is no room for any.
        """
        return self._visits.seconds_to_look(now) if sum(self.to_claim(now)) > 0 else None

    def promise(self, now: float) -> timedelta:
        """
        How soon this worker will look again for certain; zero promises nothing.
        """
        if not self._wants_claims(now) or self._book.free_slots() <= 0:
            return timedelta(0)
        is_idle = not self._book.live and not self._book.fetched
        return self._visits.promise(now, is_idle=is_idle)

    def _wants_claims(self, now: float) -> bool:
        return not self._book.is_stopping and self._visits.have_budget(now)

    def _wants_short_jobs(self, now: float) -> bool:
        """
        Whether every budget is spent, and jobs may end before the longest of those that still run.
        """
        if self._book.is_stopping or len(self._visits) == 0 or self._visits.have_budget(now):
            return False
        return self._time_left(now) >= self._shortest_timeout

    def _time_left(self, now: float) -> timedelta:
        """
        The time that a job claimed past the budget may take.

        What it is measured by never moves back, so that a slow claim makes no visit longer.
        """
        longest = max((run.deadline for run in self._book.live.values()), default=now)
        self._claims_end_by = min(self._claims_end_by, longest)
        return timedelta(seconds=max(0.0, self._claims_end_by - now - CLAIM_SECONDS))
