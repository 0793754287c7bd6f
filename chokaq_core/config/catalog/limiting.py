"""
Settings of many jobs at once: how many run, and which are held back.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.kinds import FLAG, ZERO, count_of, duration, whole
from chokaq_core.config.setting import Section, Setting

WORKER = Section(
    "Worker",
    "How much one process takes on.",
    (
        Setting(
            "Worker.MaxConcurrency",
            ("worker.max_concurrency",),
            whole(1, 1_000, hint="to stop a queue, pause it"),
            16,
            purpose="Jobs that run at once in one process.",
            change="handlers mostly wait for others and could run in larger numbers, or use much memory or CPU each.",
        ),
        Setting(
            "Worker.Prefetch",
            ("worker.prefetch",),
            whole(0, 1_000),
            0,
            purpose="Jobs that may wait, already fetched, behind the running ones.",
            change="jobs take only milliseconds, so that the next shall be at hand.",
        ),
        Setting(
            "Worker.PausedQueuePollingDelay",
            ("worker.paused_queue_polling_delay",),
            duration(),
            timedelta(seconds=1),
            purpose="How soon a worker that holds fetched jobs looks again at a queue that was paused.",
            change="pauses are long and many, and the looks show in the database.",
        ),
        Setting(
            "Worker.ShutdownGracePeriod",
            ("grace.embedded",),
            duration(low=ZERO),
            timedelta(seconds=30),
            purpose="With the embedded store: how long running handlers may go on after a stop was asked for.",
            change="handlers need longer to come to an end, or a stop shall be quick.",
        ),
    ),
)

CIRCUIT = Section(
    "Circuit",
    "When a type of job is held back because its attempts keep failing.",
    (
        Setting(
            "Circuit.Enabled",
            ("circuit.is_enabled",),
            FLAG,
            default=True,
            purpose="Whether types of jobs have circuits at all.",
            change="failing types shall keep running, whatever they call.",
        ),
        Setting(
            "Circuit.FailureThreshold",
            ("circuit.failure_threshold",),
            whole(1, 10_000),
            5,
            purpose="Failed attempts of one type within the window that open its circuit. A success clears the count.",
            change="single failures are ordinary for a type with much traffic.",
        ),
        Setting(
            "Circuit.FailureWindow",
            ("circuit.failure_window",),
            duration(),
            timedelta(minutes=1),
            purpose="How far back failures count.",
            change="failures come slowly and shall still add up.",
        ),
        Setting(
            "Circuit.BreakDuration",
            ("circuit.break_duration",),
            duration(),
            timedelta(seconds=30),
            purpose="How long an open circuit holds its type back before one job may probe.",
            change="what the handlers call needs longer to recover.",
        ),
        Setting(
            "Circuit.ProbeTimeout",
            ("circuit.probe_timeout",),
            duration(),
            timedelta(seconds=30),
            purpose="A probing job that has not beaten for longer is given up, and the next may probe.",
            change="you raise `Execution.HeartbeatIntervalMax`; keep this above it.",
        ),
    ),
)

QUEUES = Section(
    "Queues",
    (
        "What one queue does differently; `{queue}` stands for its name. A queue whose name does not fit into that of "
        "a variable (50 characters in all: letters, digits, `.` and `_`) is configured in `appsettings.json` or at "
        "run time."
    ),
    (
        Setting(
            "Queues.{queue}.ExecutionTimeout",
            ("execution.queue_timeouts",),
            duration(),
            None,
            purpose="Hard limit on one run of a handler for jobs of this queue, before `Execution.DefaultTimeout`.",
            change="its jobs are longer, or must fail faster, than others.",
            null="`Execution.DefaultTimeout`",
        ),
        Setting(
            "Queues.{queue}.MaxWorkers",
            ("queues.max_workers",),
            whole(1, 10_000, hint="to stop a queue, pause it; only null means no limit"),
            None,
            purpose=(
                "Hard limit on the queue's fetched and running jobs over all instances. It is the value that the "
                "queue's row starts with; an operator's change at run time wins from then on."
            ),
            change="what its jobs call bears only so many at once.",
            null="no limit",
            is_empty_null=False,
        ),
        Setting(
            "Queues.{queue}.ZombieTimeoutSeconds",
            ("queues.zombie_timeout",),
            count_of(timedelta(seconds=1), 1, 31_536_000),
            None,
            purpose=(
                "Its own zombie timeout, in seconds; like `MaxWorkers` it is the value that the queue's row starts "
                "with."
            ),
            change="lost jobs of this queue shall be seen sooner or later than others.",
            null="`Recovery.ProcessingZombieTimeout`",
        ),
    ),
)

LIMITING = (WORKER, CIRCUIT)
