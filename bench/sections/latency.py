"""
How long a lone job waits for its handler when a worker is there.
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.contenders.bare_loop import BareLoop
from bench.figures import Figure, percentile
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import Profile
from chokaq_core.stores.sqlite import SqliteStore


def measure(size: Size) -> Iterator[Figure]:
    """
    Both kinds of handler, and what no runner can be faster than.
    """
    count = size.of(300, 60)
    profiles = {"async def": _async_profile, "def": _blocking_profile}
    for kind, make_profile in profiles.items():
        with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
            yield from _percentiles(f"`{kind}` handler", _latencies(Path(folder), make_profile, count))
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        yield from _percentiles("two bare commits and a queue between two threads", _bare(Path(folder), count))


def _percentiles(what: str, values: Sequence[float]) -> Iterator[Figure]:
    for percent in (50, 95):
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


def _latencies(folder: Path, make_profile: Callable[[Callable[[], object]], Profile], count: int) -> list[float]:
    """
    Seconds from the call of `enqueue` to the first line of the handler; the next job comes when this one is archived.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    started: list[float] = []
    engine = build_engine(store, make_profile(lambda: started.append(time.perf_counter())), lingering(16))
    asked: list[float] = []
    with attended(engine):
        for n in range(count):
            asked.append(time.perf_counter())
            engine.producer.enqueue(Noop(n=n))
            wait_until(lambda: store.counts().archive == len(asked), "the job is archived")
    store.close()
    return [start - ask for ask, start in zip(asked, started, strict=True)][1:]


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
