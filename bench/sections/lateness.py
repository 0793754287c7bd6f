"""
Whether heartbeats come in time when everything around them is busy.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

from bench.figures import Figure, at_most
from bench.rig import Noop, attended, build_engine, lingering, wait_until
from bench.size import Size
from chokaq_core.contracts import Job, Profile
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.ports import Beat, BeatAnswer, JobStore
from chokaq_core.stores.sqlite import SqliteStore

SPINNING = 16
LEASES = 1_000
WRITERS = 6
INTERVAL = timedelta(seconds=1)


class Spin(Job):
    """
    The payload of a job that spins.
    """


class TimedBeats:
    """
    A store that notes when each heartbeat was sent and when it was stored.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.sent_at: list[float] = []
        self.stored_at: list[float] = []

    def beat(self, beat: Beat) -> BeatAnswer:
        """
        Passes the heartbeat on.
        """
        self.sent_at.append(time.monotonic())
        answer = self._store.beat(beat)
        self.stored_at.append(time.monotonic())
        return answer

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


class Crowd:
    """
    Handlers that spin in Python on threads, and handlers that wait on the event loop, until they are let go.
    """

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.profile = Profile("bench")
        self._is_over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._may_end = asyncio.Event()
        self.profile.handler("bench.spin.v1")(self._spin)
        self.profile.handler("bench.wait.v1")(self._wait)

    def let_go(self) -> None:
        """
        Lets all handlers end.
        """
        self._is_over.set()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._may_end.set)

    def _spin(self, _job: Spin) -> None:
        self.begun.append("spin")
        turns = 0
        while not self._is_over.is_set():
            turns += 1

    async def _wait(self, _job: Noop) -> None:
        self._loop = asyncio.get_running_loop()
        self.begun.append("wait")
        await self._may_end.wait()


def measure(size: Size) -> Iterator[Figure]:
    """
    How late heartbeats are stored, at worst and as a rule.
    """
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        beats = _beats(Path(folder) / "jobs.db", size.of(10, 4))
    late = _lateness(beats)
    took = [stored - sent for sent, stored in zip(beats.sent_at, beats.stored_at, strict=False)]
    yield Figure(f"lateness of {len(late)} heartbeats, at worst", max(late), "s", budget=at_most(1))
    yield Figure("lateness, median", statistics.median(late), "s")
    yield Figure("of it in the store, at worst", max(took), "s")


def _beats(path: Path, count: int) -> TimedBeats:
    store = SqliteStore(path)
    store.prepare()
    timed = TimedBeats(store)
    crowd = Crowd()
    rules = HeartbeatRules(interval_min=INTERVAL, interval_max=INTERVAL)
    engine = build_engine(cast("JobStore", timed), crowd.profile, lingering(LEASES), heartbeat=rules)
    engine.producer.enqueue_many([*(Spin() for _ in range(SPINNING)), *(Noop(n=n) for n in range(LEASES - SPINNING))])
    with attended(engine):
        try:
            wait_until(lambda: len(crowd.begun) == LEASES, "all jobs run")
            with _writing_processes(path):
                first = len(timed.stored_at)
                wait_until(lambda: len(timed.stored_at) > first + count, "enough heartbeats are stored")
        finally:
            crowd.let_go()
    store.close()
    del timed.sent_at[:first], timed.stored_at[:first]
    return timed


def _lateness(beats: TimedBeats) -> list[float]:
    """
    How much later than an interval after the last one each heartbeat was stored.
    """
    pairs = zip(beats.stored_at, beats.stored_at[1:], strict=False)
    return [later - earlier - INTERVAL.total_seconds() for earlier, later in pairs]


@contextmanager
def _writing_processes(path: Path) -> Iterator[None]:
    """
    Other processes that write to the same file as fast as they can.
    """
    command = [sys.executable, "-m", "bench.writing_process", str(path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(WRITERS)]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()
