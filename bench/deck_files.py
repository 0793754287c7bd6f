"""
Databases for the Deck to look at, of any size, filled by a few statements instead of by millions of jobs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chokaq_core.stores.sqlite import SqliteStore

QUEUES = 4
TYPES = 2
"""Types of jobs in each queue."""
ERRORS = 20
"""Kinds of errors that dead jobs have ended by."""
RUNNING = 64
"""Jobs that four workers run at this moment, in a file of any size."""
RARE = 10
"""So many of the oldest rows of each pillar have a queue, a tag and an error of their own: the end of a search."""

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_DAY = 24 * 60 * _MINUTE

_PLACES = "WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n + 1 < :count)"
_QUEUE = f"iif(n < {RARE}, 'rare', 'queue-' || (n % {QUEUES}))"
_TYPE = f"'type-' || (n % {QUEUES}) || '-' || (n / {QUEUES} % {TYPES})"
_TAGS = f"iif(n < {RARE}, 'needle', 'tenant-' || (n % 50))"
_PAYLOAD = (
    """'{"to":"customer' || n || '@example.org","subject":"Your order","body":"' || printf('%.*c', 200, 'x') || '"}'"""
)
_TRACE = "'00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'"

_ARCHIVED = f"""
INSERT INTO JobsArchive (
    Id, Queue, Type, Payload, Tags, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId, DueAtUtc,
    CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, TraceParent, CreatedBy, FinishedAtUtc, DurationMs,
    Result
)
{_PLACES}, row AS (SELECT n, :now - (:count - n) * (:span / :count) AS at FROM place)
SELECT
    printf('archived-%012d', n), {_QUEUE}, {_TYPE}, {_PAYLOAD}, {_TAGS}, 10, 1, 1, 0, 'worker-' || (n % 4), at, at,
    at, at, at, {_TRACE}, 'shop', at, n % 700, '{{"sent":true}}'
FROM row
"""
_DEAD = f"""
INSERT INTO JobsDLQ (
    Id, Queue, Type, Payload, Tags, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId, DueAtUtc,
    CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    FailureReason, ErrorType, ErrorDetails, FailedAtUtc
)
{_PLACES}, row AS (SELECT n, :now - (:count - n) * (:span / :count) AS at FROM place)
SELECT
    printf('dead-%012d', n), {_QUEUE}, {_TYPE}, {_PAYLOAD}, {_TAGS}, 10, 3, 3, 0, 'worker-' || (n % 4), at, at, at, at,
    at, '[]', {_TRACE}, 'shop', iif(n < {RARE}, 9, iif(n % 9 = 0, 6, iif(n % 9 = 1, 7, 0))),
    iif(n < {RARE}, 'NeedleError', 'Error' || (n % {ERRORS})),
    'Traceback (most recent call last):' || char(10) || printf('%.*c', 900, 't') || char(10)
        || iif(n < {RARE}, 'NeedleError: lost', 'Error' || (n % {ERRORS}) || ': the mail server closed the connection'),
    at
FROM row
"""
# Two of three wait and may run, one is due tomorrow; the newest are running.
_HOT = f"""
INSERT INTO JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, Status, AttemptCount, LeaseNumber, WorkerId, HeartbeatUtc,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, IsReady, TraceParent, CreatedBy
)
{_PLACES}, row AS (
    SELECT n, :now - (:count - n) * (:span / :count) AS at, n >= :count - {RUNNING} AS runs, n % 3 = 2 AS sleeps
    FROM place
)
SELECT
    printf('active-%012d', n), {_QUEUE}, {_TYPE}, {_PAYLOAD}, {_TAGS}, 'key-' || n, iif(n % 5 = 0, 20, 10), runs * 2,
    runs, runs, iif(runs, 'worker-' || (n % 4), NULL), iif(runs, :now, NULL),
    iif(sleeps AND NOT runs, :now + {_DAY}, at), at, iif(runs, at, NULL), at, at, NOT sleeps AND NOT runs, {_TRACE},
    'shop'
FROM row
"""
# In the last five minutes every second and queue has a bucket, before that one queue.
_BUCKETS = f"""
INSERT OR IGNORE INTO MetricBuckets (
    BucketUtc, Queue, Outcome, Reason, Shard, CompletedCount, DurationCount, TotalDurationMs, MaxDurationMs
)
{_PLACES}
SELECT :now / {_SECOND} * {_SECOND} - n / {QUEUES} * {_SECOND}, 'queue-' || (n % {QUEUES}), 0, -1, '', 5, 5, 200.0, 90.0
FROM place
"""
_LOG = f"""
INSERT INTO OperatorLog (AtUtc, Actor, Command, Target, Affected, Outcome)
{_PLACES}
SELECT :now - (:count - n) * {_SECOND}, 'ada', 'resurrect', '{{"ids":["dead-' || n || '"]}}', 1, '1 resurrected'
FROM place
"""
_FACTS = (
    "INSERT OR IGNORE INTO Lanes (Queue, Type) SELECT DISTINCT Queue, Type FROM JobsHot",
    "INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc) SELECT DISTINCT Queue, 0 FROM Lanes",
    "INSERT INTO StatsSummary (Queue, Shard, SucceededTotal, FailedTotal) SELECT Name, '', 1000, 100 FROM Queues",
    """
    INSERT INTO Workers (WorkerId, Host, StartedAtUtc, HeartbeatUtc, Capacity, Active, State)
    SELECT DISTINCT WorkerId, 'instance-1', :now, :now, 16, 16, 'running' FROM JobsHot WHERE WorkerId IS NOT NULL
    """,
    """
    INSERT INTO Circuits (Type, State, FailureTimes, OpenedAtUtc, ResetAtUtc)
    VALUES ('type-1-1', 1, '[]', :now, :now)
    """,
)


@dataclass(frozen=True, slots=True)
class Amount:
    """
    How many rows each table has. Buckets are for each second of one queue, backwards from now.
    """

    archived: int
    dead: int
    hot: int
    logged: int
    buckets: int

    @property
    def jobs(self) -> int:
        """
        Jobs in all three pillars.
        """
        return self.archived + self.dead + self.hot


def write_file(path: Path, amount: Amount) -> None:
    """
    A database with that many rows in a new file.
    """
    store = SqliteStore(path)
    store.prepare()
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -262144")
        connection.execute("BEGIN")
        with _indexes_at_the_end(connection):
            _fill(connection, amount)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _fill(connection: sqlite3.Connection, amount: Amount) -> None:
    now = time.time_ns() // 1_000
    rows = (
        (_ARCHIVED, amount.archived, 7 * _DAY),
        (_DEAD, amount.dead, 30 * _DAY),
        (_HOT, amount.hot, 60 * _MINUTE),
        (_LOG, amount.logged, 0),
        (_BUCKETS, amount.buckets, 0),
    )
    for statement, count, span in rows:
        _run(connection, statement, {"count": count, "span": span, "now": now})
    for statement in _FACTS:
        _run(connection, statement, {"now": now})


def _run(connection: sqlite3.Connection, statement: str, values: Mapping[str, int]) -> None:
    connection.execute(statement, {name: value for name, value in values.items() if f":{name}" in statement})


@contextmanager
def _indexes_at_the_end(connection: sqlite3.Connection) -> Iterator[None]:
    """
    Builds the pillars' indexes after the rows: in one go that is far faster than row by row.
    """
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name LIKE 'Jobs%' AND sql IS NOT NULL"
    indexes = connection.execute(query).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, text in indexes:
        connection.execute(text)
