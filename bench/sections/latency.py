"""
How long a lone job waits for its handler when a worker is there.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from bench.contenders.bare_loop import BareLoop
from bench.figures import Figure, at_most, percentile
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import JobContext, Profile
from chokaq_core.stores.sqlite import SqliteStore

T = TypeVar("T")

BARE = "two bare commits and a queue between two threads"
REST_SECONDS = 0.002
"""Between the end of one job and the enqueue of the next."""
IDLE_SECONDS = 5.0
LOAD_JOBS = 15
LOAD_SECONDS = 0.01


def measure(size: Size) -> Iterator[Figure]:
    """
    Both kinds of handler, and what no runner can be faster than; then after seconds of idleness, and under load.
    """
    count = size.of(300, 60)
    lone, bare = _in_folder(_lone_and_bare, count)
    yield from _percentiles("`async def` handler", lone)
    yield from _percentiles(BARE, bare)
    ratio = percentile(lone, 50) / percentile(bare, 50)
    yield Figure(f"p50: `async def` handler / {BARE}", ratio, "×", budget=at_most(3.0))
    yield from _percentiles("`def` handler", _in_folder(_latencies, _blocking_profile, count, REST_SECONDS))
    idle = _in_folder(_latencies, _async_profile, size.of(8, 3), IDLE_SECONDS)
    yield from _percentiles(f"after {IDLE_SECONDS:g} s without work", idle)
    yield from _percentiles("under load, one of 16 slots free", _in_folder(_under_load, count))


def _in_folder(act: Callable[..., T], *arguments: object) -> T:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        return act(Path(folder), *arguments)


def _percentiles(what: str, values: Sequence[float]) -> Iterator[Figure]:
    for percent in (50, 95, 99):
        yield Figure(f"{what}: p{percent}", percentile(values, percent) * 1_000, "ms")


def _async_profile(note: Callable[[], object]) -> Profile:
    profile = Profile("bench")

    @profile.handler("bench.noop.v1")
    async def handle(_job: Noop) -> None:
        note()

    return profile


def _blocking_profile(note: Callable[[], object]) -> Profile:
    profile = Profile("bench")

    @profile.handler("bench.noop.v1")
    def handle(_job: Noop) -> None:
        note()

    return profile


def _lone_and_bare(folder: Path, count: int) -> tuple[list[float], list[float]]:
    """
    Both in turns, each on a file of its own and after the same rest: a processor that rested begins slowly.
    """
    lone: list[float] = []
    bare: list[float] = []
    with _worker(folder, _async_profile) as run_lone, _bare_pair(folder / "bare") as run_bare:
        for _ in range(count):
            time.sleep(REST_SECONDS)
            lone.append(run_lone())
            time.sleep(REST_SECONDS)
            bare.append(run_bare())
    return lone, bare


def _latencies(
    folder: Path, make_profile: Callable[[Callable[[], object]], Profile], count: int, rest: float
) -> list[float]:
    with _worker(folder, make_profile) as run_lone:
        values = []
        for _ in range(count):
            time.sleep(rest)
            values.append(run_lone())
    return values


@contextmanager
def _worker(folder: Path, make_profile: Callable[[Callable[[], object]], Profile]) -> Iterator[Callable[[], float]]:
    """
    A worker that is there; gives what runs one job: seconds from the call of `enqueue` to its handler's first line.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    started: queue.SimpleQueue[float] = queue.SimpleQueue()
    engine = build_engine(store, make_profile(lambda: started.put(time.perf_counter())), lingering(16))
    runs = itertools.count(1)

    def run() -> float:
        asked = time.perf_counter()
        engine.producer.enqueue(Noop())
        latency = started.get() - asked
        number = next(runs)
        wait_until(lambda: store.counts().archive == number, "the job is archived")
        return latency

    # A visit that finds nothing is over at once, so the first job is there before it.
    engine.producer.enqueue(Noop())
    with attended(engine):
        started.get()
        number = next(runs)
        wait_until(lambda: store.counts().archive == number, "the first job is archived")
        yield run
    store.close()


def _under_load(folder: Path, count: int) -> list[float]:
    """
    The same beside fifteen jobs that each come back as soon as they end, so that turns follow each other all the time.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    started: list[float] = []
    is_over = threading.Event()
    profile = Profile("bench")

    @profile.handler("bench.noop.v1")
    async def handle(job: Noop, ctx: JobContext) -> None:
        if job.n < 0:
            await asyncio.sleep(LOAD_SECONDS)
            if not is_over.is_set():
                ctx.enqueue(job)
        else:
            started.append(time.perf_counter())

    engine = build_engine(store, profile, lingering(LOAD_JOBS + 1))
    asked: list[float] = []
    engine.producer.enqueue_many(Noop(n=-1) for _ in range(LOAD_JOBS))
    with attended(engine):
        for n in range(count):
            asked.append(time.perf_counter())
            engine.producer.enqueue(Noop(n=n))
            wait_until(lambda: len(started) == len(asked), "the job starts")
        is_over.set()
        wait_until(lambda: store.counts().hot == 0, "the load ends")
    store.close()
    return [start - ask for ask, start in zip(asked, started, strict=True)]


@contextmanager
def _bare_pair(folder: Path) -> Iterator[Callable[[], float]]:
    """
    Gives what commits a row and hands over to a thread, which commits a claim and would call the handler.
    """
    folder.mkdir()
    floor = BareLoop(folder)
    calls: queue.SimpleQueue[int] = queue.SimpleQueue()
    started: queue.SimpleQueue[float] = queue.SimpleQueue()

    def serve() -> None:
        while calls.get():
            floor.claim()
            started.put(time.perf_counter())

    def run() -> float:
        asked = time.perf_counter()
        floor.enqueue_each(1)
        calls.put(1)
        return started.get() - asked

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield run
    finally:
        calls.put(0)
        server.join()
        floor.close()
