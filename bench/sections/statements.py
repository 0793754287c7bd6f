"""
How many round trips a job costs, from its enqueue to its row in the archive.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure, promised
from bench.rig import Noop, attended, build_engine, draining, lingering, noop_profile, wait_until
from bench.size import Size
from chokaq_core.stores.sqlite import SqliteStore


def measure(size: Size) -> Iterator[Figure]:
    """
    Jobs in bulk with small and large batches, and one job alone.
    """
    count = size.of(10_000, 2_000)
    for capacity, limit in ((16, 0.10), (100, 0.03)):
        with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
            value = _in_bulk(Path(folder), capacity, count)
        yield Figure(f"for each of {count:,} jobs in bulk, capacity {capacity}", value, budget=promised(limit))
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        yield Figure("for one job alone on a warm worker", _alone(Path(folder)), budget=promised(3))


def _in_bulk(folder: Path, capacity: int, count: int) -> float:
    """
    Everything is counted: the enqueues, the worker's coming and going, its turns, its heartbeats.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    counting = CountingStore(store)
    engine = build_engine(counting.as_store(), noop_profile(), draining(capacity))
    engine.producer.enqueue_many(Noop(n=n) for n in range(count))
    engine.attend()
    total = counting.total
    engine.stop()
    if store.counts().archive != count:
        raise AssertionError(f"{store.counts()} after {count} jobs")
    store.close()
    return total / count


def _alone(folder: Path) -> int:
    """
    The worker is attended and has run a job before; its looks at an idle store are not this job's.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    counting = CountingStore(store)
    engine = build_engine(counting.as_store(), noop_profile(), lingering(16))
    with attended(engine):
        engine.producer.enqueue(Noop(n=1))
        wait_until(lambda: store.counts().archive == 1, "the first job is archived")
        before = counting.total
        engine.producer.enqueue(Noop(n=2))
        wait_until(lambda: store.counts().archive == 2, "the second job is archived")
        total = counting.total - before
    store.close()
    return total
