"""
How many statements a worker's heartbeat takes: one for each interval, however many jobs run.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from bench.counting import CountingStore
from bench.figures import Figure, promised
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import Profile
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.stores.sqlite import SqliteStore

INTERVAL = timedelta(milliseconds=300)


def measure(size: Size) -> Iterator[Figure]:
    """
    One running job, and a thousand.
    """
    intervals = size.of(10, 4)
    for running in (1, 1_000):
        with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
            value = _statements_an_interval(Path(folder), running, intervals)
        yield Figure(f"with {running:,} running {'job' if running == 1 else 'jobs'}", value, budget=promised(1))


def _statements_an_interval(folder: Path, running: int, intervals: int) -> float:
    """
    Every statement counts: a worker whose slots are all taken has nothing to say but its heartbeat.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    counting = CountingStore(store)
    profile, begun, release = _waiting_jobs()
    rules = HeartbeatRules(interval_min=INTERVAL, interval_max=INTERVAL)
    engine = build_engine(counting.as_store(), profile, lingering(running), heartbeat=rules)
    engine.producer.enqueue_many(Noop(n=n) for n in range(running))
    with attended(engine):
        wait_until(lambda: len(begun) == running, "all jobs run")
        statements = _statements_of(counting, intervals)
        silent = store.suspects(intervals * INTERVAL, running).jobs
        release()
    store.close()
    if silent:
        raise AssertionError(f"{len(silent)} of {running} running jobs had no heartbeat")
    return statements / intervals


def _statements_of(counting: CountingStore, intervals: int) -> int:
    """
    Statements of so many intervals, counted from one heartbeat on.
    """
    first = counting.calls["beat"]
    wait_until(lambda: counting.calls["beat"] > first, "the worker beats")
    before = counting.total
    time.sleep((intervals + 0.5) * INTERVAL.total_seconds())
    return counting.total - before


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
