"""
A store that counts how often it was called. Every method of a store is one round trip to its database.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from chokaq_core.engine.scans import MaintainedStore, RescuedStore
from chokaq_core.ports import JobStore

LOCAL = frozenset({"rest", "close"})
"""Methods that talk to no database."""


class CountingStore:
    """
    Passes every call on, and counts it by the method's name.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._store, name)
        return method if name in LOCAL else self._counted(name, method)

    @property
    def total(self) -> int:
        """
        All calls so far.
        """
        return self.calls.total()

    def before(self) -> None:
        """
        What happens before a call is passed on: nothing here.
        """

    def as_store(self) -> JobStore:
        """
        The same object by the type of what it stands for.
        """
        return cast("JobStore", self)

    def as_rescued(self) -> RescuedStore:
        """
        The same, for rescue.
        """
        return cast("RescuedStore", self)

    def as_maintained(self) -> MaintainedStore:
        """
        The same, for maintenance.
        """
        return cast("MaintainedStore", self)

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object, **options: object) -> object:
            with self._lock:
                self.calls[name] += 1
            self.before()
            return method(*arguments, **options)

        return call
