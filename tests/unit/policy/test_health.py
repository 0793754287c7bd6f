"""
What the health checks say, as tables.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.policy.health import (
    HealthRules,
    HealthStatus,
    Workforce,
    judge_saturation,
    judge_workers,
    worst,
)

RULES = HealthRules()
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def _facts(
    *,
    living: int = 1,
    abandoned: int = 0,
    worst_lag: timedelta = timedelta(0),
    timer_silences: dict[str, tuple[timedelta, timedelta]] | None = None,
) -> Workforce:
    return Workforce(
        living=living,
        active=2,
        capacity=16 * living,
        abandoned=abandoned,
        heartbeat_age=4 * SECOND,
        worst_lag=worst_lag,
        timer_silences=timer_silences or {},
    )


@pytest.mark.parametrize(
    "facts,status",
    [
        (_facts(), "Healthy"),
        (_facts(worst_lag=10 * MINUTE), "Healthy"),
        (_facts(living=0), "Healthy"),
        (_facts(living=0, worst_lag=30 * SECOND), "Healthy"),
        (_facts(living=0, worst_lag=31 * SECOND), "Unhealthy"),
        (_facts(abandoned=15), "Healthy"),
        (_facts(abandoned=16), "Degraded"),
        (_facts(timer_silences={"poll": (15 * MINUTE, 30 * SECOND)}), "Healthy"),
        (_facts(timer_silences={"poll": (16 * MINUTE, 30 * SECOND)}), "Unhealthy"),
        (_facts(timer_silences={"maintenance": (45 * MINUTE, 15 * MINUTE)}), "Healthy"),
        (_facts(timer_silences={"maintenance": (46 * MINUTE, 15 * MINUTE)}), "Unhealthy"),
    ],
)
def test_workers_are_judged_by_who_is_there_for_what_is_due(facts: Workforce, status: str) -> None:
    assert judge_workers(facts, RULES).status == HealthStatus(status)


def test_scaled_to_zero_is_said_as_such() -> None:
    assert judge_workers(_facts(living=0), RULES).data["state"] == "scaled to zero"
    assert judge_workers(_facts(living=0, worst_lag=MINUTE), RULES).data["state"] == "missing"


def test_silent_timers_are_named() -> None:
    check = judge_workers(_facts(timer_silences={"poll": (16 * MINUTE, MINUTE), "rescue": (MINUTE, MINUTE)}), RULES)

    assert check.data["silent_timers"] == ["poll"]
    assert "poll" in check.description


@pytest.mark.parametrize(
    "lags,status,queue",
    [
        ({}, "Healthy", None),
        ({"mail": 4.999 * SECOND}, "Healthy", "mail"),
        ({"mail": 5 * SECOND}, "Degraded", "mail"),
        ({"mail": 10 * SECOND}, "Degraded", "mail"),
        ({"mail": 10.001 * SECOND}, "Unhealthy", "mail"),
        ({"mail": SECOND, "reports": 11 * SECOND}, "Unhealthy", "reports"),
    ],
)
def test_saturation_is_judged_by_the_worst_queue_which_is_named(
    lags: dict[str, timedelta], status: str, queue: str | None
) -> None:
    check = judge_saturation(lags, RULES)

    assert (check.status, check.data["queue"]) == (HealthStatus(status), queue)


def test_the_overall_status_is_the_worst() -> None:
    healthy, degraded, unhealthy = HealthStatus.HEALTHY, HealthStatus.DEGRADED, HealthStatus.UNHEALTHY

    assert worst([]) is healthy
    assert worst([healthy, degraded]) is degraded
    assert worst([degraded, unhealthy, healthy]) is unhealthy
