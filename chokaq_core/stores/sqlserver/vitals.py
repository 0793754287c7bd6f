"""
How things stand: one look for health checks and gauges.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.ports import Census, Vitals
from chokaq_core.stores.sqlserver import scanning, schema
from chokaq_core.stores.sqlserver.rows import moment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.pool import Row


def vitals(database: Database, circuit_rules: CircuitRules) -> Vitals:
    """
    The schema's state and, where that is right, workers, lags and timers.
    """
    name = database.settings.schema_name
    values: Values = {"schema_name": name, "expected": schema.VERSION, "has_circuits": circuit_rules.is_enabled}
    head, tables, *rest = database.run("vitals", values)
    ((now, version),) = head
    state = schema.state_of(version, tables)
    if not rest or not state.is_ready:
        return Vitals(now=moment(now), schema=state)
    workers, looking, ready, due, timers, oldest = rest
    return Vitals(
        now=moment(now),
        schema=state,
        workers=tuple(scanning.worker_facts(row) for row in workers),
        looking_workers=looking[0][0],
        lags=_lags(now, [*ready, *due]),
        timers=scanning.timer_rows(timers),
        oldest_heartbeat_age=_since(now, oldest[0][0]),
    )


def census(database: Database) -> Census:
    """
    Waiting and dead jobs by queue.
    """
    waiting, dead = database.run("census")
    return Census(waiting=_by_queue(waiting), dead=_by_queue(dead))


def _by_queue(rows: Iterable[Row]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}


def _lags(now: datetime, rows: Iterable[Row]) -> dict[str, timedelta]:
    """
    How long the longest waiting due job of each queue has waited.
    """
    lags: dict[str, timedelta] = {}
    for queue, due in rows:
        lags[queue] = max(_since(now, due), lags.get(queue, timedelta(0)))
    return lags


def _since(now: datetime, at: datetime | None) -> timedelta:
    return max(timedelta(0), now - at) if at is not None else timedelta(0)
