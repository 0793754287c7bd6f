"""
Backlogs of any depth, put into a file by one statement instead of by millions of enqueues.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from chokaq_core.stores.sqlite import SqliteStore

_PLACES = "WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n + 1 < :count)"

# Rows come in pairs: one that has been due for long, one that is due in twenty years from then.
_FILL = """
INSERT INTO JobsHot (
    Id, Queue, Type, Payload, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc, LifetimeStartUtc, IsReady
)
{places}
SELECT
    printf('01990000-0000-7000-8000-%012d', n), {queue}, {type_key}, '{{"n":1}}', iif(n % 2 = 0, {due}, {delayed}),
    :past + n + iif(n % 2 = 0, 0, :far), :past, :past, :past, n % 2 = 0
FROM place
"""
_QUEUE = "'queue-' || (n / 2 % :queues)"
_TYPE = "'type-' || (n / 2 / :queues % :types)"
_LANES = """
INSERT OR IGNORE INTO Lanes (Queue, Type)
{places} SELECT {queue}, {type_key} FROM place WHERE n < 2 * :queues * :types
"""
_QUEUES = "INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc) SELECT DISTINCT Queue, 0 FROM Lanes"
_PAST = 1_700_000_000_000_000
"""A time in 2023, in microseconds."""
_FAR = 20 * 365 * 86_400_000_000
"""Twenty years, in microseconds."""


@dataclass(frozen=True, slots=True)
class Mix:
    """
    Which priorities due and delayed rows have, as SQL over the row's number `n`.
    """

    name: str
    due: str
    delayed: str


_MIXED = "(n * 2654435761 >> 7) % 101"
MIXES = (
    Mix("one priority", "10", "10"),
    Mix("random priorities", _MIXED, _MIXED),
    Mix("delayed rows of higher priority", "10", "20"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """
    How many rows, half of them due and half delayed, over how many queues and types of each queue.
    """

    rows: int
    queues: int = 4
    types: int = 2

    @property
    def lanes(self) -> int:
        """
        Pairs of queue and type.
        """
        return self.queues * self.types


def open_backlog(path: Path, mix: Mix, shape: Shape) -> SqliteStore:
    """
    A store on a new file with that backlog in it.
    """
    store = SqliteStore(path)
    store.prepare()
    store.rest()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN")
        _fill(connection, mix, shape)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


def _fill(connection: sqlite3.Connection, mix: Mix, shape: Shape) -> None:
    """
    Writes the rows, then builds the indexes: in one go that is far faster than row by row.
    """
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'JobsHot' AND sql IS NOT NULL"
    indexes = connection.execute(query).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    names = {"places": _PLACES, "queue": _QUEUE, "type_key": _TYPE, "due": mix.due, "delayed": mix.delayed}
    values = {"count": shape.rows, "queues": shape.queues, "types": shape.types, "past": _PAST, "far": _FAR}
    for statement in (_FILL, _LANES):
        connection.execute(statement.format_map(names), values)
    connection.execute(_QUEUES)
    for _, text in indexes:
        connection.execute(text)
