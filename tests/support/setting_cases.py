"""
Every setting with literal examples: its default, a valid value from each source, and values that are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

FORM = "must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23"
POSITIVE = "must be longer than 00:00:00 and at most 3650.00:00:00"
ZERO_OR_MORE = "must be at least 00:00:00 and at most 3650.00:00:00"
TICK_OR_MORE = "must be at least 00:00:00.01 and at most 3650.00:00:00"
PERIOD = "must be a period that a timer can express: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60 seconds or minutes"
FLAG = "must be true or false"
SCHEMA = "must be 1 to 128 letters, digits and '_', the first no digit"
TAG = "must be text of 1 to 128 characters on one line, not only blanks"
WAKE = "must be 3 to 56 lower-case letters, digits and single inner hyphens, which leaves room for '-poison'"
PATH = "must be the path of a file; SQLite's own names, `:memory:` and `file:`, are refused"

IS_7 = "; write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)"
IS_24 = "; write 1.00:00:00 (1 day) or 24.00:00:00 (24 days)"
TOO_OLD = "1000000.00:00:00"

SQL_SERVER = "Server=tcp:db.example,1433;Database=jobs;Authentication=Active Directory Default"


@dataclass(frozen=True)
class Case:
    """
    One setting.

    Attributes:
        default: its value when nobody gives one, as the list of effective settings shows it.
        given: a valid text, other than the default.
        native: the same as code would write it, which JSON holds too unless it is a duration.
        target: where the value is found in the settings.
        expected: what is found there.
        refused: texts that are refused, with what the problem says before and after the value.
        beside: other settings that the given value needs.
    """

    name: str
    default: str
    given: str
    native: object
    target: str
    expected: object
    refused: dict[str, tuple[str, str]]
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def variable(self) -> str:
        return "ChokaQ__" + self.name.replace(".", "__")


def _duration(
    name: str, default: str, given: str, target: str, value: timedelta, zero: str | None = POSITIVE, **beside: str
) -> Case:
    refused = {"7": (FORM, IS_7), "24:00:00": (FORM, IS_24), "soon": (FORM, "")}
    if zero is not None:
        refused |= {"00:00:00": (zero, ""), TOO_OLD: (zero, "")}
    else:
        refused |= {TOO_OLD: (ZERO_OR_MORE, ""), "-00:00:01": (FORM, "; write 00:00:01 (1 second)")}
    return Case(name, default, given, value, target, value, refused, _beside(beside))


def _nullable(name: str, default: str, given: str, target: str, value: timedelta, **beside: str) -> Case:
    refused = {"00:00:00": (POSITIVE, ""), "none": (FORM, ""), TOO_OLD: (POSITIVE, "")}
    return Case(name, default, given, value, target, value, refused, _beside(beside))


def _whole(
    name: str, default: str, given: int, target: str, low: int, high: int, hint: str = "", **beside: str
) -> Case:
    rule = f"must be a whole number from {low} to {high}"
    texts = (str(low - 1), str(high + 1), "1.5", "three", "", " 5", "+5", "1_0", "٣")
    return Case(name, default, str(given), given, target, given, dict.fromkeys(texts, (rule, hint)), _beside(beside))


def _units(name: str, default: str, given: int, target: str, value: timedelta, high: int, **beside: str) -> Case:
    rule = f"must be a whole number from 1 to {high}"
    texts = ("0", str(high + 1), "00:00:30", "1.5")
    return Case(name, default, str(given), given, target, value, dict.fromkeys(texts, (rule, "")), _beside(beside))


def _flag(name: str, default: str, given: str, target: str, **beside: str) -> Case:
    value = given == "true"
    return Case(
        name, default, given, value, target, value, dict.fromkeys(("1", "yes", ""), (FLAG, "")), _beside(beside)
    )


def _period(name: str, default: str, given: str, target: str, value: timedelta) -> Case:
    refused = {
        "00:00:07": (PERIOD, "; the nearest is 00:00:06"),
        "02:00:00": (PERIOD, "; the nearest is 01:00:00"),
        "00:00:00": (PERIOD, "; the nearest is 00:00:01"),
        "7": (FORM, IS_7),
    }
    return Case(name, default, given, value, target, value, refused)


def _text(name: str, default: str, given: str, target: str, rule: str, *refused: str, **beside: str) -> Case:
    return Case(name, default, given, given, target, given, dict.fromkeys(refused, (rule, "")), _beside(beside))


def _beside(settings: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name.replace("__", "."), value) for name, value in settings.items())


_SQL = {"SqlServer__ConnectionString": SQL_SERVER}

CASES: tuple[Case, ...] = (
    _duration("Execution.DefaultTimeout", "00:15:00", "00:20:00", "execution.default_timeout", timedelta(minutes=20)),
    _duration(
        "Execution.HeartbeatIntervalMin",
        "00:00:08",
        "00:00:02.5",
        "heartbeat.interval_min",
        timedelta(milliseconds=2500),
        TICK_OR_MORE,
    ),
    _duration(
        "Execution.HeartbeatIntervalMax",
        "00:00:12",
        "00:01:00",
        "heartbeat.interval_max",
        timedelta(minutes=1),
        TICK_OR_MORE,
    ),
    _whole("Execution.HeartbeatFailureThreshold", "10", 4, "heartbeat.failure_threshold", 1, 10_000),
    _flag("Execution.CancelOnHeartbeatFailure", "false", "true", "heartbeat.cancel_on_failure"),
    _duration(
        "Execution.PendingCancellationRetention",
        "00:00:30",
        "00:01:30",
        "execution.pending_cancellation_retention",
        timedelta(seconds=90),
    ),
    _whole(
        "Retry.MaxAttempts",
        "3",
        7,
        "retry.max_attempts",
        1,
        10_000,
        "; 1 runs a job once, and no value retries without limit",
    ),
    _duration("Retry.BaseDelay", "00:00:03", "00:00:05", "retry.base_delay", timedelta(seconds=5), None),
    _duration("Retry.MaxDelay", "01:00:00", "1.00:00:00", "retry.max_delay", timedelta(days=1)),
    Case(
        "Retry.BackoffMultiplier",
        "2.0",
        "1.5",
        1.5,
        "retry.multiplier",
        1.5,
        dict.fromkeys(
            ("0.9", "1000.1", "1,5", "nan", "inf", "1e2", "two", ""),
            ("must be a number from 1.0 to 1000.0, with a point before its decimals", ""),
        ),
    ),
    _duration("Retry.JitterMaxDelay", "00:00:01", "00:00:00", "retry.jitter_max_delay", timedelta(0), None),
    _duration(
        "Retry.CircuitBreakerDelay", "00:00:05", "00:00:20", "retry.circuit_breaker_delay", timedelta(seconds=20)
    ),
    _nullable("Retry.MaxJobAge", "1.00:00:00", "2.12:00:00", "retry.max_job_age", timedelta(hours=60)),
    _duration("Recovery.FetchedJobTimeout", "00:10:00", "00:03:00", "rescue.fetched_job_timeout", timedelta(minutes=3)),
    _duration(
        "Recovery.ProcessingZombieTimeout",
        "00:10:00",
        "00:05:00",
        "rescue.processing_zombie_timeout",
        timedelta(minutes=5),
    ),
    _period("Recovery.ScanInterval", "00:01:00", "00:00:30", "rescue.scan_interval", timedelta(seconds=30)),
    _whole("Worker.MaxConcurrency", "16", 64, "worker.max_concurrency", 1, 1_000, "; to stop a queue, pause it"),
    _whole("Worker.Prefetch", "0", 32, "worker.prefetch", 0, 1_000),
    _duration(
        "Worker.PausedQueuePollingDelay",
        "00:00:01",
        "00:00:04",
        "worker.paused_queue_polling_delay",
        timedelta(seconds=4),
    ),
    _duration(
        "Worker.ShutdownGracePeriod",
        "00:00:30",
        "00:00:10",
        "worker.shutdown_grace_period",
        timedelta(seconds=10),
        None,
    ),
    _flag("Circuit.Enabled", "true", "false", "circuit.is_enabled"),
    _whole("Circuit.FailureThreshold", "5", 9, "circuit.failure_threshold", 1, 10_000),
    _duration("Circuit.FailureWindow", "00:01:00", "00:05:00", "circuit.failure_window", timedelta(minutes=5)),
    _duration("Circuit.BreakDuration", "00:00:30", "00:02:00", "circuit.break_duration", timedelta(minutes=2)),
    _duration("Circuit.ProbeTimeout", "00:00:30", "00:00:45", "circuit.probe_timeout", timedelta(seconds=45)),
    _nullable(
        "Queues.reports.ExecutionTimeout", "", "00:25:00", "execution.queue_timeouts.reports", timedelta(minutes=25)
    ),
    Case(
        "Queues.reports.MaxWorkers",
        "",
        "4",
        4,
        "queues.reports.max_workers",
        4,
        dict.fromkeys(
            ("0", "-1", "1.5", "", "all", "1000000"),
            (
                "must be a whole number from 1 to 10000",
                "; to stop a queue, pause it; only null means no limit",
            ),
        ),
    ),
    _units(
        "Queues.reports.ZombieTimeoutSeconds",
        "",
        300,
        "queues.reports.zombie_timeout",
        timedelta(minutes=5),
        31_536_000,
    ),
    _whole("Serialization.MaxPayloadBytes", "1000000", 2_000_000, "envelope.max_payload_bytes", 1, 100_000_000),
    _duration(
        "Idempotency.InProgressTtl", "00:30:00", "01:30:00", "idempotency.in_progress_ttl", timedelta(minutes=90)
    ),
    _nullable(
        "Idempotency.DefaultResultTtl", "null", "7.00:00:00", "idempotency.default_result_ttl", timedelta(days=7)
    ),
    _nullable("Idempotency.MinResultTtl", "null", "00:01:00", "idempotency.min_result_ttl", timedelta(minutes=1)),
    _nullable("Idempotency.MaxResultTtl", "null", "30.00:00:00", "idempotency.max_result_ttl", timedelta(days=30)),
    _flag("TypeResolution.RequireRegisteredJobTypes", "true", "false", "require_registered_types"),
    _text(
        "SqlServer.SchemaName",
        "chokaq",
        "billing_jobs",
        "sqlserver.schema_name",
        SCHEMA,
        "",
        "1st",
        "a b",
        "x]",
        **_SQL,
    ),
    _flag("SqlServer.AutoCreateSqlTable", "false", "true", "sqlserver.auto_create", **_SQL),
    _duration(
        "SqlServer.PollingInterval", "00:00:01", "00:00:00.25", "worker.polling_interval", timedelta(seconds=0.25)
    ),
    _duration(
        "SqlServer.NoQueuesSleepInterval",
        "00:00:05",
        "00:00:09",
        "worker.no_queues_sleep_interval",
        timedelta(seconds=9),
    ),
    _units(
        "SqlServer.CommandTimeoutSeconds", "30", 45, "sqlserver.command_timeout", timedelta(seconds=45), 3_600, **_SQL
    ),
    _whole("SqlServer.CleanupBatchSize", "1000", 500, "retention.batch_size", 1, 100_000, **_SQL),
    _duration(
        "SqlServer.WorkerShutdownGracePeriod",
        "00:00:30",
        "00:00:10",
        "worker.shutdown_grace_period",
        timedelta(seconds=10),
        None,
        **_SQL,
    ),
    _duration(
        "SqlServer.PrefetchedJobReleaseTimeout", "00:00:05", "00:00:08", "worker.release_timeout", timedelta(seconds=8)
    ),
    _whole("SqlServer.MaxTransientRetries", "3", 0, "sqlserver.max_transient_retries", 0, 100, **_SQL),
    _units(
        "SqlServer.TransientRetryBaseDelayMs",
        "200",
        350,
        "sqlserver.transient_retry_base_delay",
        timedelta(milliseconds=350),
        60_000,
        **_SQL,
    ),
    _text("Sqlite.Path", "null", "data/jobs.db", "sqlite_path", PATH, " ", ":memory:", "file:jobs?mode=memory", "a\0b"),
    _whole("InMemory.MaxCapacity", "100000", 500, "in_memory_max_capacity", 1, 100_000_000),
    _nullable("Retention.Archive", "7.00:00:00", "1.00:00:00", "retention.archive", timedelta(days=1)),
    _nullable("Retention.DLQ", "30.00:00:00", "90.00:00:00", "retention.dlq", timedelta(days=90)),
    _nullable("Retention.MetricBuckets", "2.00:00:00", "12:00:00", "retention.metric_buckets", timedelta(hours=12)),
    _nullable("Retention.OperatorLog", "90.00:00:00", "365.00:00:00", "retention.operator_log", timedelta(days=365)),
    _duration(
        "Health.WorkerHeartbeatTimeout",
        "00:00:30",
        "00:02:00",
        "health.worker_heartbeat_timeout",
        timedelta(minutes=2),
    ),
    _duration(
        "Health.QueueLagDegradedThreshold", "00:00:05", "00:00:06", "health.queue_lag_degraded", timedelta(seconds=6)
    ),
    _duration(
        "Health.QueueLagUnhealthyThreshold",
        "00:00:10",
        "00:01:00",
        "health.queue_lag_unhealthy",
        timedelta(minutes=1),
    ),
    _duration("Health.CheckTimeout", "00:00:05", "00:00:03", "health.check_timeout", timedelta(seconds=3)),
    _whole("Metrics.MaxQueueTagValues", "100", 20, "metrics.max_queue_values", 1, 100_000),
    _whole("Metrics.MaxJobTypeTagValues", "500", 900, "metrics.max_job_type_values", 1, 100_000),
    _whole("Metrics.MaxErrorTagValues", "100", 30, "metrics.max_error_values", 1, 100_000),
    _whole("Metrics.MaxFailureReasonTagValues", "50", 11, "metrics.max_failure_reason_values", 1, 100_000),
    _whole("Metrics.MaxTagValueLength", "128", 64, "metrics.max_value_length", 1, 1_024),
    _text("Metrics.UnknownTagValue", "unknown", "n/a", "metrics.unknown_value", TAG, "", " \t ", "a\nb", "x" * 129),
    _text("Metrics.OverflowTagValue", "other", "the rest", "metrics.overflow_value", TAG, "", " \t ", "a\nb"),
    _period("Functions.PollInterval", "00:00:30", "00:02:00", "functions.poll_interval", timedelta(minutes=2)),
    _period(
        "Functions.HeartbeatInterval", "00:01:00", "00:00:20", "functions.heartbeat_interval", timedelta(seconds=20)
    ),
    _period(
        "Functions.MaintenanceInterval", "00:15:00", "01:00:00", "functions.maintenance_interval", timedelta(hours=1)
    ),
    _text(
        "Functions.WakeQueueName",
        "chokaq-wake",
        "billing-wake",
        "functions.wake_queue_name",
        WAKE,
        "",
        "ab",
        "Wake",
        "a--b",
        "-ab",
        "abc-",
        "a_b_c",
        "x" * 57,
    ),
    _whole("Functions.MaxWakesPerPoll", "32", 8, "functions.max_wakes_per_poll", 1, 1_000),
    _duration("Functions.DrainBudget", "00:04:00", "00:02:00", "worker.drain_budget", timedelta(minutes=2)),
    _duration("Functions.IdleLinger", "00:00:02", "00:00:00", "worker.idle_linger", timedelta(0), None),
    _flag("Deck.TrustPlatformAuthentication", "false", "true", "deck.trust_platform_authentication"),
    _flag("Deck.AllowAnonymous", "false", "true", "deck.allow_anonymous"),
)
"""Every setting that is no secret."""

SECRET_NAMES = ("SqlServer.ConnectionString", "Deck.ReadKey", "Deck.OperateKey")
"""The settings whose values are never shown; their own tests stand apart."""
