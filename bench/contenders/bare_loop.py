"""
The floor: the same rows through the same tables and indexes by bare SQL, one thread, no runner.

Each batch of 100 is one transaction: what was claimed before is moved to the archive, and the next jobs are claimed.
Nothing is checked, decided, called, counted or remembered.
"""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

from chokaq_core.domain.job import new_job_id
from chokaq_core.stores.sqlite import SqliteStore

BATCH = 100

_ENQUEUE = """
INSERT INTO JobsHot (Id, Queue, Type, Payload, DueAtUtc, CreatedAtUtc, LastUpdatedUtc, LifetimeStartUtc, IsReady)
VALUES (?1, 'default', 'bench.noop.v1', ?2, ?3, ?3, ?3, ?3, 1)
"""
_CLAIM = """
UPDATE JobsHot SET
    Status = 2, IsReady = 0, WorkerId = 'bench', LeaseNumber = LeaseNumber + 1, AttemptCount = AttemptCount + 1,
    StartedAtUtc = ?1, HeartbeatUtc = ?1, LastUpdatedUtc = ?1
WHERE Id IN (
    SELECT Id FROM JobsHot WHERE IsReady = 1 AND Queue = 'default' AND Type = 'bench.noop.v1'
    ORDER BY Priority DESC, DueAtUtc, Id LIMIT ?2
)
RETURNING Id, Payload
"""
_ARCHIVE = """
INSERT INTO JobsArchive (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FinishedAtUtc, DurationMs
)
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, ?1, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, ?1, 0.0
FROM JobsHot WHERE Id IN (SELECT value FROM json_each(?2))
"""
_LEAVE = "DELETE FROM JobsHot WHERE Id IN (SELECT value FROM json_each(?1))"


class BareLoop:
    """
    One connection with the store's own pragmas.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / "jobs.db"
        store = SqliteStore(path)
        store.prepare()
        store.close()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("PRAGMA cache_size = -65536")
        self._connection.execute("PRAGMA temp_store = MEMORY")

    def enqueue_each(self, count: int) -> None:
        """
        One commit for each row.
        """
        for n in range(count):
            self._enqueue([n])

    def enqueue_bulk(self, count: int) -> bool:
        """
        One commit for each hundred.
        """
        for start in range(0, count, BATCH):
            self._enqueue(range(start, min(start + BATCH, count)))
        return True

    def drain(self) -> None:
        """
        Archives one batch and claims the next, until a claim finds nothing.
        """
        claimed = self._turn([])
        while claimed:
            claimed = self._turn(claimed)

    def claim(self) -> list[str]:
        """
        One claim in a transaction of its own.
        """
        return self._turn([])

    def left(self) -> int:
        """
        Rows that are not in the archive.
        """
        count: int = self._connection.execute("SELECT count(*) FROM JobsHot").fetchone()[0]
        return count

    def close(self) -> None:
        """
        Closes the connection.
        """
        self._connection.close()

    def _enqueue(self, numbers: range | list[int]) -> None:
        now = _now()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_ENQUEUE, [(new_job_id(), f'{{"n":{n}}}', now) for n in numbers])
        self._connection.execute("COMMIT")

    def _turn(self, ended: list[str]) -> list[str]:
        now = _now()
        self._connection.execute("BEGIN IMMEDIATE")
        if ended:
            ids = json.dumps(ended)
            self._connection.execute(_ARCHIVE, (now, ids))
            self._connection.execute(_LEAVE, (ids,))
        claimed = [job_id for job_id, _ in self._connection.execute(_CLAIM, (now, BATCH)).fetchall()]
        self._connection.execute("COMMIT")
        return claimed


def _now() -> int:
    return time.time_ns() // 1_000
