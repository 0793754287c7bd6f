"""
When to beat, and what a row of failed heartbeats means.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from chokaq_core.domain.value import Value


class HeartbeatRules(Value):
    """
    The heartbeat settings of section `Execution`.
    """

    interval_min: timedelta = timedelta(seconds=8)
    interval_max: timedelta = timedelta(seconds=12)
    failure_threshold: int = 10
    cancel_on_failure: bool = False


class HeartbeatVerdict(StrEnum):
    """
    What to do about failed heartbeats.
    """

    GO_ON = "go_on"
    DEGRADED = "degraded"
    CANCEL = "cancel"


def next_interval(rules: HeartbeatRules, roll: float) -> timedelta:
    """
    A wait between the two bounds, uniform in the roll.
    """
    return rules.interval_min + roll * (rules.interval_max - rules.interval_min)


def verdict_on_failures(rules: HeartbeatRules, failures_in_a_row: int) -> HeartbeatVerdict:
    """
    Cancel from the threshold on, whatever runs by then; or degraded, told once, when the threshold is reached.
    """
    if failures_in_a_row < rules.failure_threshold:
        return HeartbeatVerdict.GO_ON
    if rules.cancel_on_failure:
        return HeartbeatVerdict.CANCEL
    return HeartbeatVerdict.DEGRADED if failures_in_a_row == rules.failure_threshold else HeartbeatVerdict.GO_ON
