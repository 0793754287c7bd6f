"""
A circuit: whether jobs of one type may run, shared by all instances through the store.
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum

from chokaq_core.domain.value import Value


class CircuitState(IntEnum):
    """
    Closed lets jobs run, Open holds them back, HalfOpen lets one job try.
    """

    CLOSED = 0
    OPEN = 1
    HALF_OPEN = 2


class CircuitSignal(StrEnum):
    """
    What a run tells its type's circuit. Released: the probe ended without an answer.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    RELEASED = "released"


class CircuitEventName(StrEnum):
    """
    What happened to a circuit; the values are the metric's `event` tag.
    """

    OPENED = "opened"
    CLOSED = "closed"
    HALF_OPENED = "half_opened"
    PROBE_ACQUIRED = "probe_acquired"
    PROBE_EXPIRED = "probe_expired"
    PERMIT_RELEASED = "permit_released"
    REJECTED = "rejected"


class Circuit(Value):
    """
    A type's circuit as it is stored. A type without a row is closed, generation 0.

    Attributes:
        failure_times: failures in the window while closed, oldest first.
        generation: rises with every change of state; what a run of another generation says is ignored.
        probe_until: when the probe is given up unless its job beats.
    """

    type_key: str
    state: CircuitState = CircuitState.CLOSED
    failure_times: tuple[datetime, ...] = ()
    opened_at: datetime | None = None
    reset_at: datetime | None = None
    generation: int = 0
    probe_job_id: str | None = None
    probe_worker_id: str | None = None
    probe_until: datetime | None = None


class CircuitReport(Value):
    """
    What one run has to tell its circuit.
    """

    type_key: str
    job_id: str
    generation: int
    signal: CircuitSignal


class CircuitEvent(Value):
    """
    One thing that happened to a circuit, with the state it is in now.
    """

    type_key: str
    state: CircuitState
    name: CircuitEventName
