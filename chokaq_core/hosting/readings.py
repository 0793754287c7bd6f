"""
The gauges' readings: one look at the store for each pulse of the app.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError
from chokaq_core.hosting.health import workforce
from chokaq_core.telemetry import GaugeSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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
        self._queues: tuple[str, ...] = ()

    def refresh(self) -> None:
        """
        Refreshes every gauge, each as soon as it is read: one that is slow or fails holds up none of the others.

        Raises:
            StoreError: some could not be read; the others are refreshed.
        """
        steps = (self._read_vitals, self._read_queues, self._count_jobs)
        faults = [fault for step in steps if (fault := _fault_of(step)) is not None]
        if faults:
            raise faults[0]

    def _read_vitals(self) -> None:
        vitals = self._store.vitals()
        facts = workforce(vitals, self._rules, self._periods)
        self._gauges.refresh(
            GaugeSnapshot(
                lag_max=vitals.lags,
                heartbeat_age_max=vitals.oldest_heartbeat_age,
                workers_alive=facts.living,
                timers_silence={name: silence for name, (silence, _) in facts.timer_silences.items()},
            )
        )

    def _read_queues(self) -> None:
        queues = self._store.queues()
        self._queues = tuple(queue.name for queue in queues)
        paused = {queue.name: queue.is_paused or not queue.is_active for queue in queues}
        self._gauges.refresh(GaugeSnapshot(paused=paused))

    def _count_jobs(self) -> None:
        """
        Jobs by queue, the longest of these reads; a queue that has none shows zero.
        """
        census = self._store.census()
        nothing = dict.fromkeys(self._queues, 0)
        self._gauges.refresh(GaugeSnapshot(depth={**nothing, **census.waiting}, dlq_depth={**nothing, **census.dead}))


def _fault_of(step: Callable[[], None]) -> StoreError | None:
    try:
        step()
    except StoreError as error:
        return error
    return None
