"""
Every setting changes something: one row for each, with what is seen under its default and under another value.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import azure.functions as func
import pytest

from chokaq_core.config import Settings, load_settings
from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from chokaq_core.contracts import IdempotentJob, Job, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.circuit import Circuit, CircuitReport, CircuitSignal
from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.domain.failures import Failed, FailureKind, Postponed
from chokaq_core.domain.job import DeadJob
from chokaq_core.engine import worker
from chokaq_core.engine.ledger import Ledger
from chokaq_core.engine.run import Run
from chokaq_core.engine.scans import Maintenance, Rescue
from chokaq_core.engine.visits import Look, Visits
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.hosting import ChokaQ, runtime
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.health import Health
from chokaq_core.hosting.principal import who
from chokaq_core.hosting.single_flight import SingleFlight
from chokaq_core.hosting.stores import make_ready, open_store
from chokaq_core.policy.after_failure import AttemptFacts, Verdict, decide
from chokaq_core.policy.backoff import backoff_delay
from chokaq_core.policy.circuit import hear, probe
from chokaq_core.policy.envelope import payload_problems
from chokaq_core.policy.error_text import text_facts
from chokaq_core.policy.health import Workforce, judge_workers, lag_status
from chokaq_core.policy.heartbeat import next_interval, verdict_on_failures
from chokaq_core.policy.idempotency import lifetime, result_ttl_problem
from chokaq_core.policy.sqlserver import SqlServerSettings
from chokaq_core.ports import ClaimAnswer, ClaimState, Demand
from chokaq_core.stores.sqlite import SqliteStore
from chokaq_core.stores.sqlserver import SqlServerStore
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.errors import FaultKind
from chokaq_core.stores.sqlserver.retrying import pause_before_repeat
from chokaq_core.telemetry.tags import Tags
from tests.contract.stages import Stage
from tests.support.clock import NOON, SteppedClock
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.host_process import ROOT

MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

CONNECTION = "Server=db.invalid;Database=jobs;User ID=app;Password=secret"
READ_KEY = "a-key-that-lets-its-holder-look-on"
OPERATE_KEY = "a-key-that-lets-its-holder-act-too"
PRINCIPAL = base64.b64encode(json.dumps({"claims": [{"typ": "roles", "val": "ChokaQ.Operator"}]}).encode()).decode()


@dataclass(frozen=True, slots=True)
class Trial:
    """
    An app's folder and settings, in which a row looks at what happens.
    """

    folder: Path
    given: Mapping[str, str]

    @property
    def environ(self) -> dict[str, str]:
        """
        The environment of the app.
        """
        return {"ChokaQ__" + name.replace(".", "__"): value for name, value in self.given.items()}

    @property
    def settings(self) -> Settings:
        """
        The settings that come of it.
        """
        return load_settings(self.folder, self.environ)

    @property
    def sqlserver(self) -> SqlServerSettings:
        """
        Those of the production store, which is the one in use.
        """
        assert self.settings.sqlserver is not None
        return self.settings.sqlserver


@dataclass(frozen=True, slots=True)
class Row:
    """
    One setting at work.

    Attributes:
        given: another value than the default.
        observe: what the row looks at.
        before: what is seen under the default.
        after: what is seen under `given`.
        beside: settings that both need.
    """

    name: str
    given: str
    observe: Callable[[Trial], object]
    before: object
    after: object
    beside: Mapping[str, str] = field(default_factory=dict)


def by(look: Callable[[Settings], object]) -> Callable[[Trial], object]:
    """
    Looks at what settings alone decide.
    """
    return lambda trial: look(trial.settings)


@contextmanager
def stage() -> Iterator[Stage]:
    """
    A store in memory whose time stands still.
    """
    clock = SteppedClock()
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield Stage(store, clock)


@contextmanager
def running(trial: Trial, profile: Profile) -> Iterator[Core]:
    """
    A whole app.
    """
    core = Core(
        trial.folder, profiles=[profile], environ={"ChokaQ__Functions__IdleLinger": "00:00:00", **trial.environ}
    )
    yield core
    core.stop()


# One attempt and the next


def first_failure(settings: Settings, *, failures: int = 1, roll: float = 0.0) -> timedelta:
    return backoff_delay(settings.retry, failures=failures, roll=roll)


def verdict_on(outcome: Failed | Postponed, settings: Settings) -> Verdict:
    """
    What follows the first attempt of a job that was made a day and a half ago.
    """
    return decide(outcome, AttemptFacts(1, 3, NOON - 36 * HOUR, NOON), settings.retry, 0.0)


FAILED = Failed(FailureKind.TRANSIENT, text_facts("OSError", "away"))
# A wish that is no duration counts as none.
PUT_OFF = Postponed("circuit", cast("timedelta", None))


def attempts_of_a_failing_job(trial: Trial) -> int:
    profile = Profile("failing")

    @profile.handler("note.v1")
    def fail(job: Note) -> None:
        raise OSError("away")

    with running(trial, profile) as core:
        job_id = core.runtime().producer.enqueue(Note()).job_id
        core.runtime().engine.attend()
        found = core.runtime().store.find(job_id)
    assert isinstance(found, DeadJob)
    return found.attempt


AT_ONCE = {"Retry.BaseDelay": "00:00:00", "Retry.JitterMaxDelay": "00:00:00", "Circuit.Enabled": "false"}
ATTEMPTS = (
    Row("Execution.DefaultTimeout", "00:20:00", by(lambda s: timeout_of(s, "mail")), 15 * MINUTE, 20 * MINUTE),
    Row(
        "Queues.reports.ExecutionTimeout", "00:25:00", by(lambda s: timeout_of(s, "reports")), 15 * MINUTE, 25 * MINUTE
    ),
    Row("Retry.MaxAttempts", "2", attempts_of_a_failing_job, 3, 2, AT_ONCE),
    Row("Retry.BaseDelay", "00:00:05", by(first_failure), 3 * SECOND, 5 * SECOND),
    Row("Retry.MaxDelay", "1.00:00:00", by(partial(first_failure, failures=50)), HOUR, DAY),
    Row("Retry.BackoffMultiplier", "1.5", by(partial(first_failure, failures=3)), 12 * SECOND, 6.75 * SECOND),
    Row("Retry.JitterMaxDelay", "00:00:04", by(partial(first_failure, roll=0.5)), 3.5 * SECOND, 5 * SECOND),
    Row("Retry.CircuitBreakerDelay", "00:00:20", by(lambda s: verdict_on(PUT_OFF, s).delay), 5 * SECOND, 20 * SECOND),
    Row("Retry.MaxJobAge", "2.00:00:00", by(lambda s: verdict_on(FAILED, s).move.value), "dead_letter", "retry"),
)


def timeout_of(settings: Settings, queue: str) -> timedelta:
    return settings.execution.timeout_for(queue, None)


# The heartbeat, and what lost it


def is_an_early_cancel_kept_for_a_minute(settings: Settings) -> bool:
    """
    Whether a cancel that the heartbeat met before its job was started here stops that job a minute later.
    """
    seconds = iter([0.0, 60.0, 60.0])
    ledger = Ledger(settings.worker, monotonic=lambda: next(seconds))
    rules = EngineRules(execution=settings.execution)
    with stage() as on, mock.patch.object(worker, "Heartbeat") as heartbeat:
        lease = (job := on.running()).lease
        Engine(on.store, Catalog([]), RecordedWakes(), RecordedEvents(), rules=rules)
    ledger.keep_cancel((lease.job_id, lease.number), "ann", heartbeat.call_args.kwargs["cancel_retention"])
    ledger.hold([run := Run(job, None, MINUTE, mock.Mock(), attempt=1)], [])
    return run.stop_order is not None


def rescued(settings: Settings) -> tuple[int, int]:
    """
    Jobs that a rescue recovers and buries whose worker fell silent six minutes ago.
    """
    with stage() as on:
        on.fetched()
        on.running()
        rescue = Rescue(on.store, Catalog([]), settings.rescue, settings.retry, RecordedEvents())
        on.clock.advance(6 * MINUTE)
        rescue.scan()
        report = rescue.scan()
    return report.recovered, report.buried


HEARTBEATS = (
    Row(
        "Execution.HeartbeatIntervalMin",
        "00:00:02",
        by(lambda s: next_interval(s.heartbeat, 0)),
        8 * SECOND,
        2 * SECOND,
    ),
    Row(
        "Execution.HeartbeatIntervalMax",
        "00:00:20",
        by(lambda s: next_interval(s.heartbeat, 1)),
        12 * SECOND,
        20 * SECOND,
    ),
    Row(
        "Execution.HeartbeatFailureThreshold",
        "4",
        by(lambda s: verdict_on_failures(s.heartbeat, 4)),
        "go_on",
        "degraded",
    ),
    Row(
        "Execution.CancelOnHeartbeatFailure",
        "true",
        by(lambda s: verdict_on_failures(s.heartbeat, 10)),
        "degraded",
        "cancel",
    ),
    Row("Execution.PendingCancellationRetention", "00:01:30", by(is_an_early_cancel_kept_for_a_minute), False, True),
    Row("Recovery.FetchedJobTimeout", "00:05:00", by(rescued), (0, 0), (1, 0)),
    Row("Recovery.ProcessingZombieTimeout", "00:05:00", by(rescued), (0, 0), (0, 1)),
    Row(
        "Queues.reports.ZombieTimeoutSeconds",
        "300",
        by(lambda s: row_of_reports(s, "zombie_timeout")),
        None,
        5 * MINUTE,
    ),
)


# One process


def room(settings: Settings) -> tuple[int, int]:
    """
    Jobs that an empty process claims to run, and to keep at hand.
    """
    ledger = Ledger(settings.worker)
    ledger.arrive()
    work = ledger.next_work()
    assert work is not None
    return work.want, work.prefetch


def pause(settings: Settings, **found: bool) -> float | None:
    """
    Seconds until the next look after one that found nothing.
    """
    visits = Visits(settings.worker)
    visits.arrive(0.0)
    visits.look_begins(0.0)
    look = {"is_full": False, "claimed": 0, "seconds_to_due": None, "has_open_queue": True, **found}
    visits.looked(Look(**cast("Any", look)), 0.0, is_idle=True)
    return visits.seconds_to_look(0.0)


def is_over_a_second_after_work(settings: Settings) -> bool:
    visits = Visits(settings.worker)
    visit = visits.arrive(0.0)
    for claimed in (1, 0):
        visits.look_begins(0.0)
        visits.looked(Look(is_full=False, claimed=claimed, seconds_to_due=None, has_open_queue=True), 0.0, is_idle=True)
    return visits.is_over(visit, 1.0)


def has_budget_after_three_minutes(settings: Settings) -> bool:
    visits = Visits(settings.worker)
    return visits.has_budget(visits.arrive(0.0), 180.0)


def waits_of_a_stop(settings: Settings) -> tuple[float, float]:
    """
    Seconds that a stop waits for fetched jobs to be given back, and for running ones to end.
    """
    with stage() as on:
        engine = Engine(
            on.store, Catalog([]), RecordedWakes(), RecordedEvents(), rules=EngineRules(worker=settings.worker)
        )
        engine.attend()
        released = mock.patch.object(Ledger, "wait_until_released", return_value=True)
        settled = mock.patch.object(Ledger, "wait_until_settled", return_value=True)
        with released as for_fetched, settled as for_running:
            engine.stop()
    return for_fetched.call_args.args[0], for_running.call_args.args[0]


def wakes_for_a_flood(trial: Trial) -> int:
    wakes = RecordedWakes()
    sender = mock.patch.object(runtime, "wake_sender", return_value=wakes)
    flood = mock.patch.object(SqliteStore, "demand", return_value=Demand(NOON, 100_000, 0, None))
    with sender, flood, running(trial, Profile("none")) as core:
        core.runtime().poll.scan()
    return len(wakes.delays)


ON_SQL_SERVER = {"SqlServer.ConnectionString": CONNECTION}
PROCESS = (
    Row("Worker.MaxConcurrency", "64", by(room), (16, 0), (64, 0)),
    Row("Worker.Prefetch", "32", by(room), (16, 0), (16, 32)),
    Row("Worker.PausedQueuePollingDelay", "00:00:04", by(lambda s: pause(s, has_lost_fetched=True)), 1.0, 4.0),
    Row("SqlServer.PollingInterval", "00:00:00.25", by(pause), 1.0, 0.25),
    Row("SqlServer.NoQueuesSleepInterval", "00:00:09", by(lambda s: pause(s, has_open_queue=False)), 5.0, 9.0),
    Row("Functions.IdleLinger", "00:00:00", by(is_over_a_second_after_work), False, True),
    Row("Functions.DrainBudget", "00:02:00", by(has_budget_after_three_minutes), True, False),
    Row("Functions.MaxWakesPerPoll", "8", wakes_for_a_flood, 32, 8),
    Row("Worker.ShutdownGracePeriod", "00:00:10", by(waits_of_a_stop), (5.0, 30.0), (5.0, 10.0)),
    Row("SqlServer.PrefetchedJobReleaseTimeout", "00:00:08", by(waits_of_a_stop), (5.0, 30.0), (8.0, 30.0)),
    Row(
        "SqlServer.WorkerShutdownGracePeriod",
        "00:00:10",
        by(waits_of_a_stop),
        (5.0, 30.0),
        (5.0, 10.0),
        {**ON_SQL_SERVER, "Worker.ShutdownGracePeriod": "00:00:01"},
    ),
)


# Circuits


def state_after_failures(settings: Settings, *, count: int, apart: timedelta = timedelta(0)) -> str:
    circuit, failure = Circuit("note.v1"), CircuitReport("note.v1", "job-1", 0, CircuitSignal.FAILURE)
    for number in range(count):
        circuit = hear(circuit, failure, settings.circuit, NOON + number * apart).circuit
    return circuit.state.name


def break_of_an_open_circuit(settings: Settings) -> timedelta:
    almost = Circuit("note.v1", failure_times=(NOON,) * 4)
    opened = hear(almost, CircuitReport("note.v1", "job-1", 0, CircuitSignal.FAILURE), settings.circuit, NOON).circuit
    assert opened.reset_at is not None
    return opened.reset_at - NOON


def time_of_a_probe(settings: Settings) -> timedelta:
    probing = probe(Circuit("note.v1"), settings.circuit, job_id="job-1", worker_id="worker-1", now=NOON).circuit
    assert probing.probe_until is not None
    return probing.probe_until - NOON


FIVE = partial(state_after_failures, count=5)
CIRCUITS = (
    Row("Circuit.Enabled", "false", by(FIVE), "OPEN", "CLOSED"),
    Row("Circuit.FailureThreshold", "9", by(FIVE), "OPEN", "CLOSED"),
    Row("Circuit.FailureWindow", "00:05:00", by(partial(FIVE, apart=40 * SECOND)), "CLOSED", "OPEN"),
    Row("Circuit.BreakDuration", "00:02:00", by(break_of_an_open_circuit), 30 * SECOND, 2 * MINUTE),
    Row("Circuit.ProbeTimeout", "00:00:45", by(time_of_a_probe), 30 * SECOND, 45 * SECOND),
)


# What is accepted, and runs once


class Note(Job):
    text: str = ""


class Charge(IdempotentJob):
    @property
    def idempotency_key(self) -> str:
        return "order-7"


def is_refused_as_too_large(settings: Settings) -> bool:
    return any(payload_problems('"' + 1_500_000 * "x" + '"', settings.envelope))


def time_of_a_claim(settings: Settings) -> timedelta:
    """
    How long a protected job claims its key for.
    """
    profile = Profile("charges")

    @profile.handler("charge.v1")
    def charge(job: Charge) -> None: ...

    claims = mock.Mock()
    claims.claim_key.return_value = ClaimAnswer(ClaimState.CLAIMED)
    rules = EngineRules(worker=settings.worker, idempotency=settings.idempotency)
    with stage() as on:
        engine = Engine(on.store, Catalog([profile]), RecordedWakes(), RecordedEvents(), rules=rules, claims=claims)
        engine.producer.enqueue(Charge())
        engine.attend()
        engine.stop()
    span: timedelta = claims.claim_key.call_args.args[1]
    return span


def is_time_for_a_result_refused(settings: Settings, own: timedelta) -> bool:
    return result_ttl_problem(own, settings.idempotency) is not None


def problems_of_a_handler_without_a_key(trial: Trial) -> int:
    profile = Profile("nameless")

    @profile.handler()
    def work(job: Note) -> None: ...

    return len(Core(trial.folder, profiles=[profile], environ=trial.environ).problems)


ACCEPTING = (
    Row("Serialization.MaxPayloadBytes", "2000000", by(is_refused_as_too_large), True, False),
    Row(
        "Idempotency.InProgressTtl",
        "01:30:00",
        by(time_of_a_claim),
        30 * MINUTE,
        90 * MINUTE,
        {"Functions.IdleLinger": "00:00:00"},
    ),
    Row("Idempotency.DefaultResultTtl", "7.00:00:00", by(lambda s: lifetime(None, s.idempotency)), None, 7 * DAY),
    Row("Idempotency.MinResultTtl", "00:01:00", by(lambda s: is_time_for_a_result_refused(s, SECOND)), False, True),
    Row(
        "Idempotency.MaxResultTtl", "30.00:00:00", by(lambda s: is_time_for_a_result_refused(s, 31 * DAY)), False, True
    ),
    Row("TypeResolution.RequireRegisteredJobTypes", "false", problems_of_a_handler_without_a_key, 1, 0),
)


# The stores


def chosen_store(settings: Settings) -> type:
    with closing(open_store(settings, RecordedEvents())) as store:
        return type(store)


def is_a_file_made(settings: Settings) -> bool:
    with closing(open_store(settings, RecordedEvents())) as store:
        store.prepare()
    return Path("jobs.db").exists()


def jobs_kept_of_thirty(trial: Trial) -> int:
    profile = Profile("notes")

    @profile.handler("note.v1")
    def work(job: Note) -> None: ...

    with running(trial, profile) as core:
        for _ in range(30):
            core.runtime().producer.enqueue(Note())
        core.runtime().engine.attend()
        return core.runtime().store.counts().archive


def row_of_reports(settings: Settings, limit: str) -> object:
    """
    A limit that the row of queue `reports` starts with.
    """
    with closing(open_store(settings, RecordedEvents())) as store:
        make_ready(store, settings)
        return next((getattr(queue, limit) for queue in store.queues() if queue.name == "reports"), None)


def schema_of_statements(trial: Trial) -> str:
    batches = Database(trial.sqlserver, beat_timeout=SECOND).batches
    text = batches["turn"].text if "turn" in batches else next(iter(batches.values())).text
    return text[text.index("[") : text.index("]") + 1]


def is_an_empty_database_migrated(trial: Trial) -> bool:
    database = mock.Mock(settings=trial.sqlserver)
    database.run.return_value = [[(0,)], []]
    SqlServerStore(trial.sqlserver, database=database).prepare()
    called: bool = database.attempt.called
    return called


def time_of_a_command(trial: Trial) -> timedelta:
    """
    How long a command may take on a connection that is being opened.
    """
    connector = mock.Mock()
    connector.connect.side_effect = StoreRefusedError("seen enough")
    with suppress(StoreRefusedError):
        Database(trial.sqlserver, beat_timeout=SECOND, connector=connector).run("schema_state", {"schema_name": "x"})
    span: timedelta = connector.connect.call_args.args[1]
    return span


def pause_of_a_busy_server(trial: Trial) -> timedelta | None:
    return pause_before_repeat(FaultKind.BUSY, 0, trial.sqlserver, 0.5)


STORES = (
    Row("SqlServer.ConnectionString", CONNECTION, by(chosen_store), SqliteStore, SqlServerStore),
    Row("SqlServer.SchemaName", "billing", schema_of_statements, "[chokaq]", "[billing]", ON_SQL_SERVER),
    Row("SqlServer.AutoCreateSqlTable", "true", is_an_empty_database_migrated, False, True, ON_SQL_SERVER),
    Row("SqlServer.CommandTimeoutSeconds", "45", time_of_a_command, 30 * SECOND, 45 * SECOND, ON_SQL_SERVER),
    Row("SqlServer.MaxTransientRetries", "0", pause_of_a_busy_server, 200 * MILLISECOND, None, ON_SQL_SERVER),
    Row(
        "SqlServer.TransientRetryBaseDelayMs",
        "350",
        pause_of_a_busy_server,
        200 * MILLISECOND,
        350 * MILLISECOND,
        ON_SQL_SERVER,
    ),
    Row("Sqlite.Path", "jobs.db", by(is_a_file_made), False, True),
    Row("InMemory.MaxCapacity", "20", jobs_kept_of_thirty, 30, 20),
    Row("Queues.reports.MaxWorkers", "4", by(lambda s: row_of_reports(s, "max_workers")), None, 4),
)


# Clean-up


def swept(settings: Settings, step: str, call: int = 0) -> tuple[timedelta, int]:
    """
    The age and the size of a batch that the maintenance asks the store for.
    """
    store = mock.Mock()
    for name in ("prune_lanes", "fold_counters", "prune_keys", "prune_operator_log", "prune_buckets", "purge_expired"):
        getattr(store, name).return_value = 0
    Maintenance(store, settings.retention).run()
    age, most = getattr(store, step).call_args_list[call].args[-2:]
    return age, most


CLEAN_UP = (
    Row("Retention.DLQ", "90.00:00:00", by(partial(swept, step="purge_expired")), (30 * DAY, 1000), (90 * DAY, 1000)),
    Row(
        "Retention.Archive",
        "1.00:00:00",
        by(partial(swept, step="purge_expired", call=1)),
        (7 * DAY, 1000),
        (DAY, 1000),
    ),
    Row(
        "Retention.MetricBuckets",
        "12:00:00",
        by(partial(swept, step="prune_buckets")),
        (2 * DAY, 1000),
        (DAY / 2, 1000),
    ),
    Row(
        "Retention.OperatorLog",
        "365.00:00:00",
        by(partial(swept, step="prune_operator_log")),
        (90 * DAY, 1000),
        (365 * DAY, 1000),
    ),
    Row(
        "SqlServer.CleanupBatchSize", "500", by(partial(swept, step="purge_expired")), (30 * DAY, 1000), (30 * DAY, 500)
    ),
)


# Health and metrics


def health_without_workers(settings: Settings) -> str:
    idle = Workforce(living=0, active=0, capacity=0, abandoned=0, heartbeat_age=None, worst_lag=MINUTE)
    return judge_workers(idle, settings.health).status.value


def lag(settings: Settings, seconds: float) -> str:
    return lag_status(timedelta(seconds=seconds), settings.health).value


def wait_for_a_check(settings: Settings) -> float:
    with mock.patch.object(SingleFlight, "ask", side_effect=TimeoutError) as ask:
        Health(settings, mock.Mock()).check()
    seconds: float = ask.call_args.args[0]
    return seconds


def values_of(settings: Settings, tag: str) -> int:
    """
    Distinct values that a tag takes when a thousand are reported.
    """
    of: Callable[[object], str] = getattr(Tags(settings.metrics), tag)
    return len({of(f"value{number}") for number in range(1000)})


def last_of_many_queues(settings: Settings) -> str:
    tags = Tags(settings.metrics)
    return [tags.queue(f"queue{number}") for number in range(1000)][-1]


WATCHING = (
    Row("Health.WorkerHeartbeatTimeout", "00:02:00", by(health_without_workers), "Unhealthy", "Healthy"),
    Row("Health.QueueLagDegradedThreshold", "00:00:06", by(partial(lag, seconds=5.5)), "Degraded", "Healthy"),
    Row("Health.QueueLagUnhealthyThreshold", "00:01:00", by(partial(lag, seconds=30)), "Unhealthy", "Degraded"),
    Row("Health.CheckTimeout", "00:00:03", by(wait_for_a_check), 5.0, 3.0),
    Row("Metrics.MaxQueueTagValues", "20", by(partial(values_of, tag="queue")), 101, 21),
    Row("Metrics.MaxJobTypeTagValues", "900", by(partial(values_of, tag="type")), 501, 901),
    Row("Metrics.MaxErrorTagValues", "30", by(partial(values_of, tag="error")), 101, 31),
    Row("Metrics.MaxFailureReasonTagValues", "11", by(partial(values_of, tag="reason")), 51, 12),
    Row("Metrics.MaxTagValueLength", "64", by(lambda s: len(Tags(s.metrics).queue("x" * 500))), 128, 64),
    Row("Metrics.UnknownTagValue", "n/a", by(lambda s: Tags(s.metrics).queue(" ")), "unknown", "n/a"),
    Row("Metrics.OverflowTagValue", "rest", by(last_of_many_queues), "other", "rest"),
)


# The functions, and who may use the Deck


def trigger(trial: Trial, function: str, option: str) -> object:
    """
    One option of a function's trigger, as a host reads it.
    """
    app = func.FunctionApp()
    ChokaQ(trial.folder, environ=trial.environ).register(app)
    (found,) = (each for each in app.get_functions() if each.get_function_name() == function)
    return json.loads(found.get_raw_bindings()[0])[option]


def role(settings: Settings, headers: Mapping[str, str]) -> str:
    req = func.HttpRequest(method="GET", url="http://app/api/deck/me", headers=dict(headers), body=b"")
    return who(req, settings.deck, {"WEBSITE_AUTH_ENABLED": "true"}).role.name


def key(text: str) -> dict[str, str]:
    return {"X-ChokaQ-Key": text}


def schedule_of(timer: str) -> Callable[[Trial], object]:
    return partial(trigger, function=f"chokaq_{timer}", option="schedule")


FUNCTIONS = (
    Row("Functions.PollInterval", "00:02:00", schedule_of("poll"), "*/30 * * * * *", "0 */2 * * * *"),
    Row("Functions.HeartbeatInterval", "00:00:20", schedule_of("heartbeat"), "0 */1 * * * *", "*/20 * * * * *"),
    Row("Functions.MaintenanceInterval", "00:30:00", schedule_of("maintenance"), "0 */15 * * * *", "0 */30 * * * *"),
    Row("Recovery.ScanInterval", "00:00:30", schedule_of("rescue"), "0 */1 * * * *", "*/30 * * * * *"),
    Row(
        "Functions.WakeQueueName",
        "billing-wake",
        partial(trigger, function="chokaq_worker", option="queueName"),
        "chokaq-wake",
        "billing-wake",
    ),
    Row("Deck.ReadKey", READ_KEY, by(partial(role, headers=key(READ_KEY))), "NONE", "READ"),
    Row("Deck.OperateKey", OPERATE_KEY, by(partial(role, headers=key(OPERATE_KEY))), "NONE", "OPERATE"),
    Row(
        "Deck.TrustPlatformAuthentication",
        "true",
        by(partial(role, headers={"X-MS-CLIENT-PRINCIPAL": PRINCIPAL})),
        "NONE",
        "OPERATE",
    ),
    Row("Deck.AllowAnonymous", "true", by(partial(role, headers={})), "NONE", "OPERATE"),
)

ROWS = (*ATTEMPTS, *HEARTBEATS, *PROCESS, *CIRCUITS, *ACCEPTING, *STORES, *CLEAN_UP, *WATCHING, *FUNCTIONS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_changed_setting_changes_what_happens(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    trials = [Trial(tmp_path, given) for given in (row.beside, {**row.beside, row.name: row.given})]

    assert [row.observe(trial) for trial in trials] == [row.before, row.after]


def test_every_setting_has_its_row_in_which_something_changes() -> None:
    names = [row.name.replace("Queues.reports.", "Queues.{queue}.") for row in ROWS]

    assert sorted(names) == sorted(setting.name for setting in (*SETTINGS, *QUEUE_SETTINGS))
    assert [row.name for row in ROWS if row.before == row.after] == []
