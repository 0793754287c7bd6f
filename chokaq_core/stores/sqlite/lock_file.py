"""
The file at which the writers of all processes queue.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

import portalocker

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path
    from types import TracebackType


class LockFile:
    """
    One writer's place in the queue: held inside `with`, by one thread at a time.

    The handle stays open between two turns, since opening it costs more than locking it. A lock belongs to its open
    file, so it ends with the process; a forked child, which would share it, closes the handle and opens one of its own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: TextIOWrapper | None = None
        _ALL.add(self)

    def __enter__(self) -> None:
        """
        Waits for this writer's turn.

        Raises:
            OSError: the file cannot be opened.
            portalocker.LockException: the file system does not lock.
        """
        if self._handle is None:
            self._handle = self._path.open("a")
        portalocker.lock(self._handle, portalocker.LockFlags.EXCLUSIVE)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._handle is not None:
            portalocker.unlock(self._handle)

    def close(self) -> None:
        """
        Closes the handle; the next turn opens another one.
        """
        if self._handle is not None:
            self._handle.close()
            self._handle = None


_ALL: weakref.WeakSet[LockFile] = weakref.WeakSet()


def _close_inherited() -> None:
    """
    Run in a forked child: as long as any copy of a locked handle is open the lock holds, even when its owner is dead.
    """
    for lock_file in _ALL:
        lock_file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
