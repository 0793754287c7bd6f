"""
Settings of what an operator sees: health and metrics.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.config.kinds import duration, text, whole
from chokaq_core.config.setting import Section, Setting

_TAG_VALUE = text(r"(?=.{1,128}\Z).*\S.*", "text of 1 to 128 characters on one line, not only blanks")
_BUDGET = whole(1, 100_000)

HEALTH = Section(
    "Health",
    "When the health checks complain.",
    (
        Setting(
            "Health.WorkerHeartbeatTimeout",
            ("health.worker_heartbeat_timeout",),
            duration(),
            timedelta(seconds=30),
            purpose="A worker that has not beaten for longer counts as gone.",
            change="you raise `Execution.HeartbeatIntervalMax`; keep this well above it.",
        ),
        Setting(
            "Health.QueueLagDegradedThreshold",
            ("health.queue_lag_degraded",),
            duration(),
            timedelta(seconds=5),
            purpose="Worst wait of a due job from which saturation is Degraded; below it, Healthy.",
            change="your jobs may wait longer without harm, or less.",
        ),
        Setting(
            "Health.QueueLagUnhealthyThreshold",
            ("health.queue_lag_unhealthy",),
            duration(),
            timedelta(seconds=10),
            purpose="Worst wait of a due job above which saturation is Unhealthy.",
            change="you change `QueueLagDegradedThreshold`.",
        ),
        Setting(
            "Health.CheckTimeout",
            ("health.check_timeout",),
            duration(),
            timedelta(seconds=5),
            purpose="The answer takes no longer: a check that is not done after nine tenths of it counts as Unhealthy.",
            change="the probe that asks waits less, or the database answers slowly in good health.",
        ),
    ),
)

METRICS = Section(
    "Metrics",
    "How many distinct values the tags of metrics may take in one process.",
    (
        Setting(
            "Metrics.MaxQueueTagValues",
            ("metrics.max_queue_values",),
            _BUDGET,
            100,
            purpose="Distinct values of the tag `queue`; further ones are reported as the overflow value.",
            change="you have more queues and your backend bears the series.",
        ),
        Setting(
            "Metrics.MaxJobTypeTagValues",
            ("metrics.max_job_type_values",),
            _BUDGET,
            500,
            purpose="Distinct values of the tag `type`.",
            change="you have more types of jobs and your backend bears the series.",
        ),
        Setting(
            "Metrics.MaxErrorTagValues",
            ("metrics.max_error_values",),
            _BUDGET,
            100,
            purpose="Distinct values of the tag `error`.",
            change="your handlers raise more classes of errors than that.",
        ),
        Setting(
            "Metrics.MaxFailureReasonTagValues",
            ("metrics.max_failure_reason_values",),
            _BUDGET,
            50,
            purpose="Distinct values of the tag `reason`.",
            change="the series of reasons must be fewer.",
        ),
        Setting(
            "Metrics.MaxTagValueLength",
            ("metrics.max_value_length",),
            whole(1, 1_024),
            128,
            purpose="Longer values are cut, before they are counted.",
            change="your backend allows less.",
        ),
        Setting(
            "Metrics.UnknownTagValue",
            ("metrics.unknown_value",),
            _TAG_VALUE,
            "unknown",
            purpose="Stands for a blank value.",
            change="the word is taken by one of your own values.",
        ),
        Setting(
            "Metrics.OverflowTagValue",
            ("metrics.overflow_value",),
            _TAG_VALUE,
            "other",
            purpose="Stands for every value beyond its budget.",
            change="the word is taken by one of your own values.",
        ),
    ),
)

WATCHING = (HEALTH, METRICS)
