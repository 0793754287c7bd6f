"""
When to send a wake. A wake is a hint: few are sent, and one that cannot be sent is told and forgotten.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.ports import Events, JobStore, WakeSender

SPACING_SECONDS = 2.0
"""At most one immediate wake a process in this time; one that comes too soon is sent for the end of it."""
GLANCE_SECONDS = 0.05
"""How long a producer goes by its last look whether a wake still waits: it cannot look for every job of a crowd."""
FULL_SECONDS = 1.0
"""A worker whose looks have been full for so long asks for another one."""


def is_work_left(store: JobStore) -> bool:
    """
    Whether a job waits that may be claimed now; False while the store is away, when nobody can claim any.
    """
    try:
        return store.demand(1).claimable > 0
    except StoreError:
        return False


class Waker:
    """
    The wakes of one process.

    Args:
        is_work_left: whether another worker would find anything to do; asked before one is recruited.
    """

    def __init__(
        self,
        sender: WakeSender,
        events: Events,
        *,
        is_work_left: Callable[[], bool] = lambda: True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sender = sender
        self._events = events
        self._is_work_left = is_work_left
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._sent_at = float("-inf")
        self._glanced_at = float("-inf")
        self._has_seen_one = False
        self._full_since: float | None = None
        self._was_full = False

    def enqueued(self, *, is_due: bool, is_worker_looking: bool, wake_in: timedelta | None) -> None:
        """
        After the commit of new jobs: somebody must come now, or at a due time that nobody else will come for.
        """
        if is_due and not is_worker_looking and not self._is_one_coming():
            self._send_spaced(EventName.ENQUEUE_NOTIFICATION_FAILED)
        if wake_in is not None:
            self._send(wake_in, EventName.ENQUEUE_NOTIFICATION_FAILED)

    def brought_back(self) -> None:
        """
        After jobs came back or a queue was opened: somebody must come now.
        """
        self._send_spaced(EventName.NOTIFICATION_FAILED)

    def looked(self, *, is_full: bool) -> None:
        """
        After a look for work: a worker that stays full recruits another one, if there is anything that one could claim.
        """
        now = self._monotonic()
        with self._lock:
            self._was_full = is_full
            if not is_full:
                self._full_since = None
            elif self._full_since is None:
                self._full_since = now
            is_saturated = self._full_since is not None and now - self._full_since >= FULL_SECONDS
            is_one_coming = self._sent_at > now
        if not is_saturated or is_one_coming:
            return
        if self._is_work_left():
            self._send_spaced(EventName.NOTIFICATION_FAILED)
        else:
            with self._lock:
                self._full_since = now

    def put_off(self, wake_in: timedelta) -> None:
        """
        After a retry or postponement that is due before anybody else comes.
        """
        self._send(wake_in, EventName.NOTIFICATION_FAILED)

    def hand_over(self, wake_in: timedelta | None) -> None:
        """
        At the end of the last visit: if more was waiting, somebody else goes on; else somebody comes when it is due.
        """
        with self._lock:
            was_full, self._was_full, self._full_since = self._was_full, False, None
        if was_full:
            self._send(None, EventName.NOTIFICATION_FAILED)
        elif wake_in is not None:
            self._send(wake_in, EventName.NOTIFICATION_FAILED)

    def _is_one_coming(self) -> bool:
        """
        Whether a wake is on its way: one that waits to be taken, or one that was asked for the near future.

        Whoever takes it looks at jobs that are stored by now. A further one would only bring another instance.
        """
        now = self._monotonic()
        with self._lock:
            if self._sent_at > now:
                return True
            if now < self._glanced_at + GLANCE_SECONDS:
                return self._has_seen_one
            self._glanced_at, self._has_seen_one = now, True
        has_seen_one = self._is_one_waiting()
        with self._lock:
            self._has_seen_one = has_seen_one
        return has_seen_one

    def _is_one_waiting(self) -> bool:
        try:
            return self._sender.waiting() > 0
        except OSError:
            return False

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

    def _send(self, delay: timedelta | None, on_failure: EventName) -> None:
        try:
            self._sender.send(delay=delay)
        except OSError as error:
            self._events.publish([Event(on_failure, error=error)])
