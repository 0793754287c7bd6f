"""
One look at a time, shared by all who ask meanwhile: callers of a hanging database pile up on one thread, not on many.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class SingleFlight(Generic[Answer]):
    """
    Shares one running call among all its callers.
    """

    def __init__(self, look: Callable[[], Answer]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._running: Future[Answer] | None = None

    def ask(self, timeout: float) -> Answer:
        """
        The answer of the call that is under way, or of a new one.

        Raises:
            TimeoutError: none came in time; the call goes on, and later callers join it.
        """
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                threading.Thread(target=self._run, args=(self._running,), name="chokaq-look", daemon=True).start()
            running = self._running
        return running.result(timeout)

    def _run(self, future: Future[Answer]) -> None:
        try:
            answer = self._look()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the callers shall see it
            future.set_exception(error)
        else:
            future.set_result(answer)
