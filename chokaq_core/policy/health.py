"""
When the health checks complain.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from chokaq_core.domain.value import Value, field

TIMER_SILENCE = timedelta(minutes=15)
"""Timers are given this long, or three of their periods, before their silence counts: a lost lease takes minutes."""
TIMER_PERIODS = 3


class HealthStatus(StrEnum):
    """
    What a check says, best first.
    """

    HEALTHY = "Healthy"
    DEGRADED = "Degraded"
    UNHEALTHY = "Unhealthy"


class HealthRules(Value):
    """
    The settings of section `Health`.

    Attributes:
        worker_heartbeat_timeout: a worker that has not beaten for longer counts as gone.
        queue_lag_degraded: the worst lag from which the saturation check is degraded.
        queue_lag_unhealthy: the worst lag above which it is unhealthy.
        check_timeout: a check that takes longer is cut off.
    """

    worker_heartbeat_timeout: timedelta = timedelta(seconds=30)
    queue_lag_degraded: timedelta = timedelta(seconds=5)
    queue_lag_unhealthy: timedelta = timedelta(seconds=10)
    check_timeout: timedelta = timedelta(seconds=5)


class Check(Value):
    """
    One check's answer, with what it was judged by.
    """

    status: HealthStatus
    description: str
    data: Mapping[str, object] = field(default_factory=dict)


class Workforce(Value):
    """
    Everything that work depends on besides the database.

    Attributes:
        living: workers that beat lately, or have promised to look again.
        active: jobs that run.
        capacity: slots of the living workers.
        abandoned: slots of theirs that are held by handlers which ignore their timeout.
        heartbeat_age: since any worker beat; None if none ever did.
        worst_lag: how long the longest waiting due job has waited.
        timer_silences: by timer, time since its last success, with its period.
    """

    living: int
    active: int
    capacity: int
    abandoned: int
    heartbeat_age: timedelta | None
    worst_lag: timedelta
    timer_silences: Mapping[str, tuple[timedelta, timedelta]] = field(default_factory=dict)


def worst(statuses: list[HealthStatus]) -> HealthStatus:
    """
    The worst of several; healthy when there are none.
    """
    order = list(HealthStatus)
    return max(statuses, key=order.index, default=HealthStatus.HEALTHY)


def judge_workers(facts: Workforce, rules: HealthRules) -> Check:
    """
    Whether somebody does the work that is due. No worker is healthy as long as nothing waits: scaled to zero.
    """
    silent = [name for name, (silence, period) in facts.timer_silences.items() if silence > _patience(period)]
    data: dict[str, object] = {
        "state": "running" if facts.living else "scaled to zero",
        "workers": facts.living,
        "active": facts.active,
        "capacity": facts.capacity,
        "abandoned": facts.abandoned,
        "heartbeat_age_seconds": None if facts.heartbeat_age is None else facts.heartbeat_age.total_seconds(),
        "worst_lag_seconds": facts.worst_lag.total_seconds(),
        "silent_timers": silent,
    }
    if silent:
        names = ", ".join(silent)
        return Check(HealthStatus.UNHEALTHY, f"these timers have been silent too long: {names}", data)
    if not facts.living and facts.worst_lag > rules.worker_heartbeat_timeout:
        return Check(HealthStatus.UNHEALTHY, "work is due and no worker lives", data | {"state": "missing"})
    if facts.living and facts.abandoned >= facts.capacity > 0:
        return Check(HealthStatus.DEGRADED, "every slot is held by a handler that ignores its timeout", data)
    return Check(HealthStatus.HEALTHY, "workers are there, or nothing waits for one", data)


def judge_saturation(lags: Mapping[str, timedelta], rules: HealthRules) -> Check:
    """
    Whether work waits longer than it should, by the queue that waits longest.
    """
    queue, lag = max(lags.items(), key=lambda item: item[1], default=(None, timedelta(0)))
    data: dict[str, object] = {"queue": queue, "lag_seconds": lag.total_seconds()}
    match status := lag_status(lag, rules):
        case HealthStatus.UNHEALTHY:
            return Check(status, f"queue {queue} is far behind", data)
        case HealthStatus.DEGRADED:
            return Check(status, f"queue {queue} is behind", data)
        case HealthStatus.HEALTHY:
            return Check(status, "no queue is behind", data)


def lag_status(lag: timedelta, rules: HealthRules) -> HealthStatus:
    """
    What one queue's lag says of it.
    """
    if lag > rules.queue_lag_unhealthy:
        return HealthStatus.UNHEALTHY
    return HealthStatus.DEGRADED if lag >= rules.queue_lag_degraded else HealthStatus.HEALTHY


def _patience(period: timedelta) -> timedelta:
    return max(TIMER_PERIODS * period, TIMER_SILENCE)
