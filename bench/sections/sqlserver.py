"""
The same budgets on a SQL Server, counted at the driver, and how fast it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.counting import CountingStore
from bench.figures import Figure, promised
from bench.rig import Noop, build_engine, draining, noop_profile
from bench.sections import heartbeat, statements
from bench.size import Size

if TYPE_CHECKING:
    from bench.sql_server import SqlServerRig

VARIABLE = "CHOKAQ_TEST_SQLSERVER"
INTERVAL = timedelta(seconds=2)
"""Between two heartbeats: longer than one takes on a slow server."""


def measure(size: Size) -> Iterator[Figure]:
    """
    Needs a server; the environment names it.
    """
    named = os.environ.get(VARIABLE)
    if named is None:
        yield Figure("SQL Server", None, note=f"left out: {VARIABLE} names none")
        return
    from bench.sql_server import sql_server  # noqa: PLC0415 - only where a server is named

    with sql_server(named) as rig:
        note = "the batches go as procedures there" if rig.has_procedures else ""
        yield Figure(rig.version(), None, note=note)
        yield from _statements(rig, size)
        yield from _heartbeats(rig, size)
        yield from _rates(rig, size)


def _statements(rig: SqlServerRig, size: Size) -> Iterator[Figure]:
    count = size.of(4_000, 1_000)
    for capacity, limit in statements.BULK:
        rig.empty()
        value = statements.in_bulk(rig.store, rig.look, rig.statements, capacity, count)
        what = f"statements for each of {count:,} jobs in bulk, capacity {capacity}"
        yield Figure(what, value, budget=promised(limit))
    rig.empty()
    value = statements.alone(rig.store, rig.look, rig.statements)
    yield Figure("statements for one job alone on a warm worker", value, budget=promised(statements.ALONE))


def _heartbeats(rig: SqlServerRig, size: Size) -> Iterator[Figure]:
    for running in heartbeat.RUNNING:
        rig.empty()
        counting = CountingStore(rig.store)
        value = heartbeat.an_interval(
            counting, rig.look, rig.statements, running, intervals=size.of(10, 4), interval=INTERVAL
        )
        yield Figure(f"heartbeat: statements an interval {heartbeat.name_of(running)}", value, budget=promised(1))


def _rates(rig: SqlServerRig, size: Size) -> Iterator[Figure]:
    """
    Of one worker process that is alone with the server; with others it is the server that counts.
    """
    singles, many = size.of(500, 200), size.of(4_000, 1_000)
    rig.empty()
    engine = build_engine(rig.store, noop_profile(), draining(80, 64))
    yield Figure(
        "enqueue one by one", _rate(singles, lambda: _enqueue_each(engine.producer.enqueue, singles)), "jobs/s"
    )
    bulk = _rate(many, lambda: engine.producer.enqueue_many(Noop(n=n) for n in range(many)))
    yield Figure("enqueue in bulk", bulk, "jobs/s")
    yield Figure("drain, 80 slots, 64 prefetched", _rate(singles + many, engine.attend), "jobs/s")
    engine.stop()
    if rig.look.counts().archive != singles + many:
        raise AssertionError(f"{rig.look.counts()} after {singles + many} jobs")


def _enqueue_each(enqueue: Callable[[Noop], object], count: int) -> None:
    for n in range(count):
        enqueue(Noop(n=n))


def _rate(count: int, action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return count / (time.perf_counter() - begun)
