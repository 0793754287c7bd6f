"""
Every event in the situation that it is for: an id without one fails here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import azure.functions as func
import pytest

from chokaq_core.config.schedules import schedules_of
from chokaq_core.contracts import IdempotentJob, JobContext, Profile
from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import (
    CommandRefusedError,
    ConfigurationError,
    FatalJobError,
    JobPostponedError,
    StoreError,
    StoreUnavailableError,
    ThrottledError,
)
from chokaq_core.domain.events import EventName
from chokaq_core.domain.value import replace
from chokaq_core.engine import worker
from chokaq_core.engine.scans import Rescue
from chokaq_core.hosting import triggers
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.stores import prepare
from chokaq_core.localhost.invocation import LocalContext, LocalTraceContext
from chokaq_core.operations.commands import Ids, JobCommand, Verb
from chokaq_core.operations.job_commands import JobCommands
from chokaq_core.operations.seals import Seals
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import Store, Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore, schema
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import (
    MILLISECOND,
    MINUTE,
    ONE_AT_A_TIME,
    QUICK_HEARTBEAT,
    Gates,
    Note,
    RecordedEvents,
    Rig,
    profile_of,
    wait,
)
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until

ZOMBIE = RescueRules(fetched_job_timeout=10 * MINUTE, processing_zombie_timeout=10 * MINUTE, scan_interval=60 * MINUTE)
SHORT = 100 * MILLISECOND


class Once(IdempotentJob):
    """
    A job whose work is done once.
    """

    @property
    def idempotency_key(self) -> str:
        return "once"


@dataclass
class Scene:
    """
    What situations are made of, and ears for what is told in them.
    """

    open_rig: OpenRig
    faulty: FaultyStore
    clock: SteppedClock
    gates: Gates
    monkeypatch: pytest.MonkeyPatch
    folder: Path
    rigs: list[Rig] = field(default_factory=list)
    cores: list[Core] = field(default_factory=list)
    others: RecordedEvents = field(default_factory=RecordedEvents)

    def rig(self, handler: Callable[..., Any] = lambda job: None, **options: Any) -> Rig:  # noqa: ANN401
        """
        An engine with one handler; the options are the registration's and the engine's.
        """
        registered = {key: options.pop(key) for key in ("job_type", "timeout", "max_attempts") if key in options}
        profile: Profile = profile_of(handler, **registered)
        self.rigs.append(self.open_rig(profile, store=options.pop("store", self.faulty.as_store()), **options))
        return self.rigs[-1]

    def core(self, **settings: str) -> Core:
        """
        An app, with settings by the last two parts of their names.
        """
        self.cores.append(Core(self.folder, environ={f"ChokaQ__{name}": value for name, value in settings.items()}))
        return self.cores[-1]

    def rescue(self) -> Rescue:
        """
        The rescue of the store, armed.
        """
        rescue = Rescue(self.faulty.as_store(), mock.Mock(find=lambda _: None), ZOMBIE, RetryRules(), self.others)
        rescue.scan()
        return rescue

    def call(self, core: Core, name: str, trigger: object) -> None:
        """
        Calls one of an app's functions as a host does.
        """
        app = func.FunctionApp()
        triggers.register(app, core, schedules_of(core.settings))
        found = {function.get_function_name(): function.get_user_function() for function in app.get_functions()}
        found[name](trigger, LocalContext(name, str(self.folder), LocalTraceContext()))

    def heard(self) -> set[int]:
        """
        The ids of all that was told.
        """
        events = [event for rig in self.rigs for event in rig.events.all()] + self.others.all()
        recent = [event.fields["event_id"] for core in self.cores for event in core.telemetry.recent.since(0)]
        return {event.name.id for event in events} | {number for number in recent if isinstance(number, int)}


@pytest.fixture
def faulty(clocked_store: Store) -> FaultyStore:
    """
    Faults on the store whose time stands still.
    """
    return FaultyStore(clocked_store)


@pytest.fixture
def scene(
    open_rig: OpenRig,
    faulty: FaultyStore,
    clock: SteppedClock,
    gates: Gates,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Scene]:
    monkeypatch.setattr(worker, "END_SECONDS", 0.1)
    scene = Scene(open_rig, faulty, clock, gates, monkeypatch, tmp_path)
    yield scene
    for core in scene.cores:
        core.stop()


# Workers


def a_job_runs(scene: Scene) -> None:
    scene.rig().run()


def an_orderly_stop(scene: Scene) -> None:
    rig = scene.rig()
    rig.run()
    rig.engine.stop()


def the_store_goes_and_comes_back(scene: Scene) -> None:
    rig = scene.rig()
    rig.enqueue()
    scene.faulty.go_away("turn")
    rig.visit()
    scene.faulty.come_back()
    rig.visit()


def a_thread_ends_by_a_fault_of_ours(scene: Scene) -> None:
    rig = scene.rig()
    rig.enqueue()
    scene.faulty.alter("turn", lambda _: 1 / 0, when=lambda answer: bool(answer.claimed))
    rig.visit()


def the_capacity_changes(scene: Scene) -> None:
    scene.rig().engine.set_capacity(2)


def every_slot_is_stuck_and_more_was_fetched(scene: Scene) -> None:
    gate = scene.gates.new()
    rig = scene.rig(lambda job: wait(gate), timeout=SHORT, worker=replace(ONE_AT_A_TIME, prefetch=2))
    rig.enqueue_many(3)
    rig.visit()


def fetched_jobs_cannot_be_given_back(scene: Scene) -> None:
    gate, begun = scene.gates.new(), threading.Event()

    def work(job: Note) -> None:
        begun.set()
        wait(gate)

    rules = replace(ONE_AT_A_TIME, prefetch=2, release_timeout=MILLISECOND)
    rig = scene.rig(work, worker=rules)
    rig.enqueue_many(3)
    with rig.visiting():
        wait(begun)
        scene.faulty.go_away("turn")
        rig.engine.stop()
    scene.faulty.come_back()


def a_handler_goes_on_through_the_shutdown(scene: Scene) -> None:
    gate, begun = scene.gates.new(), threading.Event()

    def work(job: Note) -> None:
        begun.set()
        wait(gate)

    rig = scene.rig(work)
    rig.enqueue()
    with rig.visiting():
        wait(begun)
        rig.engine.stop()


def a_handler_stops_for_the_shutdown(scene: Scene) -> None:
    rig = scene.rig(_sleep)
    scene.monkeypatch.setattr(worker, "END_SECONDS", 30.0)
    rig.enqueue()
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.engine.stop()


def the_machine_has_no_thread_to_give(scene: Scene) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("chokaq-handler"):
            msg = "can't start new thread"
            raise RuntimeError(msg)
        start(thread)

    scene.monkeypatch.setattr(threading.Thread, "start", refuse)
    scene.rig().run()


# Jobs


def a_running_job_is_cancelled(scene: Scene) -> None:
    rig = scene.rig(_sleep)
    job_id = rig.enqueue()
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.store.cancel([job_id], "ann")


def a_circuit_opens_before_a_fetched_job_starts(scene: Scene) -> None:
    with closing(SqliteStore(clock=scene.clock.now)) as store:
        store.prepare()
        rig = scene.rig(_raise(OSError("down")), max_attempts=1, store=store, worker=replace(ONE_AT_A_TIME, prefetch=9))
        rig.enqueue_many(10)
        rig.visit()
        rig.engine.stop()


def a_running_job_is_taken_for_dead(scene: Scene) -> None:
    _buried_alive(scene)


def the_result_of_a_buried_job_comes_late(scene: Scene) -> None:
    _buried_alive(scene, is_told=False)


def heartbeats_fail_and_the_job_goes_on(scene: Scene) -> None:
    rig = scene.rig(lambda job: wait(gate), heartbeat=replace(QUICK_HEARTBEAT, failure_threshold=2))
    gate = scene.gates.new()
    rig.enqueue()
    scene.faulty.go_away("beat")
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_HEARTBEAT_DEGRADED)
        gate.set()


def heartbeats_fail_and_the_job_is_given_up(scene: Scene) -> None:
    heartbeat = replace(QUICK_HEARTBEAT, failure_threshold=2, cancel_on_failure=True)
    rig = scene.rig(_sleep, heartbeat=heartbeat)
    rig.enqueue()
    scene.faulty.go_away("beat")
    rig.visit()


def middleware_puts_a_job_off(scene: Scene) -> None:
    def put_off(job: object, ctx: JobContext, call_next: Callable[[], object]) -> object:
        raise JobPostponedError("not now", MINUTE)

    scene.rig(middleware=(put_off,)).run()


def a_job_fails_for_good(scene: Scene) -> None:
    scene.rig(_raise(FatalJobError("never again"))).run()


def the_other_side_asks_for_patience(scene: Scene) -> None:
    scene.rig(_raise(ThrottledError("slow down", MINUTE))).run()


def a_job_fails_until_its_attempts_are_used_up(scene: Scene) -> None:
    scene.rig(_raise(OSError("down")), max_attempts=2).run()


def work_behind_a_key_is_claimed(scene: Scene) -> None:
    scene.rig(job_type=Once, claims=scene.faulty.as_store()).run(Once())


def the_wake_of_a_retry_cannot_be_sent(scene: Scene) -> None:
    rig = scene.rig(_raise(OSError("down")), retry=RetryRules(base_delay=MINUTE))
    rig.enqueue()
    rig.wakes.error = OSError("queue service away")
    rig.visit()


# Enqueues


def an_active_job_holds_the_key(scene: Scene) -> None:
    rig = scene.rig()
    for _ in range(2):
        rig.enqueue(idempotency_key="key")


def the_wake_of_an_enqueue_cannot_be_sent(scene: Scene) -> None:
    rig = scene.rig()
    rig.wakes.error = OSError("queue service away")
    rig.enqueue()


# Rescue


def the_first_scan(scene: Scene) -> None:
    scene.rescue()


def a_worker_is_gone_with_a_running_and_a_fetched_job(scene: Scene) -> None:
    rescue, rig = scene.rescue(), scene.rig()
    rig.enqueue_many(2)
    rig.store.register(WorkerFacts("gone", "host", 1))
    assert len(rig.store.turn(Turn("gone", 1, want=1, prefetch=1)).claimed) == 2
    scene.clock.advance(11 * MINUTE)
    rescue.scan()


def a_scan_fails(scene: Scene) -> None:
    rescue = scene.rescue()
    scene.faulty.go_away("timer_started")
    with pytest.raises(StoreUnavailableError):
        rescue.scan()


# Storage


def a_new_database(scene: Scene) -> None:
    with closing(SqliteStore()) as store:
        prepare(store, scene.others)


def a_script_is_broken(scene: Scene) -> None:
    script = scene.folder / "0001_broken.sql"
    script.write_text("-- A script with a mistake.\nCREATE TABEL Nothing;\n")
    scene.monkeypatch.setattr(schema, "SCRIPTS", (script,))
    with closing(SqliteStore()) as store, pytest.raises(StoreError):
        prepare(store, scene.others)


# Operators


def a_command_is_given(scene: Scene) -> None:
    _command(scene, Role.OPERATE)


def a_command_is_given_without_the_role(scene: Scene) -> None:
    with pytest.raises(CommandRefusedError):
        _command(scene, Role.READ)


# Hosting


def an_app_starts(scene: Scene) -> None:
    scene.core().store()


def an_app_starts_with_a_bad_setting(scene: Scene) -> None:
    with pytest.raises(ConfigurationError):
        scene.core(Retry__MaxAttempts="0").runtime()


def a_wake_is_nonsense(scene: Scene) -> None:
    scene.call(scene.core(), "chokaq_worker", func.QueueMessage(id="1", body=b"nonsense"))


def a_timer_fires_while_the_store_is_away(scene: Scene) -> None:
    core = scene.core()
    core._store = scene.faulty.as_store()  # noqa: SLF001 - a store in a state of the test's choosing
    scene.faulty.go_away("prepare")
    scene.call(core, "chokaq_poll", mock.Mock())


SITUATIONS: dict[EventName, Callable[[Scene], None]] = {
    EventName.WORKER_STARTED: a_job_runs,
    EventName.WORKER_STOPPED: an_orderly_stop,
    EventName.WORKER_LOOP_CRASHED: the_store_goes_and_comes_back,
    EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY: a_thread_ends_by_a_fault_of_ours,
    EventName.WORKER_CAPACITY_CHANGED: the_capacity_changes,
    EventName.WORKER_LOOP_RECOVERED: the_store_goes_and_comes_back,
    EventName.WORKER_ALL_SLOTS_ABANDONED: every_slot_is_stuck_and_more_was_fetched,
    EventName.PREFETCHED_JOB_RELEASED: every_slot_is_stuck_and_more_was_fetched,
    EventName.PREFETCHED_JOB_RELEASE_FAILED: fetched_jobs_cannot_be_given_back,
    EventName.PROCESSING_TASK_DRAIN_STARTED: an_orderly_stop,
    EventName.PROCESSING_TASK_SHUTDOWN_OBSERVED: a_handler_stops_for_the_shutdown,
    EventName.PROCESSING_TASK_WRAPPER_FAILED: the_machine_has_no_thread_to_give,
    EventName.WORKER_SHUTDOWN_TIMED_OUT: a_handler_goes_on_through_the_shutdown,
    EventName.PROCESSING_TASK_DRAIN_TIMED_OUT: a_handler_goes_on_through_the_shutdown,
    EventName.JOB_CANCELLATION_REQUESTED: a_running_job_is_cancelled,
    EventName.CIRCUIT_BREAKER_REJECTED: a_circuit_opens_before_a_fetched_job_starts,
    EventName.JOB_EXECUTION_LEASE_REJECTED: a_running_job_is_taken_for_dead,
    EventName.JOB_SUCCEEDED_ARCHIVED: a_job_runs,
    EventName.JOB_SHUTDOWN_RESCHEDULED: a_handler_stops_for_the_shutdown,
    EventName.JOB_TIMED_OUT_OR_CANCELLED: a_running_job_is_cancelled,
    EventName.JOB_HEARTBEAT_WRITE_FAILED: heartbeats_fail_and_the_job_goes_on,
    EventName.JOB_HEARTBEAT_THRESHOLD_REACHED: heartbeats_fail_and_the_job_is_given_up,
    EventName.JOB_HEARTBEAT_DEGRADED: heartbeats_fail_and_the_job_goes_on,
    EventName.JOB_POSTPONED: middleware_puts_a_job_off,
    EventName.JOB_ABANDONED: every_slot_is_stuck_and_more_was_fetched,
    EventName.JOB_STARTED: a_job_runs,
    EventName.JOB_FATAL_ERROR_DLQ: a_job_fails_for_good,
    EventName.JOB_THROTTLED_RETRY_SCHEDULED: the_other_side_asks_for_patience,
    EventName.JOB_TRANSIENT_RETRY_SCHEDULED: a_job_fails_until_its_attempts_are_used_up,
    EventName.JOB_RETRIES_EXHAUSTED_DLQ: a_job_fails_until_its_attempts_are_used_up,
    EventName.CIRCUIT_CHANGED: a_circuit_opens_before_a_fetched_job_starts,
    EventName.IDEMPOTENCY_CLAIM_ANSWERED: work_behind_a_key_is_claimed,
    EventName.STATE_TRANSITION_NOT_APPLIED: the_result_of_a_buried_job_comes_late,
    EventName.NOTIFICATION_FAILED: the_wake_of_a_retry_cannot_be_sent,
    EventName.ENQUEUE_DUPLICATE_SKIPPED: an_active_job_holds_the_key,
    EventName.ENQUEUE_NOTIFICATION_FAILED: the_wake_of_an_enqueue_cannot_be_sent,
    EventName.JOB_ENQUEUED: a_job_runs,
    EventName.ZOMBIE_RESCUE_STARTED: a_worker_is_gone_with_a_running_and_a_fetched_job,
    EventName.ABANDONED_JOBS_RECOVERED: a_worker_is_gone_with_a_running_and_a_fetched_job,
    EventName.ZOMBIE_JOBS_ARCHIVED: a_worker_is_gone_with_a_running_and_a_fetched_job,
    EventName.ZOMBIE_RESCUE_CYCLE_FAILED: a_scan_fails,
    EventName.ZOMBIE_RESCUE_ARMED: the_first_scan,
    EventName.SQL_INITIALIZATION_STARTED: a_new_database,
    EventName.SQL_INITIALIZATION_COMPLETED: a_new_database,
    EventName.SQL_INITIALIZATION_FAILED: a_script_is_broken,
    EventName.SQL_SCRIPT_EXECUTION_FAILED: a_script_is_broken,
    EventName.ADMIN_COMMAND_REJECTED: a_command_is_given_without_the_role,
    EventName.ADMIN_COMMAND_COMPLETED: a_command_is_given,
    EventName.CONFIGURATION_INVALID: an_app_starts_with_a_bad_setting,
    EventName.STORE_CHOSEN: an_app_starts,
    EventName.WAKE_MALFORMED: a_wake_is_nonsense,
    EventName.INVOCATION_SKIPPED: a_timer_fires_while_the_store_is_away,
    EventName.CONFIGURATION_LOADED: an_app_starts,
}


@pytest.mark.parametrize("name", EventName, ids=lambda name: name.title)
def test_an_event_is_told_in_the_situation_that_it_is_for(scene: Scene, name: EventName) -> None:
    SITUATIONS[name](scene)

    wait_until(lambda: name.id in scene.heard())


@pytest.mark.parametrize(
    "situation,quiet",
    [
        (a_job_runs, {1002, 1003, 1014, 2002, 2010, 2100}),
        (a_handler_stops_for_the_shutdown, {1014, 1015, 1016, 2010, 2100}),
        (a_running_job_is_cancelled, {2010, 2020, 2022, 2023, 2100}),
        (heartbeats_fail_and_the_job_goes_on, {2007, 2100}),
        (a_new_database, {5002, 5003}),
        (a_script_is_broken, {5001}),
        (the_first_scan, {4000, 4003}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_did_not_happen_is_not_told(scene: Scene, situation: Callable[[Scene], None], quiet: set[int]) -> None:
    situation(scene)

    assert scene.heard()
    assert scene.heard() & quiet == set()


async def _sleep(job: Note) -> None:
    await asyncio.Event().wait()


def _raise(error: Exception) -> Callable[[Note], None]:
    def work(job: Note) -> None:
        raise error

    return work


def _buried_alive(scene: Scene, *, is_told: bool = True) -> None:
    """
    A job is buried while it runs; its worker hears of it from a heartbeat, or only when it wants to store the end.
    """
    gate, begun = scene.gates.new(), threading.Event()

    def work(job: Note) -> None:
        begun.set()
        wait(gate)

    rescue, rig = scene.rescue(), scene.rig(work)
    scene.faulty.go_away("beat")
    rig.enqueue()
    with rig.visiting():
        wait(begun)
        scene.clock.advance(11 * MINUTE)
        assert rescue.scan().buried == 1
        if is_told:
            scene.faulty.come_back()
            rig.events.wait_for(EventName.JOB_EXECUTION_LEASE_REJECTED)
        gate.set()


def _command(scene: Scene, role: Role) -> None:
    rig = scene.rig()
    commands = JobCommands(
        rig.store,
        scene.others,
        Seals(b"key" * 11),
        check_payload=rig.engine.producer.stored_text,
        wake=lambda: None,
    )
    commands.run(JobCommand(Verb.CANCEL, Ids((rig.enqueue(delay=timedelta(hours=1)),))), Actor("ann", role))
