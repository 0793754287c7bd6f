"""
What the heartbeat timer does: keeps the app's own pulse.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chokaq_core.ports import JobStore

HEARTBEAT_TIMER = "heartbeat"
FORGET_WORKERS_AFTER = timedelta(days=1)


class Pulse:
    """
    The app's own heartbeat: shows that timers run, and forgets workers that are long gone.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def scan(self) -> None:
        """
        One beat of the app.

        Raises:
            StoreError: the database is away.
        """
        self._store.timer_started(HEARTBEAT_TIMER)
        pruned = self._store.prune_workers(FORGET_WORKERS_AFTER)
        self._store.timer_finished(HEARTBEAT_TIMER, f"{pruned} workers pruned", has_succeeded=True)
