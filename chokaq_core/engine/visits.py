"""
Who wants work done, when to look for it next, and when an invocation may end.

Plain bookkeeping on a clock that is passed in; the ledger guards it with its lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from chokaq_core.policy.running import WorkerRules


SLACK_SECONDS = 0.25
"""How much later than planned a look may come; a promise that ended sooner would lapse before each look."""


@dataclass(slots=True, eq=False)
class Visit:
    """
    One invocation that wants work done, until its budget ends.
    """

    begun_at: float
    budget_ends_at: float
    has_worked: bool = False


class Look(Value):
    """
    What one look for work found.

    Attributes:
        seconds_to_due: until the earliest due time to come.
        has_open_queue: False when every queue is paused or inactive.
        has_lost_fetched: fetched jobs were gone when they were to start, as after a pause of their queue.
    """

    is_full: bool
    claimed: int
    seconds_to_due: float | None
    has_open_queue: bool
    has_lost_fetched: bool = False


class Visits:
    """
    The open visits and the rhythm of looks.
    """

    def __init__(self, rules: WorkerRules) -> None:
        self._rules = rules
        self._open: list[Visit] = []
        self._next_look_at = 0.0
        self._last_look_began_at = 0.0
        self._is_look_asked = False
        self._dry_since: float | None = None
        self._slack = min(SLACK_SECONDS, rules.polling_interval.total_seconds() / 2)
        self._owes_look = False

    def __len__(self) -> int:
        return len(self._open)

    def arrive(self, now: float) -> Visit:
        """
        Opens a visit and makes a look due.
        """
        visit = Visit(now, now + self._rules.drain_budget.total_seconds())
        self._open.append(visit)
        self.look_now()
        self._dry_since = None
        return visit

    def leave(self, visit: Visit) -> None:
        """
        Closes a visit.
        """
        self._open.remove(visit)

    def look_now(self) -> None:
        """
        Makes a look due at once, and after the one that may be under way: that one may have come too early.
        """
        self._next_look_at = 0.0
        self._is_look_asked = True

    def have_budget(self, now: float) -> bool:
        """
        Whether any visit still has budget.
        """
        return any(now < visit.budget_ends_at for visit in self._open)

    def seconds_to_look(self, now: float) -> float:
        """
        Seconds until the next look; 0 when it is due.
        """
        return max(0.0, self._next_look_at - now)

    def look_begins(self, now: float) -> None:
        """
        Notes that a look is under way.
        """
        self._last_look_began_at = now
        self._is_look_asked = False

    def looked(self, look: Look, now: float, *, is_idle: bool) -> None:
        """
        Notes what a look found: when to look again, and since when there has been nothing to do.
        """
        is_due = look.is_full or self._is_look_asked
        self._next_look_at = 0.0 if is_due else now + self._pause(look)
        if look.claimed:
            for visit in self._open:
                visit.has_worked = True
        if look.is_full or not is_idle:
            self._dry_since = None
        elif self._dry_since is None:
            self._dry_since = now

    def worked(self) -> None:
        """
        Notes that there was something to do.
        """
        self._dry_since = None

    def promise(self, now: float, *, is_idle: bool) -> timedelta:
        """
        How soon this worker will look again for certain, after a look that begins now and may find nothing.
        """
        next_at = now + self._rules.polling_interval.total_seconds()
        visits = [visit for visit in self._open if next_at + self._slack < visit.budget_ends_at]
        if is_idle:
            dry_since = now if self._dry_since is None else self._dry_since
            is_lingering = next_at - dry_since <= self._rules.idle_linger.total_seconds() + self._slack
            visits = [visit for visit in visits if visit.has_worked and is_lingering]
        self._owes_look = bool(visits)
        return self._rules.polling_interval + timedelta(seconds=self._slack) if visits else timedelta(0)

    def has_budget(self, visit: Visit, now: float) -> bool:
        """
        Whether the visit may still claim.
        """
        return now < visit.budget_ends_at

    def is_over(self, visit: Visit, now: float) -> bool:
        """
        Whether a visit with budget may end all the same: it found nothing, or has lingered and kept its promises.
        """
        if self._dry_since is None or self._is_look_asked or self._last_look_began_at < visit.begun_at:
            return False
        if not visit.has_worked:
            return True
        return not self._owes_look and now - self._dry_since >= self._rules.idle_linger.total_seconds()

    def patience(self, visit: Visit, now: float) -> float | None:
        """
        How long to wait before time alone may end the visit.
        """
        ends = [visit.budget_ends_at]
        if self._dry_since is not None:
            ends.append(self._dry_since + self._rules.idle_linger.total_seconds())
        return min((end - now for end in ends if end > now), default=None)

    def _pause(self, look: Look) -> float:
        """
        Seconds until the next look after one that was not full.
        """
        rules = self._rules
        pause = rules.polling_interval if look.has_open_queue else rules.no_queues_sleep_interval
        if look.has_lost_fetched:
            pause = rules.paused_queue_polling_delay
        seconds = pause.total_seconds()
        return seconds if look.seconds_to_due is None else min(seconds, max(0.0, look.seconds_to_due))
