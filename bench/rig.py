"""
An engine on a store, with jobs that do nothing, for the sections to measure.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from chokaq_core.contracts import Job, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.events import Event
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.running import WorkerRules
from chokaq_core.ports import Events, JobStore

PATIENCE_SECONDS = 60.0


class Noop(Job):
    """
    The payload of a job that does nothing.
    """

    n: int = 0


async def do_nothing(job: Noop) -> None:
    """
    The handler of a job that does nothing.
    """


class Silence:
    """
    Takes events and wakes, and leaves them there: the engine without telemetry and without a wake queue.
    """

    def publish(self, events: Sequence[Event]) -> None:
        """
        Takes events. Faults are printed: a benchmark has none, so one of them explains what went wrong.
        """
        for event in events:
            if event.error is not None:
                print(f"{event.name.title}: {event.error!r} {dict(event.facts)}", file=sys.stderr)

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Takes a wake.
        """

    def waiting(self) -> int:
        """
        None: nobody keeps them.
        """
        return 0


def noop_profile() -> Profile:
    """
    One handler, `async def`, that does nothing.
    """
    profile = Profile("bench")
    profile.handler("bench.noop.v1")(do_nothing)
    return profile


def waiting_profile(seconds: float, *, is_async: bool) -> Profile:
    """
    One handler that waits: on the event loop, or on a thread that it blocks.
    """

    async def wait(_job: Noop) -> None:
        await asyncio.sleep(seconds)

    def block(_job: Noop) -> None:
        time.sleep(seconds)

    profile = Profile("bench")
    profile.handler("bench.noop.v1")(wait if is_async else block)
    return profile


def build_engine(
    store: JobStore,
    profile: Profile,
    worker: WorkerRules,
    *,
    heartbeat: HeartbeatRules | None = None,
    events: Events | None = None,
) -> Engine:
    """
    An engine with these rules; without events it has no telemetry.
    """
    silence = Silence()
    rules = EngineRules(worker=worker, heartbeat=heartbeat if heartbeat is not None else HeartbeatRules())
    return Engine(store, Catalog([profile]), silence, events if events is not None else silence, rules=rules)


def draining(capacity: int, prefetch: int = 0) -> WorkerRules:
    """
    A worker that leaves as soon as it runs dry.
    """
    return WorkerRules(max_concurrency=capacity, prefetch=prefetch, idle_linger=timedelta(0))


def lingering(capacity: int) -> WorkerRules:
    """
    A worker that stays, and looks for work only when it is told to.
    """
    long = timedelta(hours=1)
    return WorkerRules(max_concurrency=capacity, polling_interval=long, idle_linger=long, drain_budget=2 * long)


@contextmanager
def attended(engine: Engine) -> Iterator[None]:
    """
    Visits the engine on a thread of its own, and stops it at the end.
    """
    visit = threading.Thread(target=engine.attend, name="bench-visit", daemon=True)
    visit.start()
    try:
        yield
    finally:
        engine.stop()
        visit.join(PATIENCE_SECONDS)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """
    Waits until something is so.

    Raises:
        TimeoutError: it did not become so within a minute.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_SECONDS:g} s in vain until {what}")
        time.sleep(0.001)
