"""
A bounded pool of connections. A connection belongs to one thread at a time; one that failed is never used again.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.stores.sqlserver.odbc import pyodbc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from chokaq_core.stores.sqlserver.batches import Batch

LONGEST_LIFE = timedelta(minutes=30)
"""A connection is replaced after this time: its token has an end, and a gateway may have moved."""

LONGEST_REST = timedelta(seconds=60)
"""A connection that was not used for longer may have been cut by a gateway without a word; it is opened anew."""

Row = tuple[Any, ...]


class Connect(Protocol):
    """
    Opens a connection, and tells how many units a character beyond the basic plane counts there.
    """

    def __call__(self) -> tuple[pyodbc.Connection, int]:
        """
        A new connection.
        """


class Session:
    """
    One connection with the statements that are prepared on it.

    Each batch keeps a cursor of its own: the driver prepares a statement once per cursor, and sends its handle after
    that.
    """

    def __init__(self, connection: pyodbc.Connection, units: int, born_at: float) -> None:
        self._connection = connection
        self._cursors: dict[str, pyodbc.Cursor] = {}
        self.units = units
        self.born_at = born_at
        self.used_at = born_at
        self.is_lost = False

    def run(self, batch: Batch, values: Sequence[object], sizes: Sequence[tuple[int, int, int]]) -> list[list[Row]]:
        """
        Sends a batch and reads all its results: one round trip.
        """
        cursor = self._cursors.get(batch.name)
        if cursor is None:
            cursor = self._cursors[batch.name] = self._connection.cursor()
        cursor.setinputsizes(list(sizes))
        cursor.execute(batch.text, tuple(values))
        return _results(cursor)

    def run_text(self, text: str) -> list[list[Row]]:
        """
        Sends a text without parameters, such as a migration.
        """
        cursor = self._connection.cursor()
        try:
            cursor.execute(text)
            return _results(cursor)
        finally:
            cursor.close()

    def close(self) -> None:
        """
        Closes the connection; one that is cut already is only forgotten.
        """
        self._cursors.clear()
        try:
            self._connection.close()
        except pyodbc.Error:
            self.is_lost = True


def _results(cursor: pyodbc.Cursor) -> list[list[Row]]:
    results: list[list[Row]] = []
    while True:
        if cursor.description is not None:
            results.append([tuple(row) for row in cursor.fetchall()])
        if not cursor.nextset():
            return results


class Pool:
    """
    Up to `size` connections; a caller that finds none free waits, up to `patience`.

    The connection used last is handed out first, so that idle ones grow old and are closed.
    """

    def __init__(
        self, connect: Connect, size: int, patience: timedelta, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._connect = connect
        self._size = size
        self._patience = patience
        self._clock = clock
        self._free = threading.Condition()
        self._idle: list[Session] = []
        self._taken = 0
        self._generation = 0
        self._is_closed = False

    @contextmanager
    def session(self) -> Iterator[Session]:
        """
        A connection for the calling thread alone. Any error inside, unless the caller clears `is_lost`, ends it.

        Raises:
            StoreUnavailableError: none became free in time.
            StoreRefusedError: the pool is closed.
        """
        session, generation = self._take()
        try:
            session.is_lost = True
            yield session
            session.is_lost = False
        finally:
            self._give_back(session, generation)

    def rest(self) -> None:
        """
        Closes idle connections now, and those in use when they come back.
        """
        with self._free:
            self._generation += 1
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def close(self) -> None:
        """
        The same, and hands out none any more.
        """
        with self._free:
            self._is_closed = True
            self._free.notify_all()
        self.rest()

    def _take(self) -> tuple[Session, int]:
        with self._free:
            self._await_turn()
            self._taken += 1
            generation = self._generation
            session, stale = self._fresh_idle()
        for old in stale:
            old.close()
        try:
            return (session or self._open()), generation
        except BaseException:
            self._release()
            raise

    def _await_turn(self) -> None:
        is_free = self._free.wait_for(
            lambda: self._is_closed or self._taken < self._size, self._patience.total_seconds()
        )
        if self._is_closed:
            msg = "the store is closed"
            raise StoreRefusedError(msg)
        if not is_free:
            msg = f"all {self._size} connections are busy for longer than {self._patience}"
            raise StoreUnavailableError(msg)

    def _fresh_idle(self) -> tuple[Session | None, list[Session]]:
        """
        The connection used last that may still be used, and those found to be too old.
        """
        stale: list[Session] = []
        while self._idle:
            session = self._idle.pop()
            if self._is_fresh(session):
                return session, stale
            stale.append(session)
        return None, stale

    def _is_fresh(self, session: Session) -> bool:
        now = self._clock()
        is_young = now - session.born_at < LONGEST_LIFE.total_seconds()
        return is_young and now - session.used_at < LONGEST_REST.total_seconds()

    def _open(self) -> Session:
        connection, units = self._connect()
        return Session(connection, units, self._clock())

    def _give_back(self, session: Session, generation: int) -> None:
        session.used_at = self._clock()
        with self._free:
            is_kept = not session.is_lost and generation == self._generation and not self._is_closed
            if is_kept:
                self._idle.append(session)
        if not is_kept:
            session.close()
        self._release()

    def _release(self) -> None:
        with self._free:
            self._taken -= 1
            self._free.notify()
