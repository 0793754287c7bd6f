"""
Settings of one running job: how long, how often again, what if its worker dies.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.kinds import FLAG, PERIOD, ZERO, duration, number, whole
from chokaq_core.config.setting import Section, Setting

_TICK = timedelta(milliseconds=10)

EXECUTION = Section(
    "Execution",
    "How long a handler may run, and how a running job shows that its worker lives.",
    (
        Setting(
            "Execution.DefaultTimeout",
            ("execution.default_timeout",),
            duration(),
            timedelta(minutes=15),
            purpose=(
                "Hard limit on one run of a handler; a job that passes it goes to the DLQ as Timeout and is not "
                "retried. A queue's own `ExecutionTimeout` and a handler's registration go before it."
            ),
            change=(
                "your slowest ordinary job needs longer. `functionTimeout` in host.json must leave room for it, and "
                "over an hour the platform may end the run at a scale-in."
            ),
        ),
        Setting(
            "Execution.HeartbeatIntervalMin",
            ("heartbeat.interval_min",),
            duration(low=_TICK),
            timedelta(seconds=8),
            purpose=(
                "Shortest wait between two heartbeats of a worker's running jobs; each wait is drawn between this and "
                "`HeartbeatIntervalMax`. The heartbeat's own SQL calls give up within it."
            ),
            change="the database shall see fewer heartbeats, or lost workers shall be noticed sooner.",
        ),
        Setting(
            "Execution.HeartbeatIntervalMax",
            ("heartbeat.interval_max",),
            duration(low=_TICK),
            timedelta(seconds=12),
            purpose="Longest wait between two heartbeats. Every zombie timeout must be at least three times as long.",
            change="you change `HeartbeatIntervalMin`; keep the two apart, so that workers do not beat in step.",
        ),
        Setting(
            "Execution.HeartbeatFailureThreshold",
            ("heartbeat.failure_threshold",),
            whole(1, 10_000),
            10,
            purpose="Heartbeat writes that fail in a row before the worker reports its heartbeat as degraded.",
            change="you want to hear of database trouble sooner, or less often.",
        ),
        Setting(
            "Execution.CancelOnHeartbeatFailure",
            ("heartbeat.cancel_on_failure",),
            FLAG,
            default=False,
            purpose=(
                "Whether a job is cancelled, and goes to the DLQ as HeartbeatFailure, when the threshold is reached. "
                "Failed heartbeats often mean pressure on the database, not a bad handler, so the default goes on."
            ),
            change="your handlers must stop early rather than run on unobserved.",
        ),
        Setting(
            "Execution.PendingCancellationRetention",
            ("execution.pending_cancellation_retention",),
            duration(),
            timedelta(seconds=30),
            purpose="How long a cancel is kept for a job that is about to start.",
            change="workers take longer than this from claim to start.",
        ),
    ),
)

RETRY = Section(
    "Retry",
    "What happens after a failed attempt.",
    (
        Setting(
            "Retry.MaxAttempts",
            ("retry.max_attempts",),
            whole(1, 10_000, hint="1 runs a job once, and no value retries without limit"),
            3,
            purpose="Runs of a job in all, the first included. A handler's registration can set its own.",
            change="what your handlers call needs more, or fewer, chances to recover.",
        ),
        Setting(
            "Retry.BaseDelay",
            ("retry.base_delay",),
            duration(low=ZERO),
            timedelta(seconds=3),
            purpose="Wait after the first failed attempt.",
            change="what your handlers call needs longer to recover from a fault.",
        ),
        Setting(
            "Retry.MaxDelay",
            ("retry.max_delay",),
            duration(),
            timedelta(hours=1),
            purpose="No wait between attempts is longer, jitter included.",
            change="retries shall come closer together late in a long outage, or further apart.",
        ),
        Setting(
            "Retry.BackoffMultiplier",
            ("retry.multiplier",),
            number(1.0, 1000.0),
            2.0,
            purpose="Growth of the wait with each further failure: 3 s, 6 s, 12 s and so on with the defaults.",
            change="waits shall grow faster or, with 1.0, stay equal.",
        ),
        Setting(
            "Retry.JitterMaxDelay",
            ("retry.jitter_max_delay",),
            duration(low=ZERO),
            timedelta(seconds=1),
            purpose=(
                "Upper bound of a random addition to each wait, so that jobs that failed together do not return "
                "together."
            ),
            change="thousands of jobs fail at once when something that they call is away.",
        ),
        Setting(
            "Retry.CircuitBreakerDelay",
            ("retry.circuit_breaker_delay",),
            duration(),
            timedelta(seconds=5),
            purpose="How long a job that is already fetched is put off when its type's circuit is open.",
            change="you change `Circuit.BreakDuration` much.",
        ),
        Setting(
            "Retry.MaxJobAge",
            ("retry.max_job_age",),
            duration(),
            timedelta(days=1),
            purpose=(
                "Lifetime budget of a job, counted from its creation, its first due time or its resurrection. When the "
                "next attempt would start later, the job goes to the DLQ as RetryLifetimeExpired."
            ),
            change="old work loses its worth sooner, or must still be tried after days.",
            null="no limit",
        ),
    ),
)

RECOVERY = Section(
    "Recovery",
    "What becomes of jobs whose worker was lost.",
    (
        Setting(
            "Recovery.FetchedJobTimeout",
            ("rescue.fetched_job_timeout",),
            duration(),
            timedelta(minutes=10),
            purpose=(
                "A job fetched for longer without having started goes back to Pending; no handler ran, so it is safe."
            ),
            change="prefetched jobs may rightly wait longer behind slow ones.",
        ),
        Setting(
            "Recovery.ProcessingZombieTimeout",
            ("rescue.processing_zombie_timeout",),
            duration(),
            timedelta(minutes=10),
            purpose=(
                "A running job whose last heartbeat is older has lost its worker; it goes to the DLQ as Zombie, since "
                "its handler may have had effects. A queue can have its own."
            ),
            change="lost work shall be seen sooner. Values near the heartbeat interval bury living jobs.",
        ),
        Setting(
            "Recovery.ScanInterval",
            ("rescue.scan_interval",),
            PERIOD,
            timedelta(minutes=1),
            purpose="Schedule of the rescue timer.",
            change="recovery shall be faster, or the database spared.",
        ),
    ),
)

RUNNING = (EXECUTION, RETRY, RECOVERY)
