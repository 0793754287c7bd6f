"""
How many statements a worker's heartbeat takes: one for each interval, however many jobs run.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure, promised
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import Profile
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.ports import Store
from chokaq_core.stores.sqlite import SqliteStore

INTERVAL = timedelta(milliseconds=300)
RUNNING = (1, 1_000)


def measure(size: Size) -> Iterator[Figure]:
    """
    One running job, and a thousand.
    """
    for running in RUNNING:
        with (
            tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder,
            closing(SqliteStore(Path(folder) / "jobs.db")) as store,
        ):
            store.prepare()
            counting = CountingStore(store)
            total = partial(getattr, counting, "total")
            value = an_interval(counting, store, total, running, intervals=size.of(10, 4))
        yield Figure(name_of(running), value, budget=promised(1))


def name_of(running: int) -> str:
    """
    How the table names a worker with so many running jobs.
    """
    return f"with {running:,} running {'job' if running == 1 else 'jobs'}"


def an_interval(
    counting: CountingStore,
    look: Store,
    statements: Callable[[], int],
    running: int,
    *,
    intervals: int,
    interval: timedelta = INTERVAL,
) -> float:
    """
    Statements of an interval. All count: a worker whose slots are all taken has nothing to say but its heartbeat.

    Args:
        counting: whose statements are counted.
        look: the same jobs, looked at without being counted.
        statements: how many there have been so far.
    """
    profile, begun, release = _waiting_jobs()
    rules = HeartbeatRules(interval_min=interval, interval_max=interval)
    engine = build_engine(counting.as_store(), profile, lingering(running), heartbeat=rules)
    engine.producer.enqueue_many(Noop(n=n) for n in range(running))
    with attended(engine):
        wait_until(lambda: len(begun) == running, "all jobs run")
        total = _statements_of(counting, statements, intervals * interval + interval / 2)
        silent = look.suspects(intervals * interval, running).jobs
        release()
    if silent:
        raise AssertionError(f"{len(silent)} of {running} running jobs had no heartbeat")
    return total / intervals


def _statements_of(counting: CountingStore, statements: Callable[[], int], span: timedelta) -> int:
    """
    Statements within a span, counted from one heartbeat on.
    """
    first = counting.calls["beat"]
    wait_until(lambda: counting.calls["beat"] > first, "the worker beats")
    before = statements()
    time.sleep(span.total_seconds())
    return statements() - before


def _waiting_jobs() -> tuple[Profile, list[int], Callable[[], object]]:
    """
    A handler that waits, what has begun, and a call that lets all of them end.
    """
    begun: list[int] = []
    waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    profile = Profile("bench")

    @profile.handler("bench.wait.v1")
    async def wait(job: Noop) -> None:
        event = asyncio.Event()
        waiting.append((asyncio.get_running_loop(), event))
        begun.append(job.n)
        await event.wait()

    def release() -> None:
        for loop, event in waiting:
            loop.call_soon_threadsafe(event.set)

    return profile, begun, release
