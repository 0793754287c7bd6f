"""
A day in the life of a queue: everything that can become of a job, told to every instrument, and the books balance.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import IdempotentJob, Job, JobContext, Profile
from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import FatalJobError, ThrottledError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.hosting.readings import Readings as GaugeReadings
from chokaq_core.operations.commands import Ids, JobCommand, Verb
from chokaq_core.operations.job_commands import JobCommands
from chokaq_core.operations.seals import Seals
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.health import HealthRules
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import CancelOutcome, Claim, QueueChange, Store, Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore
from chokaq_core.telemetry.gauges import Gauges
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import MILLISECOND, MINUTE, ONE_AT_A_TIME, SECOND, Gates, Note, Rig, profile_of, wait
from tests.support.faulty_store import FaultyStore
from tests.support.readings import Readings

ANN = Actor("ann", Role.OPERATE)
ZOMBIE = RescueRules(fetched_job_timeout=10 * MINUTE, processing_zombie_timeout=10 * MINUTE, scan_interval=60 * MINUTE)
ONCE = "day.once.v1"


@pytest.fixture
def clocked_store(clock: SteppedClock) -> Iterator[Store]:
    """
    A store in memory, at the time of `clock`, with circuits.
    """
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield store


@pytest.fixture
def faulty(clocked_store: Store) -> FaultyStore:
    """
    Faults on that store.
    """
    return FaultyStore(clocked_store)


class Once(IdempotentJob):
    """
    A job that shares its work with others of its key.
    """

    order: str

    @property
    def idempotency_key(self) -> str:
        return self.order


class Handlers:
    """
    The handlers of the day, and what they wait for.
    """

    def __init__(self, gates: Gates) -> None:
        self.is_running, self.late_begun = threading.Event(), threading.Event()
        self.may_end = gates.new()
        self.dependency_is_up = False
        self.has_failed_once = False

    def success(self, job: Note) -> None:
        return None

    def failure(self, job: Note) -> None:
        raise OSError("the payload's own words")

    def fatal(self, job: Note) -> None:
        raise FatalJobError("never again")

    def throttled(self, job: Note, ctx: JobContext) -> None:
        if ctx.attempt == 1:
            raise ThrottledError("slow down", timedelta(0))

    async def timeout(self, job: Note) -> None:
        await asyncio.Event().wait()

    async def cancel(self, job: Note) -> None:
        self.is_running.set()
        await asyncio.Event().wait()

    def late(self, job: Note) -> None:
        self.late_begun.set()
        wait(self.may_end)

    def flaky(self, job: Note) -> None:
        if not self.dependency_is_up:
            raise OSError("connection refused")

    def once(self, job: Once) -> str:
        if job.order == "8" and not self.has_failed_once:
            self.has_failed_once = True
            raise OSError("connection refused")
        return job.order


def kind(name: str, handler: Callable[..., Any], **options: Any) -> Profile:  # noqa: ANN401 - of a registration
    """
    A profile with one handler, for a model of its own.
    """
    return profile_of(handler, f"day.{name}.v1", job_type=type(f"Note{name}", (Note,), {}), **options)


class Day:
    """
    The script: each step is one thing that happens, and what it leaves behind.
    """

    def __init__(self, open_rig: OpenRig, faulty: FaultyStore, clock: SteppedClock, gates: Gates) -> None:
        self.handlers = handlers = Handlers(gates)
        self.rig: Rig = open_rig(
            kind("success", handlers.success),
            kind("failure", handlers.failure, max_attempts=2),
            kind("fatal", handlers.fatal),
            kind("throttled", handlers.throttled),
            kind("timeout", handlers.timeout, timeout=30 * MILLISECOND),
            kind("cancel", handlers.cancel),
            kind("late", handlers.late),
            kind("flaky", handlers.flaky, max_attempts=1),
            profile_of(handlers.once, ONCE, job_type=Once),
            store=faulty.as_store(),
            worker=replace(ONE_AT_A_TIME, prefetch=9),
            claims=faulty.as_store(),
        )
        self.store, self.faulty, self.clock = self.rig.store, faulty, clock
        self.rescue = Rescue(self.store, self.rig.catalog, ZOMBIE, RetryRules(), self.rig.events)
        self.commands = JobCommands(
            self.store,
            self.rig.events,
            Seals(b"key" * 11),
            check_payload=self.rig.engine.producer.stored_text,
            wake=lambda: None,
        )

    def enqueue(self, name: str, job: Job | None = None, **options: Any) -> str:  # noqa: ANN401 - the producer's
        model = self.rig.catalog.find(f"day.{name}.v1")
        assert model is not None
        assert model.job_type is not None
        job = job if job is not None else model.job_type()
        return self.rig.enqueue(job, queue=options.pop("queue", "day"), **options)

    def jobs_that_end_in_their_own_way(self) -> None:
        for name in ("success", "success", "failure", "fatal", "throttled", "timeout"):
            self.enqueue(name)
            self.rig.visit()

    def a_cancel_of_a_running_job_and_one_of_a_waiting_job(self) -> None:
        waiting = self.enqueue("success", delay=MINUTE)
        self.commands.run(JobCommand(Verb.CANCEL, Ids((waiting,))), ANN)
        running = self.enqueue("cancel")
        with self.rig.visiting():
            wait(self.handlers.is_running)
            assert self.store.cancel([running], "ann") == [CancelOutcome.MARKED]

    def a_worker_that_is_killed_with_one_job_running_and_one_fetched(self) -> None:
        self.enqueue("success", priority=20)
        self.enqueue("success")
        self.store.register(WorkerFacts("gone", "host", 1))
        assert len(self.store.turn(Turn("gone", 1, want=1, prefetch=1)).claimed) == 2
        self.rescue.scan()
        self.clock.advance(11 * MINUTE)
        report = self.rescue.scan()
        assert (report.recovered, report.buried) == (1, 1)
        self.rig.visit()

    def a_job_that_is_buried_alive_and_comes_to_an_end_too_late(self) -> None:
        self.faulty.go_away("beat")
        self.enqueue("late")
        with self.rig.visiting():
            wait(self.handlers.late_begun)
            self.rig.events.wait_for(EventName.JOB_HEARTBEAT_WRITE_FAILED)
            self.clock.advance(11 * MINUTE)
            assert self.rescue.scan().buried == 1
            self.handlers.may_end.set()
        self.faulty.come_back()

    def work_behind_keys(self) -> None:
        elsewhere = Claim(ONCE, "9", "a-job-elsewhere")
        self.store.claim_key(elsewhere, 30 * MINUTE)
        for order in ("7", "7", "8", "", "9"):
            self.enqueue("once", Once(order=order))
            self.rig.visit()
        self.store.release_key(elsewhere)
        self.clock.advance(MINUTE)
        self.rig.visit()

    def a_dependency_that_fails_until_its_circuit_opens_and_comes_back(self) -> None:
        for _ in range(8):
            self.enqueue("flaky")
        self.rig.visit()
        self.handlers.dependency_is_up = True
        self.clock.advance(31 * SECOND)
        self.rig.visit()

    def jobs_that_wait_till_tomorrow(self) -> None:
        later = self.enqueue("success", delay=60 * MINUTE, idempotency_key="report-of-today")
        assert self.enqueue("success", delay=60 * MINUTE, idempotency_key="report-of-today") == later
        self.enqueue("success", queue="held")
        self.store.change_queue("held", QueueChange(is_paused=True))
        self.enqueue("success", queue="next")

    def told(self) -> Readings:
        """
        What it all comes to: the events one by one, then a look at the gauges.
        """
        readings, tags = Readings(), Tags(MetricRules())
        metrics = Metrics(tags, readings.instruments)
        for event in self.rig.events.all():
            metrics.publish([event])
        periods = {"rescue": MINUTE}
        self.clock.advance(7 * SECOND)
        GaugeReadings(self.store, Gauges(tags, readings.instruments), HealthRules(), periods).refresh()
        return readings


@pytest.fixture
def day(open_rig: OpenRig, faulty: FaultyStore, clock: SteppedClock, gates: Gates) -> Day:
    day = Day(open_rig, faulty, clock, gates)
    day.jobs_that_end_in_their_own_way()
    day.a_cancel_of_a_running_job_and_one_of_a_waiting_job()
    day.a_worker_that_is_killed_with_one_job_running_and_one_fetched()
    day.a_job_that_is_buried_alive_and_comes_to_an_end_too_late()
    day.work_behind_keys()
    day.a_dependency_that_fails_until_its_circuit_opens_and_comes_back()
    day.jobs_that_wait_till_tomorrow()
    return day


def test_every_instrument_tells_of_the_day_and_the_books_balance(day: Day) -> None:
    readings, counts = day.told(), day.store.counts()
    points = {name: readings.points(name) for name in readings.metrics()}
    sums = {name: sum(points[f"chokaq.jobs.{name}"].values()) for name in ("enqueued", "completed", "dlq")}
    failed_flaky = points["chokaq.jobs.failed"].pop(("day", "day.flaky.v1", "OSError"))
    put_off = points["chokaq.circuits.events"].pop(("day.flaky.v1", "open", "rejected"))

    assert points.pop("chokaq.jobs.enqueued") == {
        ("day", "day.success.v1"): 6,
        ("day", "day.failure.v1"): 1,
        ("day", "day.fatal.v1"): 1,
        ("day", "day.throttled.v1"): 1,
        ("day", "day.timeout.v1"): 1,
        ("day", "day.cancel.v1"): 1,
        ("day", "day.late.v1"): 1,
        ("day", ONCE): 5,
        ("day", "day.flaky.v1"): 8,
        ("held", "day.success.v1"): 1,
        ("next", "day.success.v1"): 1,
    }
    assert points.pop("chokaq.jobs.completed") == {
        ("day", "day.success.v1"): 3,
        ("day", "day.throttled.v1"): 1,
        ("day", ONCE): 5,
        ("day", "day.flaky.v1"): 8 - failed_flaky,
    }
    assert points.pop("chokaq.jobs.dlq") == {
        ("day", "day.failure.v1", "MaxRetriesExceeded"): 1,
        ("day", "day.fatal.v1", "FatalError"): 1,
        ("day", "day.timeout.v1", "Timeout"): 1,
        ("day", "day.success.v1", "Cancelled"): 1,
        ("day", "day.cancel.v1", "Cancelled"): 1,
        ("day", "day.success.v1", "Zombie"): 1,
        ("day", "day.late.v1", "Zombie"): 1,
        ("day", "day.flaky.v1", "MaxRetriesExceeded"): failed_flaky,
    }
    assert points.pop("chokaq.jobs.failed") == {
        ("day", "day.failure.v1", "OSError"): 2,
        ("day", "day.fatal.v1", "FatalJobError"): 1,
        ("day", "day.throttled.v1", "ThrottledError"): 1,
        ("day", ONCE, "OSError"): 1,
    }
    assert points.pop("chokaq.jobs.retried") == {
        ("day", "day.failure.v1", "1"): 1,
        ("day", "day.throttled.v1", "1"): 1,
        ("day", ONCE, "1"): 1,
    }
    # One of the work behind keys was put off and ran again; what was put off by its circuit never began.
    starts = {"success": 3, "failure": 2, "fatal": 1, "throttled": 2, "timeout": 1, "cancel": 1, "late": 1}
    assert points.pop("chokaq.jobs.queue_lag") == {
        **{("day", f"day.{name}.v1"): count for name, count in starts.items()},
        ("day", ONCE): 7,
        ("day", "day.flaky.v1"): 8,
    }
    assert points.pop("chokaq.jobs.processing_duration") == {
        **{("day", f"day.{name}.v1"): count for name, count in starts.items()},
        ("day", ONCE): 6,
        ("day", "day.flaky.v1"): 8,
    }
    assert points.pop("chokaq.workers.active") == {("day",): 0}
    assert points.pop("chokaq.jobs.state_transition_conflicts") == {("day", "day.late.v1", "complete"): 1}
    assert points.pop("chokaq.idempotency.claims") == {
        ("claimed",): 4,
        ("completed",): 3,
        ("completed_duplicate",): 1,
        ("released",): 1,
        ("empty_key",): 1,
        ("in_progress_duplicate",): 1,
    }
    assert points.pop("chokaq.circuits.events") == {
        ("day.flaky.v1", "open", "opened"): 1,
        ("day.flaky.v1", "half_open", "half_opened"): 1,
        ("day.flaky.v1", "half_open", "probe_acquired"): 1,
        ("day.flaky.v1", "closed", "closed"): 1,
    }
    assert (failed_flaky >= 5, put_off >= 1, failed_flaky + put_off) == (True, True, 8)
    missed_beats = len(day.rig.events.of(EventName.JOB_HEARTBEAT_WRITE_FAILED))
    assert points.pop("chokaq.jobs.heartbeat_failures") == {("day", "day.late.v1"): missed_beats}
    # The rescue was last heard of before the work behind keys: a minute, a break of the circuit, and seven seconds ago.
    assert points == {
        "chokaq.queue.lag_max": {("next",): 7},
        "chokaq.queue.depth": {("default",): 0, ("day",): 1, ("held",): 1, ("next",): 1},
        "chokaq.queue.paused": {("default",): 0, ("day",): 0, ("held",): 1, ("next",): 0},
        "chokaq.dlq.depth": {("default",): 0, ("day",): 7 + failed_flaky, ("held",): 0, ("next",): 0},
        "chokaq.heartbeat.age_max": {(): 0},
        "chokaq.workers.alive": {(): 0},
        "chokaq.timers.silence": {("rescue",): 60 + 31 + 7},
    }
    assert (counts.hot, counts.archive, counts.dlq) == (3, 17 - failed_flaky, 7 + failed_flaky)
    assert sums == {"enqueued": 27, "completed": counts.archive, "dlq": counts.dlq}
    assert sums["enqueued"] == counts.archive + counts.dlq + counts.hot
