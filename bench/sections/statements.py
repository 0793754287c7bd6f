"""
How many round trips a job costs, from its enqueue to its row in the archive.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure, promised
from bench.rig import Noop, attended, build_engine, draining, lingering, noop_profile, wait_until
from bench.size import Size
from chokaq_core.ports import JobStore, Store
from chokaq_core.stores.sqlite import SqliteStore

BULK = ((16, 0.10), (100, 0.03))
"""Capacities, and the statements that each job of a bulk may cost there."""

ALONE = 3
"""Statements that one job alone may cost."""


def measure(size: Size) -> Iterator[Figure]:
    """
    Jobs in bulk with small and large batches, and one job alone.
    """
    count = size.of(10_000, 2_000)
    for capacity, limit in BULK:
        with _counting_store() as (counting, look):
            value = in_bulk(counting.as_store(), look, lambda: counting.total, capacity, count)
        yield Figure(f"for each of {count:,} jobs in bulk, capacity {capacity}", value, budget=promised(limit))
    with _counting_store() as (counting, look):
        value = alone(counting.as_store(), look, lambda: counting.total)
    yield Figure("for one job alone on a warm worker", value, budget=promised(ALONE))


def in_bulk(store: JobStore, look: Store, statements: Callable[[], int], capacity: int, count: int) -> float:
    """
    Statements for each job. All count: the enqueues, the worker's coming and going, its turns, its heartbeats.

    Args:
        store: whose statements are counted.
        look: the same jobs, looked at without being counted.
        statements: how many there have been so far.
    """
    before = statements()
    engine = build_engine(store, noop_profile(), draining(capacity))
    engine.producer.enqueue_many(Noop(n=n) for n in range(count))
    engine.attend()
    total = statements() - before
    engine.stop()
    if look.counts().archive != count:
        raise AssertionError(f"{look.counts()} after {count} jobs")
    return total / count


def alone(store: JobStore, look: Store, statements: Callable[[], int]) -> int:
    """
    Statements for one job whose worker is attended and has run one before; looks at an idle store are not this job's.
    """
    engine = build_engine(store, noop_profile(), lingering(16))
    with attended(engine):
        engine.producer.enqueue(Noop(n=1))
        wait_until(lambda: look.counts().archive == 1, "the first job is archived")
        before = statements()
        engine.producer.enqueue(Noop(n=2))
        wait_until(lambda: look.counts().archive == 2, "the second job is archived")
        return statements() - before


@contextmanager
def _counting_store() -> Iterator[tuple[CountingStore, Store]]:
    with (
        tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder,
        closing(SqliteStore(Path(folder) / "jobs.db")) as store,
    ):
        store.prepare()
        yield CountingStore(store), store
