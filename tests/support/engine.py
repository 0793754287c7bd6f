"""
An engine on a real store with waits near zero, and ears for what it says.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from chokaq_core.contracts import Job, JobSerializer, Middleware, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob
from chokaq_core.domain.value import Value, field, replace
from chokaq_core.engine.lone_waiter import LoneWaiter
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.idempotency import IdempotencyRules
from chokaq_core.policy.running import ExecutionRules, WorkerRules
from chokaq_core.ports import ClaimStore, Store
from tests.support.polling import WAIT_SECONDS, wait_until

MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
NOTE = "test.note.v1"

QUICK_WORKER = WorkerRules(
    max_concurrency=4,
    polling_interval=20 * MILLISECOND,
    no_queues_sleep_interval=20 * MILLISECOND,
    idle_linger=timedelta(0),
    drain_budget=5 * MINUTE,
    shutdown_grace_period=timedelta(0),
    retry_base_delay=MILLISECOND,
)
ONE_AT_A_TIME = replace(QUICK_WORKER, max_concurrency=1)
QUICK_RETRY = RetryRules(base_delay=timedelta(0), jitter_max_delay=timedelta(0))
QUICK_HEARTBEAT = HeartbeatRules(interval_min=20 * MILLISECOND, interval_max=20 * MILLISECOND)


class Note(Job):
    """
    The payload of most tests.
    """

    text: str = ""


class RecordedEvents:
    """
    Keeps every event, and lets a test wait for one.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: list[Event] = []

    def publish(self, events: Sequence[Event]) -> None:
        with self._changed:
            self._events.extend(events)
            self._changed.notify_all()

    def all(self) -> list[Event]:
        """
        Every event so far, in order.
        """
        with self._changed:
            return list(self._events)

    def of(self, name: EventName, job_id: str | None = None) -> list[Event]:
        """
        The events of a name, about one job or about any.
        """
        with self._changed:
            return [e for e in self._events if e.name is name and job_id in {None, e.job.id if e.job else None}]

    def names(self, job_id: str | None = None) -> list[str]:
        """
        The titles of all events in order, about one job or about anything.
        """
        with self._changed:
            events = [e for e in self._events if job_id in {None, e.job.id if e.job else None}]
        return [event.name.title for event in events]

    def wait_for(self, name: EventName, job_id: str | None = None, count: int = 1) -> list[Event]:
        """
        The events of a name, once there are at least `count`.
        """
        with self._changed:
            is_there = self._changed.wait_for(lambda: len(self.of(name, job_id)) >= count, WAIT_SECONDS)
            assert is_there, f"{count} x {name.title} never came; there were {self.names()}"
            return self.of(name, job_id)


class RecordedWakes:
    """
    Keeps the delay of every wake; with `error` set, none can be sent.
    """

    def __init__(self) -> None:
        self.delays: list[timedelta | None] = []
        self.error: OSError | None = None
        self.visible = 0

    def send(self, *, delay: timedelta | None = None) -> None:
        if self.error is not None:
            raise self.error
        self.delays.append(delay)

    def waiting(self) -> int:
        if self.error is not None:
            raise self.error
        return self.visible


class Gates:
    """
    Hands out events for handlers to wait on, and opens all of them at the end of the test.
    """

    def __init__(self) -> None:
        self._gates: list[threading.Event] = []

    def new(self) -> threading.Event:
        """
        A closed gate.
        """
        gate = threading.Event()
        self._gates.append(gate)
        return gate

    def open_all(self) -> None:
        """
        Lets everybody through.
        """
        for gate in self._gates:
            gate.set()


@dataclass(slots=True)
class Rig:
    """
    An engine with everything that it was built from.
    """

    engine: Engine
    store: Store
    catalog: Catalog
    events: RecordedEvents
    wakes: RecordedWakes

    def enqueue(self, job: Job | None = None, **options: Any) -> str:  # noqa: ANN401 - the producer's own options
        """
        Enqueues a job, a `Note` if none is given; answers its id.
        """
        return self.engine.producer.enqueue(job if job is not None else Note(), **options).job_id

    def enqueue_many(self, count: int) -> list[str]:
        """
        Enqueues so many notes, numbered in their texts; answers their ids.
        """
        return [self.enqueue(Note(text=str(number))) for number in range(count)]

    def visit(self) -> None:
        """
        One visit on this thread.
        """
        self.engine.attend()

    def wait_until_at_rest(self) -> None:
        """
        Waits until neither thread that uses the store will do so by itself: both wait for a call, without a limit.
        """
        threads = [t for t in self.engine._threads.threads if t.name != "chokaq-watch"]  # noqa: SLF001 - nobody else knows them
        wait_until(lambda: all(rests(thread) for thread in threads))

    @contextmanager
    def visiting(self) -> Iterator[threading.Thread]:
        """
        A visit on a thread of its own; the block's end waits for the end of the visit.
        """
        thread = threading.Thread(target=self.engine.attend, name="visit", daemon=True)
        thread.start()
        yield thread
        join(thread)

    def run(self, job: Job | None = None, **options: Any) -> str:  # noqa: ANN401 - the producer's own options
        """
        Enqueues a job and visits once; answers the job's id.
        """
        job_id = self.enqueue(job, **options)
        self.visit()
        return job_id

    def hot(self, job_id: str) -> HotJob:
        """
        The job, which must be active.
        """
        found = self.store.find(job_id)
        assert isinstance(found, HotJob), found
        return found

    def archived(self, job_id: str) -> ArchivedJob:
        """
        The job, which must be archived.
        """
        found = self.store.find(job_id)
        assert isinstance(found, ArchivedJob), found
        return found

    def dead(self, job_id: str) -> DeadJob:
        """
        The job, which must be in the DLQ.
        """
        found = self.store.find(job_id)
        assert isinstance(found, DeadJob), found
        return found


class Setup(Value):
    """
    What an engine is built from besides its store and handlers; everything is quick unless a test says otherwise.
    """

    worker: WorkerRules = QUICK_WORKER
    execution: ExecutionRules = field(default_factory=ExecutionRules)
    retry: RetryRules = QUICK_RETRY
    heartbeat: HeartbeatRules = QUICK_HEARTBEAT
    envelope: EnvelopeLimits = field(default_factory=EnvelopeLimits)
    middleware: tuple[Middleware, ...] = ()
    serializer: JobSerializer | None = None
    claims: ClaimStore | None = None
    idempotency: IdempotencyRules = field(default_factory=IdempotencyRules)
    on_exhausted: Callable[[], object] | None = None
    pipe: Callable[..., Any] | None = None


def build_rig(store: Store, profiles: Sequence[Profile], setup: Setup) -> Rig:
    """
    An engine on the store.
    """
    events, wakes = RecordedEvents(), RecordedWakes()
    catalog = Catalog(profiles, pipe=setup.pipe, idempotency=setup.idempotency)
    engine = Engine(
        store,
        catalog,
        wakes,
        events,
        rules=EngineRules(
            worker=setup.worker,
            execution=setup.execution,
            retry=setup.retry,
            heartbeat=setup.heartbeat,
            envelope=setup.envelope,
            idempotency=setup.idempotency,
        ),
        middleware=setup.middleware,
        serializer=setup.serializer,
        claims=setup.claims,
        on_exhausted=setup.on_exhausted,
    )
    return Rig(engine, store, catalog, events, wakes)


def profile_of(handler: Callable[..., Any], type_key: str = NOTE, **options: Any) -> Profile:  # noqa: ANN401
    """
    A profile with one handler of notes.
    """
    profile = Profile(type_key)
    options.setdefault("job_type", Note)
    profile.handler(type_key, **options)(handler)
    return profile


def rests(thread: threading.Thread) -> bool:
    """
    Whether a thread waits for a notification and for nothing else.
    """
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the one way to see what a thread does
    waits = (threading.Condition.wait.__code__, LoneWaiter.wait.__code__)
    return frame is not None and frame.f_code in waits and frame.f_locals["timeout"] is None


def join(thread: threading.Thread) -> None:
    """
    Waits for a thread that must end.
    """
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive(), f"{thread.name} never ended"


def wait(event: threading.Event) -> None:
    """
    Waits for what must happen.
    """
    assert event.wait(WAIT_SECONDS), "what the test waits for never happened"
