"""
When to send a wake. A wake is a hint: few are sent, and one that cannot be sent is told and forgotten.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.ports import Events, WakeSender

SPACING_SECONDS = 2.0
"""At most one immediate wake a process in this time; one that comes too soon is sent for the end of it."""
FULL_SECONDS = 1.0
"""A worker whose looks have been full for so long asks for another one."""
HORIZON = timedelta(minutes=15)
"""Due times further off than this are left to the poll."""


class Waker:
    """
    The wakes of one process.
    """

    def __init__(self, sender: WakeSender, events: Events, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._sender = sender
        self._events = events
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._sent_at = float("-inf")
        self._full_since: float | None = None
        self._was_full = False
        self._next_due_in: float | None = None
        self._asked_for = float("inf")

    def enqueued(self, due_in: timedelta, *, is_worker_looking: bool) -> None:
        """
        After the commit of new jobs: the first of them is due in so long.
        """
        if due_in > timedelta(0):
            self._send_delayed(due_in, EventName.ENQUEUE_NOTIFICATION_FAILED)
        elif not is_worker_looking:
            self._send_spaced(EventName.ENQUEUE_NOTIFICATION_FAILED)

    def looked(self, *, is_full: bool, next_due_in: float | None) -> None:
        """
        After a look for work: a worker that stays full recruits another one.
        """
        now = self._monotonic()
        with self._lock:
            self._was_full = is_full
            self._next_due_in = next_due_in
            self._full_since = (self._full_since or now) if is_full else None
            is_saturated = self._full_since is not None and now - self._full_since >= FULL_SECONDS
        if is_saturated:
            self._send_spaced(EventName.NOTIFICATION_FAILED)

    def hand_over(self) -> None:
        """
        At the end of the last visit: if more was waiting, somebody else goes on; else somebody comes when it is due.
        """
        if self._was_full:
            self._send(None, EventName.NOTIFICATION_FAILED)
        elif self._next_due_in is not None:
            self._send_delayed(timedelta(seconds=max(0.0, self._next_due_in)), EventName.NOTIFICATION_FAILED)
        with self._lock:
            self._full_since = None
            self._was_full = False

    def _send_spaced(self, on_failure: EventName) -> None:
        """
        Sends a wake now, or for the end of the spacing; none if one is on its way for that already.
        """
        now = self._monotonic()
        with self._lock:
            slot = max(now, self._sent_at + SPACING_SECONDS)
            if self._sent_at > now:
                return
            self._sent_at = slot
        self._send(timedelta(seconds=slot - now) if slot > now else None, on_failure)

    def _send_delayed(self, due_in: timedelta, on_failure: EventName) -> None:
        """
        Sends a wake for a due time, unless one for an earlier time was asked for and is still to come.
        """
        if due_in > HORIZON:
            return
        now = self._monotonic()
        due_at = now + due_in.total_seconds()
        with self._lock:
            if now < self._asked_for <= due_at:
                return
            self._asked_for = due_at
        self._send(due_in, on_failure)

    def _send(self, delay: timedelta | None, on_failure: EventName) -> None:
        try:
            self._sender.send(delay=delay)
        except OSError as error:
            self._events.publish([Event(on_failure, error=error)])
