"""
The worker's row in the store: who is there to work, and what it promises.
"""

from __future__ import annotations

import os
import socket
import uuid
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError
from chokaq_core.ports import WorkerFacts, WorkerState

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.engine.reach import Reach
    from chokaq_core.ports import JobStore


class WorkerRow:
    """
    Writes the row and takes it back. A store that is away is no error here: it is told, and the next call tries again.

    Attributes:
        is_registered: the row says that the worker runs.
    """

    def __init__(self, worker_id: str, store: JobStore, reach: Reach) -> None:
        self._worker_id = worker_id
        self._store = store
        self._reach = reach
        self.is_registered = False

    def register(self, capacity: int) -> bool:
        """
        Writes the row at the first visit after a rest; False when the store is away.
        """
        self.is_registered = self.is_registered or self.write(WorkerState.RUNNING, capacity)
        return self.is_registered

    def change_capacity(self, capacity: int) -> None:
        """
        Writes the row anew if it stands; the next visit does so when the store is away.
        """
        if self.is_registered:
            self.is_registered = False
            self.register(capacity)

    def write(self, state: WorkerState, capacity: int) -> bool:
        """
        Writes the row; False when the store is away.
        """
        facts = WorkerFacts(self._worker_id, socket.gethostname()[:255], capacity, state)
        try:
            self._store.register(facts)
        except StoreError as error:
            self._reach.lost(error)
            return False
        return True

    def retire(self) -> timedelta | None:
        """
        Takes back every promise; answers when somebody should come for what is due next.
        """
        self.is_registered = False
        try:
            return self._store.retire(self._worker_id)
        except StoreError as error:
            self._reach.lost(error)
            return None


def new_worker_id() -> str:
    """
    An id that is unique for each start of a process: host, process id and a random part; at most 100 characters.
    """
    host = "".join(c for c in socket.gethostname() if c.isascii() and (c.isalnum() or c in "._-"))[:60] or "host"
    return f"{host}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
