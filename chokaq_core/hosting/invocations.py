"""
Which invocation of a function our own threads work for.

The Functions host takes a log line with the id of its invocation, and drops a line without one. The worker finds the id
on the thread that logs; our threads outlive invocations, so they are given the id of the one that they work for now.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chokaq_core.engine.thread_names import OWN_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import azure.functions as func

WORKER_LIBRARY = "azure_functions_runtime"
"""The worker from Python 3.13 on. It looks for the id in a context variable, older ones in thread-local storage."""


class Invocations:
    """
    The invocations that our threads work for. Safe to use from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[func.Context, ...] = ()
        self._storage: Any = None

    @contextmanager
    def during(self, context: func.Context) -> Iterator[None]:
        """
        Counts an invocation as under way inside the block.
        """
        with self._lock:
            self._running = (*self._running, context)
            self._storage = context.thread_local_storage
        try:
            yield
        finally:
            with self._lock:
                self._running = tuple(other for other in self._running if other is not context)

    def mark_thread(self) -> None:
        """
        Gives one of our own threads the id of the invocation that began last; none while none is under way.

        Threads of the host have their own and keep it.
        """
        if self._storage is None or not threading.current_thread().name.startswith(OWN_THREADS):
            return
        running = self._running
        invocation_id = running[-1].invocation_id if running else None
        self._storage.invocation_id = invocation_id
        if (variable := _variable()) is not None:
            variable.set(invocation_id)


def _variable() -> Any:  # noqa: ANN401 - a context variable of a library that is not there everywhere
    """
    The worker library's context variable, where that library runs this app.
    """
    return getattr(sys.modules.get(WORKER_LIBRARY), "invocation_id_cv", None)
