"""
Settings of health checks and metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from unittest import mock

from chokaq_core.config import Settings
from chokaq_core.hosting.health import Health
from chokaq_core.hosting.single_flight import SingleFlight
from chokaq_core.policy.health import Workforce, judge_workers, lag_status
from chokaq_core.telemetry.tags import Tags
from tests.support.settings_at_work.trial import MINUTE, Row, by


def health_without_workers(settings: Settings) -> str:
    idle = Workforce(living=0, active=0, capacity=0, abandoned=0, heartbeat_age=None, worst_lag=MINUTE)
    return judge_workers(idle, settings.health).status.value


def lag(settings: Settings, seconds: float) -> str:
    return lag_status(timedelta(seconds=seconds), settings.health).value


def wait_for_a_check(settings: Settings) -> float:
    with mock.patch.object(SingleFlight, "ask", side_effect=TimeoutError) as ask:
        Health(settings, mock.Mock(), mock.Mock()).check()
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
    Row("Health.CheckTimeout", "00:00:03", by(wait_for_a_check), 4.5, 2.7),
    Row("Metrics.MaxQueueTagValues", "20", by(partial(values_of, tag="queue")), 101, 21),
    Row("Metrics.MaxJobTypeTagValues", "900", by(partial(values_of, tag="type")), 501, 901),
    Row("Metrics.MaxErrorTagValues", "30", by(partial(values_of, tag="error")), 101, 31),
    Row("Metrics.MaxFailureReasonTagValues", "11", by(partial(values_of, tag="reason")), 51, 12),
    Row("Metrics.MaxTagValueLength", "64", by(lambda s: len(Tags(s.metrics).queue("x" * 500))), 128, 64),
    Row("Metrics.UnknownTagValue", "n/a", by(lambda s: Tags(s.metrics).queue(" ")), "unknown", "n/a"),
    Row("Metrics.OverflowTagValue", "rest", by(last_of_many_queues), "other", "rest"),
)
