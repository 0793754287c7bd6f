"""
When the health checks complain.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class HealthRules:
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
