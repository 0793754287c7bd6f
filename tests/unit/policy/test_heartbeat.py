from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.policy.heartbeat import HeartbeatRules, HeartbeatVerdict, next_interval, verdict_on_failures

DEFAULTS = HeartbeatRules()


@pytest.mark.parametrize("roll,expected", [(0.0, 8.0), (0.25, 9.0), (0.5, 10.0), (0.75, 11.0)])
def test_the_wait_lies_between_the_bounds_in_proportion_to_the_roll(roll: float, expected: float) -> None:
    assert next_interval(DEFAULTS, roll) == timedelta(seconds=expected)


def test_equal_bounds_leave_nothing_to_chance() -> None:
    rules = HeartbeatRules(interval_min=timedelta(seconds=5), interval_max=timedelta(seconds=5))
    assert next_interval(rules, 0.7) == timedelta(seconds=5)


@given(st.floats(min_value=0.0, max_value=1.0, exclude_max=True))
def test_no_wait_leaves_the_bounds(roll: float) -> None:
    assert timedelta(seconds=8) <= next_interval(DEFAULTS, roll) <= timedelta(seconds=12)


def test_the_failure_that_reaches_the_threshold_degrades_once() -> None:
    rules = HeartbeatRules(failure_threshold=3)
    verdicts = [verdict_on_failures(rules, failures) for failures in range(6)]
    go_on = HeartbeatVerdict.GO_ON
    assert verdicts == [go_on, go_on, go_on, HeartbeatVerdict.DEGRADED, go_on, go_on]


def test_every_failure_from_the_threshold_on_cancels_what_runs_by_then() -> None:
    rules = HeartbeatRules(failure_threshold=3, cancel_on_failure=True)
    verdicts = [verdict_on_failures(rules, failures) for failures in range(6)]
    go_on, cancel = HeartbeatVerdict.GO_ON, HeartbeatVerdict.CANCEL
    assert verdicts == [go_on, go_on, go_on, cancel, cancel, cancel]


def test_ten_failures_in_a_row_degrade_by_default() -> None:
    assert verdict_on_failures(DEFAULTS, 10) is HeartbeatVerdict.DEGRADED
