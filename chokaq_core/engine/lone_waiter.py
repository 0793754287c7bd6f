"""
A condition that one thread alone waits for.
"""

from __future__ import annotations

import threading


class LoneWaiter:
    """
    What `threading.Condition` is, for one thread that waits at a time, and at a fraction of its cost.

    A condition makes a lock for each wait and keeps a queue of who waits. This has one bell, which is rung only while
    somebody waits, so that telling nobody costs next to nothing.

    Args:
        lock: guards what is waited for. It is held, once, by whoever waits, and by whoever tells.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._bell = threading.Lock()
        self._bell.acquire()
        self._is_waiting = False

    def notify(self) -> None:
        """
        Wakes the thread that waits, if one does.
        """
        if self._is_waiting:
            self._is_waiting = False
            self._bell.release()

    def wait(self, timeout: float | None = None) -> bool:
        """
        Lets go of the lock, waits so many seconds at most, and holds the lock again; False if nobody told anything.
        """
        self._is_waiting = True
        self._lock.release()
        try:
            has_heard = self._bell.acquire(timeout=-1 if timeout is None else timeout)
        finally:
            self._lock.acquire()
        is_told, self._is_waiting = not self._is_waiting, False
        if is_told and not has_heard:
            # It rang when the time was over: silenced, so that it does not end the next wait.
            self._bell.acquire()
        return is_told
