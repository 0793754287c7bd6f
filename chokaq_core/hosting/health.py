"""
The health checks: what is asked of the store, and what is made of the answer.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.engine.scans import HEARTBEAT_TIMER, MAINTENANCE_TIMER, POLL_TIMER, RESCUE_TIMER
from chokaq_core.hosting.single_flight import SingleFlight
from chokaq_core.hosting.stores import prepare
from chokaq_core.policy.health import Check, HealthStatus, Workforce, judge_saturation, judge_workers
from chokaq_core.ports import WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chokaq_core.config import Settings
    from chokaq_core.policy.health import HealthRules
    from chokaq_core.ports import Events, Store, Vitals

SQL_CHECK = "chokaq_sql"
WORKER_CHECK = "chokaq_worker"
SATURATION_CHECK = "chokaq_queue_saturation"
PATIENCE = 0.9
"""The part of the check timeout that the database gets; the rest is for answering in time."""


class Health:
    """
    The checks of one process. Answers within the check timeout, whatever the database does.

    Why the database cannot be used is told to the log when that begins, and to no caller.
    """

    def __init__(self, settings: Settings, open_store: Callable[[], Store], events: Events) -> None:
        self._settings = settings
        self._open_store = open_store
        self._events = events
        self._is_failing = False
        self._vitals = SingleFlight(self._look)

    def check(self) -> dict[str, Check]:
        """
        Every check by name. Never raises, and tells no server names or driver texts.
        """
        patience = self._timeout() * PATIENCE
        try:
            vitals = self._vitals.ask(patience.total_seconds())
        except TimeoutError:
            return self._all(f"the database did not answer within {patience.total_seconds():g} s")
        except StoreError as error:
            self._tell_once(error)
            return self._all(f"the database cannot be used ({type(error).__name__}); the log has the reason")
        self._is_failing = False
        if not vitals.schema.is_ready:
            return self._all(_schema_fault(vitals))
        return self._checks(vitals)

    def _look(self) -> Vitals:
        """
        What the store says of itself.

        Nobody applies scripts to an embedded one beforehand, and this may be the first call that it gets.
        """
        store = self._open_store()
        vitals = store.vitals()
        if vitals.schema.is_ready or self._settings.sqlserver is not None:
            return vitals
        prepare(store, self._events)
        return store.vitals()

    def _checks(self, vitals: Vitals) -> dict[str, Check]:
        rules = self._settings.health
        checks = {
            WORKER_CHECK: judge_workers(workforce(vitals, rules, timer_periods(self._settings)), rules),
            SATURATION_CHECK: judge_saturation(vitals.lags, rules),
        }
        if self._settings.sqlserver is None:
            return checks
        data = {"schema_version": vitals.schema.version}
        return {SQL_CHECK: Check(HealthStatus.HEALTHY, "the database answers and its schema is right", data), **checks}

    def _all(self, fault: str) -> dict[str, Check]:
        """
        All checks unhealthy for one reason: without the store nothing can be said of the rest.
        """
        names = [WORKER_CHECK, SATURATION_CHECK]
        if self._settings.sqlserver is not None:
            names.insert(0, SQL_CHECK)
        return {name: Check(HealthStatus.UNHEALTHY, fault) for name in names}

    def _tell_once(self, error: StoreError) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._events.publish(
                [Event(EventName.INVOCATION_SKIPPED, facts={"function": "chokaq_health"}, error=error)]
            )

    def _timeout(self) -> timedelta:
        own = self._settings.health.check_timeout
        sql = self._settings.sqlserver
        return own if sql is None else min(own, sql.command_timeout)


def workforce(vitals: Vitals, rules: HealthRules, periods: Mapping[str, timedelta]) -> Workforce:
    """
    What the worker check judges, from one look at the store.
    """
    ages = [vitals.now - worker.heartbeat_at for worker in vitals.workers if worker.heartbeat_at is not None]
    living = [
        worker
        for worker in vitals.workers
        if worker.state is not WorkerState.STOPPED
        and worker.heartbeat_at is not None
        and vitals.now - worker.heartbeat_at <= rules.worker_heartbeat_timeout
    ]
    return Workforce(
        living=max(len(living), vitals.looking_workers),
        active=sum(worker.active for worker in living),
        capacity=sum(worker.capacity for worker in living),
        abandoned=sum(worker.abandoned for worker in living),
        heartbeat_age=min(ages, default=None),
        worst_lag=max(vitals.lags.values(), default=timedelta(0)),
        timer_silences=_silences(vitals, periods),
    )


def timer_periods(settings: Settings) -> dict[str, timedelta]:
    """
    How often each timer runs, by the name it notes itself under.
    """
    return {
        POLL_TIMER: settings.functions.poll_interval,
        HEARTBEAT_TIMER: settings.functions.heartbeat_interval,
        RESCUE_TIMER: settings.rescue.scan_interval,
        MAINTENANCE_TIMER: settings.functions.maintenance_interval,
    }


def _silences(vitals: Vitals, periods: Mapping[str, timedelta]) -> dict[str, tuple[timedelta, timedelta]]:
    """
    Time since each timer's last success. One that never ran is not silent yet: nothing tells since when.
    """
    silences = {}
    for name, period in periods.items():
        row = vitals.timers.get(name)
        at = None if row is None else row.last_succeeded_at or row.last_started_at
        if at is not None:
            silences[name] = (vitals.now - at, period)
    return silences


def _schema_fault(vitals: Vitals) -> str:
    missing = vitals.schema.missing_tables
    tables = f"; missing tables: {', '.join(missing)}" if missing else ""
    return f"the schema is version {vitals.schema.version}, the code needs {vitals.schema.expected_version}{tables}"
