"""
How things stand: one look for health checks and gauges.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.ports import Census, Vitals
from chokaq_core.stores.sqlite import scanning, schema
from chokaq_core.stores.sqlite.rows import moment

if TYPE_CHECKING:
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.stores.sqlite.database import Transaction


def vitals(transaction: Transaction, circuit_rules: CircuitRules) -> Vitals:
    """
    The schema's state and, where that is right, workers, lags and timers.
    """
    state = schema.state(transaction)
    if not state.is_ready:
        return Vitals(now=moment(transaction.now), schema=state)
    return Vitals(
        now=moment(transaction.now),
        schema=state,
        workers=tuple(scanning.workers(transaction)),
        looking_workers=transaction.value("demand_workers"),
        lags=_lags(transaction, circuit_rules),
        timers=scanning.timers(transaction),
        oldest_heartbeat_age=_since(transaction, transaction.value("vitals_oldest_heartbeat")),
    )


def census(transaction: Transaction) -> Census:
    """
    Waiting and dead jobs by queue.
    """
    return Census(waiting=dict(transaction.rows("vitals_depths")), dead=dict(transaction.rows("vitals_dead")))


def oldest_ready(transaction: Transaction, circuit_rules: CircuitRules) -> dict[str, int]:
    """
    Since when the longest waiting ready job of each open queue has been due, those left out that circuits hold back.
    """
    return dict(transaction.rows("vitals_lags", has_circuits=circuit_rules.is_enabled))


def _lags(transaction: Transaction, circuit_rules: CircuitRules) -> dict[str, timedelta]:
    """
    How long the longest waiting due job of each queue has waited.
    """
    oldest = oldest_ready(transaction, circuit_rules)
    for queue, due in transaction.rows("vitals_due", has_circuits=circuit_rules.is_enabled):
        oldest[queue] = min(due, oldest.get(queue, due))
    return {queue: timedelta(microseconds=max(0, transaction.now - due)) for queue, due in oldest.items()}


def _since(transaction: Transaction, at: int | None) -> timedelta:
    return timedelta(microseconds=max(0, transaction.now - at)) if at is not None else timedelta(0)
