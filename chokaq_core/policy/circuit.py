"""
When a type of job is held back because its attempts keep failing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class CircuitRules:
    """
    The settings of section `Circuit`.

    Attributes:
        is_enabled: False lets every type run whatever its attempts come to.
        failure_threshold: failures within the window that open the circuit.
        failure_window: how far back failures count.
        break_duration: how long an open circuit holds its type back before one probe.
        probe_timeout: a probe whose job has not beaten for longer is given up.
    """

    is_enabled: bool = True
    failure_threshold: int = 5
    failure_window: timedelta = timedelta(minutes=1)
    break_duration: timedelta = timedelta(seconds=30)
    probe_timeout: timedelta = timedelta(seconds=30)
