"""
Connections to a SQLite database, and transactions on them.

One connection writes; on a file another one reads, and the heartbeat writes on one of its own, so that it queues
behind single transactions and never behind this process's threads. Writers of all processes queue at a lock file first,
because SQLite's own waiting is unfair: beside six busy writers a heartbeat waited for ten seconds and more.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

from chokaq_core.stores.sql_files import load_queries
from chokaq_core.stores.sqlite.errors import translation
from chokaq_core.stores.sqlite.lock_file import LockFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

QUERIES = load_queries(Path(__file__).parent / "sql")
BUSY_TIMEOUT_SECONDS = 30.0
"""How long a statement waits for a writer that does not know the lock file, such as a shell or a backup."""

_CACHE_KIB = 64 * 1024


def machine_time() -> int:
    """
    Microseconds since 1970 in UTC by the clock that SQLite reads too: all processes that use a file are on one machine.
    """
    return time_ns() // 1_000


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
        values["now"] = self.now
        return self._connection.execute(QUERIES[name], values).fetchall()

    def row(self, name: str, /, **values: object) -> tuple[Any, ...] | None:
        """
        The first row of a query, or None.
        """
        values["now"] = self.now
        row: tuple[Any, ...] | None = self._connection.execute(QUERIES[name], values).fetchone()
        return row

    def look(self, name: str, *values: object) -> tuple[Any, ...]:
        """
        The one row of a query with numbered parameters, which are bound in less time; `now` is one of them.
        """
        row: tuple[Any, ...] = self._connection.execute(QUERIES[name], values).fetchone()
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
        values["now"] = self.now
        return self._connection.execute(QUERIES[name], values).rowcount

    def change_each(self, name: str, batch: Iterable[Mapping[str, object] | Sequence[object]]) -> int:
        """
        Runs a write once for each set of values, which bind `now` themselves where the query asks for it.

        Args:
            batch: by name, or in the order of a query's numbered parameters, which are bound in less time.

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


class Connection:
    """
    A connection that is opened when it is first needed: `with` makes a transaction on it, for one thread at a time.

    The transaction commits at the end of the block and rolls back on any error.

    Args:
        lock_path: the file at which writers queue; None for one that only reads, or that nobody else can reach.
        now: the time of a transaction, asked for at its beginning.
        is_write: whether the transaction has the database to itself from its beginning.
        is_lasting: what was committed outlives the connection.

    Raises:
        StoreError: what SQLite said, translated.
    """

    def __init__(
        self,
        open_connection: Callable[[], sqlite3.Connection],
        lock_path: Path | None,
        now: Callable[[], int],
        *,
        is_write: bool = True,
        is_lasting: bool = True,
    ) -> None:
        self._open = open_connection
        self._now = now
        self._begin = "BEGIN IMMEDIATE" if is_write else "BEGIN"
        self._is_lasting = is_lasting
        self._lock_file = LockFile(lock_path) if lock_path is not None else None
        self._thread_lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Transaction:
        self._thread_lock.acquire()
        try:
            if self._lock_file is not None:
                self._lock_file.acquire()
            connection = self._connection = self._connection or self._open()
            connection.execute(self._begin)
            return Transaction(connection, self._now())
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._end(error)
        except BaseException as failed:
            if (told := translation(failed)) is not None:
                raise told from failed
            raise
        finally:
            self._thread_lock.release()

    def _end(self, error: BaseException | None) -> None:
        """
        Commits, or rolls back and raises what went wrong.
        """
        try:
            if error is not None:
                raise error  # noqa: TRY301 - it ends as a commit that was refused does
            assert self._connection is not None  # noqa: S101 - the transaction began on it
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            if self._lock_file is not None:
                self._lock_file.release()

    def _roll_back(self) -> None:
        """
        Ends what is open. A connection that cannot do so is given up, since its locks would keep everybody waiting.
        """
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
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
        self, path: Path | None, now: Callable[[], int] = machine_time, *, is_synced_on_commit: bool = False
    ) -> None:
        self._path = path
        self._synchronous = "FULL" if is_synced_on_commit else "NORMAL"
        if path is None:
            self._writer = self._reader = self._beat_writer = Connection(self._connect, None, now, is_lasting=False)
        else:
            lock_path = path.with_name(path.name + ".lock")
            self._writer = Connection(self._connect, lock_path, now)
            self._reader = Connection(self._connect, None, now, is_write=False)
            self._beat_writer = Connection(self._connect, lock_path, now)

    def write(self) -> AbstractContextManager[Transaction]:
        """
        A transaction that may write.
        """
        return self._writer

    def write_beat(self) -> AbstractContextManager[Transaction]:
        """
        A transaction on the heartbeat's own connection.
        """
        return self._beat_writer

    def read(self) -> AbstractContextManager[Transaction]:
        """
        A transaction that only reads, all of it from one moment.
        """
        return self._reader

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
        for connection in (self._writer, self._reader, self._beat_writer):
            connection.close()

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
