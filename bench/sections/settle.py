"""
What a settle costs when the archive is full: what it costs when it is empty.
"""

from __future__ import annotations

import gc
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from bench.figures import Figure, promised
from bench.size import Size
from chokaq_core.domain import moves
from chokaq_core.domain.job import NewJob, new_job_id
from chokaq_core.ports import Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore

BATCH = 50
RATIO = 1.5

# The rows of one day after another, with ids in the order of their times, as they come.
_FILL = """
INSERT INTO JobsArchive (
    Id, Queue, Type, Payload, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId, DueAtUtc, CreatedAtUtc,
    StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, FinishedAtUtc, DurationMs
)
WITH RECURSIVE
    place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM place WHERE n + 1 < :count),
    moment AS (SELECT n, :past + n * 1000 AS at FROM place)
SELECT
    printf('01890000-0000-7000-8000-%012d', n), 'queue-' || (n % 4), 'type-' || (n / 4 % 2), '{"n":1}', 10, 1, 1, 0,
    'worker', at, at, at, at, at, at, 1.5
FROM moment
"""
_PAST = 1_700_000_000_000_000
"""A time in 2023, in microseconds."""


class Settler:
    """
    A worker that claims jobs, which is not timed, and then settles all of them in one turn.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._seqs = count(1)
        store.register(WorkerFacts("bench", "bench", BATCH))

    def sample(self) -> float:
        """
        Milliseconds of one turn that moves a batch to the archive.

        Raises:
            AssertionError: a job was not moved.
        """
        self._store.enqueue([NewJob(new_job_id(), "bench.noop.v1", '{"n":1}') for _ in range(BATCH)])
        answer = self._store.turn(Turn("bench", next(self._seqs), want=BATCH))
        settlements = tuple(moves.complete(job.lease, 1.5) for job in answer.claimed)
        begun = time.perf_counter()
        settled = self._store.turn(Turn("bench", next(self._seqs), settlements))
        seconds = time.perf_counter() - begun
        if len(settlements) != BATCH or settled.stale:
            raise AssertionError(f"settled {len(settlements)} of {BATCH}, {len(settled.stale)} stale")
        return seconds * 1000


def measure(size: Size) -> Iterator[Figure]:
    """
    An empty archive beside a full one, in turns.
    """
    full, samples = size.of(5_000_000, 300_000), size.of(300, 80)
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        stores = [_store(Path(folder) / "empty.db", 0), _store(Path(folder) / "full.db", full)]
        settlers = [Settler(store) for store in stores]
        times: list[list[float]] = [[], []]
        gc.collect()
        for _ in range(samples):
            for settler, own in zip(settlers, times, strict=True):
                own.append(settler.sample())
        for store in stores:
            store.close()
    empty_p50, full_p50 = (statistics.median(own) for own in times)
    yield Figure("settle of 50, empty archive", empty_p50, "ms")
    yield Figure(f"settle of 50, {full:,} archived jobs", full_p50, "ms")
    yield Figure("settle: full / empty", full_p50 / empty_p50, "×", budget=promised(RATIO))


def _store(path: Path, archived: int) -> SqliteStore:
    store = SqliteStore(path)
    store.prepare()
    store.rest()
    if archived:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA cache_size = -262144")
            connection.execute("BEGIN")
            connection.execute(_FILL, {"count": archived, "past": _PAST})
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store
