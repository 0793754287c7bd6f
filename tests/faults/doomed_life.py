"""
The life of a process that is going to be killed: rescue, operators, maintenance, and an engine with jobs of every kind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from chokaq_core.contracts import Job
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.events import EventName
from chokaq_core.domain.job import HotJob
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.engine.scans import Maintenance, Poll, Pulse, Rescue
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.policy.retention import RetentionRules
from chokaq_core.policy.running import WorkerRules
from chokaq_core.ports import Edit, QueueChange, Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.faults.death import Death, DoomedStore, instrument
from tests.faults.kill_points import HANDLER, KillPoint, Moment
from tests.faults.skew import skew_host
from tests.faults.tasks import PLAIN, Again, Hold, Once, OnceAsync, RunBook, Task, Tasks
from tests.support.engine import MILLISECOND, QUICK_RETRY, RecordedEvents, RecordedWakes
from tests.support.polling import wait_until

NO_CIRCUITS = CircuitRules(is_enabled=False)
CIRCUITS = CircuitRules(failure_threshold=1, break_duration=5 * MILLISECOND, probe_timeout=50 * MILLISECOND)
"""Every failure opens its type's circuit, and a probe follows soon."""
AT_ONCE = RescueRules(
    fetched_job_timeout=timedelta(0), processing_zombie_timeout=timedelta(0), scan_interval=timedelta(hours=1)
)
"""Whoever holds a job is dead by the time of the scan."""
QUICK = EngineRules(
    worker=WorkerRules(
        max_concurrency=3,
        prefetch=2,
        polling_interval=5 * MILLISECOND,
        no_queues_sleep_interval=5 * MILLISECOND,
        idle_linger=timedelta(0),
        drain_budget=timedelta(minutes=5),
        shutdown_grace_period=timedelta(0),
        retry_base_delay=MILLISECOND,
    ),
    retry=QUICK_RETRY,
    heartbeat=HeartbeatRules(interval_min=5 * MILLISECOND, interval_max=5 * MILLISECOND),
)
GHOST_QUEUE, WORK_QUEUE = "ghost", "work"
MOMENTS = {"begin": Moment.BEFORE, "inside": Moment.DURING, "end": Moment.AFTER}


@dataclass(frozen=True, slots=True)
class Orders:
    """
    What the process does and where it dies; plain values, since they travel as JSON.

    Attributes:
        step, moment: the point to die at; empty for a life to the end.
        number: which time it comes by there.
        statement: which statement of a call to die before; None means its commit.
        ghosts: ids of jobs that were prepared for the operators, by command.
        has_circuits: whether failures open circuits.
        skew_seconds: how far the process's clock is ahead.
    """

    folder: str
    round: int
    ghosts: dict[str, str]
    has_circuits: bool = False
    step: str = ""
    moment: str = ""
    number: int = 1
    statement: int | None = None
    skew_seconds: float = 0.0

    def as_values(self) -> dict[str, Any]:
        """
        For JSON.
        """
        return asdict(self)

    def death(self) -> Death:
        """
        What waits for the process.
        """
        at = KillPoint(self.step, Moment(self.moment)) if self.step else None
        return Death(at, self.number, self.statement)


def live(orders: Orders) -> Death:
    """
    Lives until the end or the kill; answers what it came by.
    """
    death, folder = orders.death(), Path(orders.folder)
    instrument(death)
    if orders.skew_seconds:
        skew_host(timedelta(seconds=orders.skew_seconds))
    book = RunBook(folder / "runs.txt")
    catalog = Tasks(book, round_=orders.round, passed=lambda part: death.come_by(HANDLER, MOMENTS[part])).catalog()
    rules = CIRCUITS if orders.has_circuits else NO_CIRCUITS
    with closing(SqliteStore(folder / "jobs.db", circuit_rules=rules)) as store:
        doomed = DoomedStore(store, death).as_store()
        _scan(doomed, catalog)
        _operate(doomed, orders)
        Maintenance(doomed, RetentionRules(batch_size=2)).run()
        _work(doomed, catalog, orders, book)
    return death


def _scan(store: Store, catalog: Catalog) -> None:
    events = RecordedEvents()
    for _ in range(2):
        Rescue(store, catalog, AT_ONCE, QUICK_RETRY, events).scan()
    Poll(store, RecordedWakes(), 4, events).scan()
    Pulse(store).scan()


def _operate(store: Store, orders: Orders) -> None:
    ids = {command: [orders.ghosts.get(command, "nobody")] for command in ("cancel", "resurrect", "edit", "purge")}
    store.cancel(ids["cancel"], "ann", _note("cancel"))
    store.resurrect(ids["resurrect"], "ann", None, _note("resurrect"))
    store.edit(ids["edit"], Edit(priority=7), "ann", _note("edit"))
    store.purge(ids["purge"], _note("purge"))
    for is_paused in (True, False):
        store.change_queue(GHOST_QUEUE, QueueChange(is_paused=is_paused), _note("change_queue"))


def _note(command: str) -> LogNote:
    return LogNote("ann", command, "[]")


def _work(store: Store, catalog: Catalog, orders: Orders, book: RunBook) -> None:
    """
    An engine from its first visit to its stop.

    Short jobs of every kind run. Then three hold, with others fetched behind them: one is cancelled and another one
    starts in its place; at the stop those that hold are handed back, and those that were fetched are released.
    """
    events = RecordedEvents()
    engine = Engine(store, catalog, RecordedWakes(), events, rules=QUICK, claims=store)
    enqueue = _enqueuing(engine, orders.round, book)
    enqueue(_short_jobs(orders.round), priority=20)
    raw = RawRequest(PLAIN, engine.producer.stored_text(PLAIN, "{}"), queue=WORK_QUEUE)
    engine.producer.enqueue_raw(raw)
    engine.set_capacity(QUICK.worker.max_concurrency)
    engine.expect_work()
    engine.attend()
    held = enqueue([Hold(round=orders.round) for _ in range(6)], priority=5)
    visit = threading.Thread(target=engine.attend, daemon=True)
    visit.start()
    wait_until(lambda: len(_running(store, held)) == 3)
    store.cancel(_running(store, held)[:1], "ann", _note("cancel"))
    events.wait_for(EventName.JOB_TIMED_OUT_OR_CANCELLED)
    wait_until(lambda: len(_running(store, held)) == 3)
    assert engine.stop()
    visit.join()


def _short_jobs(round_: int) -> list[Job]:
    does = ["ok", "ok", "fail", "fatal", "later"]
    once = [Once(order=f"order-{round_}-{n}", does=d) for n, d in enumerate(["ok", "fail"])]
    once_async = [OnceAsync(order=f"order-{round_}-{n}", does=d) for n, d in enumerate(["ok", "fail"])]
    return [*(Task(does=d) for d in does), Again(), Again(), *once, *once_async]


def _enqueuing(engine: Engine, round_: int, book: RunBook) -> Callable[..., list[str]]:
    """
    Enqueues jobs one by one, and writes down which were accepted.
    """
    numbers = iter(range(1000))

    def enqueue(jobs: list[Job], priority: int) -> list[str]:
        ids = []
        for job in jobs:
            job_id = f"{_word(job)}-{round_}-{next(numbers)}"
            engine.producer.enqueue(job, queue=WORK_QUEUE, priority=priority, job_id=job_id)
            book.note("accepted", job_id)
            ids.append(job_id)
        return ids

    return enqueue


def _word(job: Job) -> str:
    """
    What the job's id tells of it.
    """
    does: str = getattr(job, "does", "")
    return f"{type(job).__name__.lower()}{does and '.'}{does}"


def _running(store: Store, job_ids: list[str]) -> list[str]:
    found = [store.find(job_id) for job_id in job_ids]
    return [job.id for job in found if isinstance(job, HotJob) and job.progress is not None]
