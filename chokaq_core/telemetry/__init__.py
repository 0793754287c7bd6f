"""
Events become log lines, metrics and spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.telemetry.fan_out import FanOut
from chokaq_core.telemetry.log_events import LogEvents
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags

if TYPE_CHECKING:
    from chokaq_core.policy.metric_tags import MetricRules
    from chokaq_core.ports import Events

__all__ = ["build_events"]


def build_events(metric_rules: MetricRules) -> Events:
    """
    What an app publishes its events to: log lines and metrics.
    """
    return FanOut(LogEvents(), Metrics(Tags(metric_rules)))
