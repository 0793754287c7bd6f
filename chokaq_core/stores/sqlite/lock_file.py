"""
The file at which the writers of all processes queue.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

import portalocker

from chokaq_core.domain.errors import StoreUnavailableError

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path

PATIENCE_SECONDS = 30.0
"""How long a writer stands in line, as long as for a writer that does not know the file. A turn takes milliseconds;
only a process that was stopped in the middle of one, by a debugger or Ctrl-Z, keeps the others waiting for so long."""


class LockFile:
    """
    One writer's place in the queue: held from `acquire` to `release`, by one thread at a time.

    The handle stays open between two turns, since opening it costs more than locking it. A lock belongs to its open
    file, so it ends with the process; a forked child, which would share it, closes the handle and opens one of its own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: TextIOWrapper | None = None
        self._line: _Line | None = None
        self._is_held = False
        _ALL.add(self)

    def acquire(self) -> None:
        """
        Waits for this writer's turn.

        Raises:
            StoreUnavailableError: another process has kept the lock for too long; nothing was written.
            OSError: the file cannot be opened.
            portalocker.LockException: the file system does not lock.
        """
        if self._handle is None:
            self._handle = self._path.open("a")
        if self._line is not None and self._line.is_occupied():
            self._stand_in(self._line)
        elif not _is_locked_at_once(self._handle):
            self._line = self._line or _Line(self._handle)
            self._stand_in(self._line)
        self._is_held = True

    def release(self) -> None:
        """
        Ends the turn; without one, nothing changes.
        """
        if self._is_held and self._handle is not None:
            _unlock(self._handle)
        self._is_held = False

    def close(self) -> None:
        """
        Closes the handle; the next turn opens another one.
        """
        if self._line is not None:
            self._line.end()
        self.forget()

    def forget(self) -> None:
        """
        Closes the handle and leaves the line as it is: in a forked child nobody stands there.
        """
        self._line = None
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _stand_in(self, line: _Line) -> None:
        if not line.stand(PATIENCE_SECONDS):
            msg = (
                f"another process has kept the embedded database locked for {PATIENCE_SECONDS:g} s. One that was "
                f"stopped, by a debugger or Ctrl-Z, keeps the lock until it goes on or ends; `fuser {self._path}` "
                "names it"
            )
            raise StoreUnavailableError(msg)


class _Line:
    """
    Stands in the system's line for a lock, on a thread of its own: the system's wait has no limit and no way out.

    Looking at the lock again and again instead would be unfair: whoever releases it would have it again before the
    others look.
    """

    def __init__(self, handle: TextIOWrapper) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._is_asked = False
        self._is_wanted = False
        self._is_reached = False
        self._has_ended = False
        self._error: Exception | None = None
        threading.Thread(target=self._run, name="chokaq-lock", daemon=True).start()

    def is_occupied(self) -> bool:
        """
        Whether the thread still stands there, for a turn that did not wait for it.
        """
        with self._changed:
            return self._is_asked

    def stand(self, seconds: float) -> bool:
        """
        Waits for the lock; False if that took too long, and it will be released as soon as it comes.

        Raises:
            Exception: the system refused the lock.
        """
        with self._changed:
            self._is_asked = self._is_wanted = True
            self._changed.notify_all()
            self._is_wanted = self._changed.wait_for(lambda: self._is_reached or self._error is not None, seconds)
            is_reached, self._is_reached = self._is_reached, False
            error, self._error = self._error, None
        if error is not None:
            raise error
        return is_reached

    def end(self) -> None:
        """
        Ends the thread, as soon as it has had its turn.
        """
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _run(self) -> None:
        while self._is_called():
            error = None
            try:
                portalocker.lock(self._handle, portalocker.LockFlags.EXCLUSIVE)
            except Exception as refused:  # noqa: BLE001 - it is raised where the lock is wanted
                error = refused
            self._hand_over(error)

    def _is_called(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_asked or self._has_ended)
            return self._is_asked

    def _hand_over(self, error: Exception | None) -> None:
        with self._changed:
            self._is_asked = False
            if self._is_wanted:
                self._is_reached, self._error = error is None, error
                self._changed.notify_all()
            elif error is None:
                # The handle may have been closed meanwhile, and the lock with it.
                with suppress(OSError, ValueError, portalocker.LockException):
                    portalocker.unlock(self._handle)


if sys.platform == "win32":
    _AT_ONCE = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
    _unlock = portalocker.unlock

    def _is_locked_at_once(handle: TextIOWrapper) -> bool:
        try:
            portalocker.lock(handle, _AT_ONCE)
        except portalocker.AlreadyLocked:
            return False
        return True

else:
    # What portalocker calls in the end. Every transaction locks and unlocks: its own way there took a tenth of the time
    # of a lone enqueue.
    import fcntl

    def _is_locked_at_once(handle: TextIOWrapper) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: TextIOWrapper) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


_ALL: weakref.WeakSet[LockFile] = weakref.WeakSet()


def _close_inherited() -> None:
    """
    Run in a forked child: as long as any copy of a locked handle is open the lock holds, even when its owner is dead.
    """
    for lock_file in _ALL:
        lock_file.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
