"""
The gauges' readings: one look at the store for each pulse of the app.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.hosting.health import workforce
from chokaq_core.telemetry import GaugeSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from chokaq_core.policy.health import HealthRules
    from chokaq_core.ports import Store
    from chokaq_core.telemetry import Gauges


class Readings:
    """
    Reads how things stand and tells the gauges.
    """

    def __init__(self, store: Store, gauges: Gauges, rules: HealthRules, periods: Mapping[str, timedelta]) -> None:
        self._store = store
        self._gauges = gauges
        self._rules = rules
        self._periods = periods

    def refresh(self) -> None:
        """
        Refreshes every gauge.

        Raises:
            StoreError: the database is away.
        """
        vitals, census, queues = self._store.vitals(), self._store.census(), self._store.queues()
        facts = workforce(vitals, self._rules, self._periods)
        self._gauges.refresh(
            GaugeSnapshot(
                lag_max=vitals.lags,
                depth=census.waiting,
                paused={queue.name: queue.is_paused or not queue.is_active for queue in queues},
                dlq_depth=census.dead,
                heartbeat_age_max=vitals.oldest_heartbeat_age,
                workers_alive=facts.living,
                timers_silence={name: silence for name, (silence, _) in facts.timer_silences.items()},
            )
        )
