"""
How long a lone job waits for its handler when a worker is there.
"""

from __future__ import annotations

import asyncio
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.contenders.bare_loop import BareLoop
from bench.figures import Figure, at_most, percentile
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import JobContext, Profile
from chokaq_core.stores.sqlite import SqliteStore

BARE = "two bare commits and a queue between two threads"
IDLE_SECONDS = 5.0
LOAD_JOBS = 15
LOAD_SECONDS = 0.01


def measure(size: Size) -> Iterator[Figure]:
    """
    Both kinds of handler, and what no runner can be faster than; then after seconds of idleness, and under load.
    """
    count = size.of(300, 60)
    lone = _in_folder(_latencies, _async_profile, count)
    yield from _percentiles("`async def` handler", lone)
    yield from _percentiles("`def` handler", _in_folder(_latencies, _blocking_profile, count))
    bare = _in_folder(_bare, count)
    yield from _percentiles(BARE, bare)
    ratio = percentile(lone, 50) / percentile(bare, 50)
    yield Figure(f"p50: `async def` handler / {BARE}", ratio, "×", budget=at_most(3.0))
    idle = _in_folder(_latencies, _async_profile, size.of(8, 3), pause=IDLE_SECONDS)
    yield from _percentiles(f"after {IDLE_SECONDS:g} s without work", idle)
    yield from _percentiles("under load, one of 16 slots free", _in_folder(_under_load, count))


def _in_folder(act: Callable[..., list[float]], *arguments: object, **options: object) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        return act(Path(folder), *arguments, **options)


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


def _latencies(
    folder: Path, make_profile: Callable[[Callable[[], object]], Profile], count: int, *, pause: float = 0.0
) -> list[float]:
    """
    Seconds from the call of `enqueue` to the first line of the handler.

    The next job comes when this one is archived, and after a pause.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    started: list[float] = []
    engine = build_engine(store, make_profile(lambda: started.append(time.perf_counter())), lingering(16))
    asked: list[float] = []
    # A visit that finds nothing is over at once, so the first job is there before it.
    engine.producer.enqueue(Noop(n=0))
    with attended(engine):
        for n in range(1, count + 1):
            wait_until(lambda: store.counts().archive == len(asked) + 1, "the job before is archived")
            time.sleep(pause)
            asked.append(time.perf_counter())
            engine.producer.enqueue(Noop(n=n))
        wait_until(lambda: store.counts().archive == len(asked) + 1, "the last job is archived")
    store.close()
    return [start - ask for ask, start in zip(asked, started[1:], strict=True)]


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


def _bare(folder: Path, count: int) -> list[float]:
    """
    A row committed and its number handed to a thread, which commits a claim and would call the handler.
    """
    floor = BareLoop(folder)
    calls: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    started: queue.SimpleQueue[float] = queue.SimpleQueue()

    def serve() -> None:
        while calls.get():
            floor.claim()
            started.put(time.perf_counter())

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    values = [_hand_over(floor, calls, started) for _ in range(count)]
    calls.put(None)
    server.join()
    floor.close()
    return values


def _hand_over(floor: BareLoop, calls: queue.SimpleQueue[int | None], started: queue.SimpleQueue[float]) -> float:
    begun = time.perf_counter()
    floor.enqueue_each(1)
    calls.put(1)
    return started.get() - begun
