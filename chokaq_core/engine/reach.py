"""
Whether the database can be reached, told once for each change, whoever asked it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from chokaq_core.domain.errors import StoreError
    from chokaq_core.ports import Events


class Reach:
    """
    Counts calls without an answer since the last turn that had one.
    """

    def __init__(self, worker_id: str, events: Events) -> None:
        self._worker_id = worker_id
        self._events = events
        self._lock = threading.Lock()
        self._failures = 0

    @property
    def failures(self) -> int:
        """
        Calls without an answer in a row.
        """
        return self._failures

    def lost(self, error: StoreError) -> None:
        """
        A call had no answer.
        """
        with self._lock:
            self._failures += 1
            is_change = self._failures == 1
        if is_change:
            self._events.publish([Event(EventName.WORKER_LOOP_CRASHED, facts=self._facts(1), error=error)])

    def found(self) -> None:
        """
        A turn was answered.
        """
        with self._lock:
            failures, self._failures = self._failures, 0
        if failures:
            self._events.publish([Event(EventName.WORKER_LOOP_RECOVERED, facts=self._facts(failures))])

    def _facts(self, failures: int) -> dict[str, object]:
        return {"worker_id": self._worker_id, "failures": failures}
