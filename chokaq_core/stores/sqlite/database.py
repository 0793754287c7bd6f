"""
Connections to a SQLite database, and transactions on them.

One connection writes; on a file another one reads, and the heartbeat writes on one of its own, so that it queues
behind single transactions and never behind this process's threads. Writers of all processes queue at a lock file first,
because SQLite's own waiting is unfair: beside six busy writers a heartbeat waited for ten seconds and more.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chokaq_core.stores.sql_files import load_queries
from chokaq_core.stores.sqlite.errors import translated
from chokaq_core.stores.sqlite.lock_file import LockFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

QUERIES = load_queries(Path(__file__).parent / "sql")
BUSY_TIMEOUT_SECONDS = 30.0
"""How long a statement waits for a writer that does not know the lock file, such as a shell or a backup."""

_CACHE_KIB = 64 * 1024
_NO_LOCK = nullcontext()


class Transaction:
    """
    One open transaction: runs named queries and knows the database's time.
    """

    __slots__ = ("_connection", "now")

    def __init__(self, connection: sqlite3.Connection, now: int) -> None:
        self._connection = connection
        self.now = now

    def rows(self, name: str, /, **values: object) -> list[tuple[Any, ...]]:
        """
        All rows of a query; `:now` is always bound.
        """
        return self._connection.execute(QUERIES[name], {"now": self.now, **values}).fetchall()

    def row(self, name: str, /, **values: object) -> tuple[Any, ...] | None:
        """
        The first row of a query, or None.
        """
        row: tuple[Any, ...] | None = self._connection.execute(QUERIES[name], {"now": self.now, **values}).fetchone()
        return row

    def value(self, name: str, /, **values: object) -> Any:  # noqa: ANN401 - whatever the column holds
        """
        The first column of the one row of a query.
        """
        row = self.row(name, **values)
        return None if row is None else row[0]

    def change(self, name: str, /, **values: object) -> int:
        """
        Runs a write; says how many rows it changed.
        """
        return self._connection.execute(QUERIES[name], {"now": self.now, **values}).rowcount

    def change_each(self, name: str, batch: Iterable[Mapping[str, object]]) -> int:
        """
        Runs a write once for each set of values, which bind `now` themselves where the query asks for it.

        Returns:
            How many rows were changed in all.
        """
        return self._connection.executemany(QUERIES[name], batch).rowcount

    def all_or_none(self, count: int, write: Callable[[], int]) -> bool:
        """
        Makes a write that tells how many rows it changed; unless these are so many, none is changed.
        """
        if count == 1:
            return write() == 1
        self._connection.execute("SAVEPOINT attempt")
        has_changed_all = write() == count
        if not has_changed_all:
            self._connection.execute("ROLLBACK TO attempt")
        self._connection.execute("RELEASE attempt")
        return has_changed_all

    def run_script(self, statements: str) -> None:
        """
        Runs several statements one by one inside this transaction; no string in them may hold a semicolon.
        """
        for statement in statements.split(";\n"):
            self._connection.execute(statement)


class Writer:
    """
    A connection that writes, used by one thread at a time.

    Args:
        is_lasting: what was committed outlives the connection.
    """

    def __init__(
        self, open_connection: Callable[[], sqlite3.Connection], lock_path: Path | None, *, is_lasting: bool = True
    ) -> None:
        self._open = open_connection
        self._is_lasting = is_lasting
        self._lock_file = LockFile(lock_path) if lock_path is not None else None
        self._thread_lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self, now: Callable[[], int] | None, *, is_write: bool = True) -> Iterator[Transaction]:
        """
        A transaction that commits at the end and rolls back on any error.

        Raises:
            StoreError: what SQLite said, translated.
        """
        with self._thread_lock, translated(), self._lock_file or _NO_LOCK:
            connection = self._connection = self._connection or self._open()
            try:
                connection.execute("BEGIN IMMEDIATE" if is_write else "BEGIN")
                at = now() if now is not None else connection.execute(QUERIES["now"]).fetchone()[0]
                yield Transaction(connection, at)
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        """
        Ends what is open. A connection that cannot do so is given up, since its locks would keep everybody waiting.
        """
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            if self._is_lasting:
                self.close()

    def close(self) -> None:
        """
        Closes the connection; the next transaction opens another one.
        """
        with self._thread_lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._lock_file is not None:
                self._lock_file.close()


class Database:
    """
    A SQLite database in memory (`path` None) or on a file.
    """

    def __init__(
        self, path: Path | None, now: Callable[[], int] | None = None, *, is_synced_on_commit: bool = False
    ) -> None:
        self._path = path
        self._now = now
        self._synchronous = "FULL" if is_synced_on_commit else "NORMAL"
        lock_path = path.with_name(path.name + ".lock") if path is not None else None
        self._writer = Writer(self._connect, lock_path, is_lasting=path is not None)
        self._reader = Writer(self._connect, None) if path is not None else self._writer
        self._beat_writer = Writer(self._connect, lock_path) if path is not None else self._writer

    def write(self) -> AbstractContextManager[Transaction]:
        """
        A transaction that may write.
        """
        return self._writer.transaction(self._now)

    def write_beat(self) -> AbstractContextManager[Transaction]:
        """
        A transaction on the heartbeat's own connection.
        """
        return self._beat_writer.transaction(self._now)

    def read(self) -> AbstractContextManager[Transaction]:
        """
        A transaction that only reads, all of it from one moment.
        """
        return self._reader.transaction(self._now, is_write=False)

    def rest(self) -> None:
        """
        Closes the connections of a file; a database in memory lives in its connection and stays.
        """
        if self._path is not None:
            self.close()

    def close(self) -> None:
        """
        Closes all connections; what was in memory is gone.
        """
        for writer in (self._writer, self._reader, self._beat_writer):
            writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path if self._path is not None else ":memory:",
            timeout=BUSY_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        # What a statement over many rows would need to take itself back is kept in memory instead of a temporary file.
        connection.execute("PRAGMA temp_store = MEMORY")
        if self._path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
