"""
What the poll timer does: wakes workers for what waits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from chokaq_core.ports import Events, JobStore, WakeSender

POLL_TIMER = "poll"
JOBS_FOR_ONE_WORKER = 500
"""Claimable jobs that one wake stands for."""


class Poll:
    """
    The guarantee behind lost wakes: counts what is claimable, and sends as many wakes as that needs.
    """

    def __init__(self, store: JobStore, sender: WakeSender, max_wakes: int, events: Events) -> None:
        self._store = store
        self._sender = sender
        self._max_wakes = max_wakes
        self._events = events

    def scan(self) -> bool:
        """
        Sends the wakes that are wanted; False when one was wanted and could not be sent, so the caller must drain.

        Raises:
            StoreError: the database is away.
        """
        self._store.timer_started(POLL_TIMER)
        demand = self._store.demand(JOBS_FOR_ONE_WORKER * self._max_wakes)
        wanted = wakes_wanted(demand.claimable, demand.looking_workers, self._max_wakes)
        if wanted:
            wanted = max(0, wanted - self._waiting())
        is_sent = all(self._send() for _ in range(wanted))
        self._store.timer_finished(POLL_TIMER, f"{demand.claimable} claimable, {wanted} wakes", has_succeeded=is_sent)
        return is_sent

    def _waiting(self) -> int:
        """
        Wakes that are on their way to a worker; none where they cannot be counted, since one too many costs little.
        """
        try:
            return self._sender.waiting()
        except OSError:
            return 0

    def _send(self) -> bool:
        try:
            self._sender.send(delay=None)
        except OSError as error:
            self._events.publish([Event(EventName.NOTIFICATION_FAILED, error=error)])
            return False
        return True


def wakes_wanted(claimable: int, looking_workers: int, most: int) -> int:
    """
    Wakes for so many claimable jobs, less the workers that are there for them.
    """
    return max(0, min(math.ceil(claimable / JOBS_FOR_ONE_WORKER) - looking_workers, most))
