"""
Events become log lines, metrics and spans.

Importing this room is light: OpenTelemetry is imported when the first number or span needs it, its SDK by `turn_on`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value
from chokaq_core.telemetry.fan_out import FanOut
from chokaq_core.telemetry.gauges import Gauges, GaugeSnapshot
from chokaq_core.telemetry.instruments import Instruments
from chokaq_core.telemetry.log_events import LogEvents
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.recent import RecentEvents
from chokaq_core.telemetry.tags import Tags
from chokaq_core.telemetry.tracing import Tracing, attach_parent

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.policy.metric_tags import MetricRules
    from chokaq_core.ports import Events

__all__ = [
    "GaugeSnapshot",
    "Gauges",
    "RecentEvents",
    "Telemetry",
    "Tracing",
    "attach_parent",
    "build_events",
    "build_telemetry",
]


class Telemetry(Value):
    """
    What an app tells the outside with: events as they happen, gauges when a timer looks, spans around what takes time.

    Events and gauges share the budgets of tags.
    """

    events: Events
    gauges: Gauges
    tracing: Tracing
    recent: RecentEvents


def build_telemetry(metric_rules: MetricRules, *, mark_thread: Callable[[], object] | None = None) -> Telemetry:
    """
    The telemetry of one process.

    Args:
        mark_thread: called on a thread before a line is written there.
    """
    tags, instruments, recent = Tags(metric_rules), Instruments(), RecentEvents()
    events = FanOut(LogEvents(mark_thread=mark_thread), Metrics(tags, instruments), recent)
    return Telemetry(events, Gauges(tags, instruments), Tracing(), recent)


def build_events(metric_rules: MetricRules) -> Events:
    """
    What an app publishes its events to: log lines and metrics.
    """
    return build_telemetry(metric_rules).events
