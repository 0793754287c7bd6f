"""
Gauges: how things stand, told by the timers, so that they speak when no worker lives.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.telemetry import instruments as of
from chokaq_core.telemetry.instruments import Instruments

if TYPE_CHECKING:
    from chokaq_core.telemetry.instruments import Instrument
    from chokaq_core.telemetry.tags import Tags

_log = logging.getLogger("chokaq.telemetry")


@dataclass(frozen=True, slots=True)
class GaugeSnapshot:
    """
    How things stand. What could not be found out is None, or missing from its mapping, and its gauge keeps silent.

    Attributes:
        lag_max: by queue, how long its longest waiting due job has waited; paused and inactive queues are left out.
        depth: by queue, pending jobs.
        paused: by queue, whether it is paused or inactive.
        dlq_depth: by queue, dead jobs.
        heartbeat_age_max: age of the oldest heartbeat among running jobs; zero when nothing runs.
        workers_alive: workers heard of lately.
        timers_silence: by timer, time since its last successful run.
    """

    lag_max: Mapping[str, timedelta] = field(default_factory=dict)
    depth: Mapping[str, int] = field(default_factory=dict)
    paused: Mapping[str, bool] = field(default_factory=dict)
    dlq_depth: Mapping[str, int] = field(default_factory=dict)
    heartbeat_age_max: timedelta | None = None
    workers_alive: int | None = None
    timers_silence: Mapping[str, timedelta] = field(default_factory=dict)


class Gauges:
    """
    Sets the gauges of the meter `ChokaQ`.

    A value is exported once, for the interval that it was set in. So a process whose timers have moved to another
    instance falls silent instead of repeating what was.
    """

    def __init__(self, tags: Tags, instruments: Instruments | None = None) -> None:
        self._tags = tags
        self._instruments = instruments if instruments is not None else Instruments()

    def refresh(self, snapshot: GaugeSnapshot) -> None:
        """
        Sets every gauge that the snapshot knows of; one that fails is told and the others are set all the same.
        """
        queue, timer = self._tags.queue, self._tags.timer
        readings: tuple[tuple[Instrument, Callable[[], Mapping[tuple[str, ...], float]]], ...] = (
            (of.LAG_MAX, lambda: _merged(max, queue, _seconds(snapshot.lag_max))),
            (of.DEPTH, lambda: _merged(_plus, queue, snapshot.depth)),
            (of.PAUSED, lambda: _merged(max, queue, snapshot.paused)),
            (of.DLQ_DEPTH, lambda: _merged(_plus, queue, snapshot.dlq_depth)),
            (of.HEARTBEAT_AGE_MAX, lambda: _single(_in_seconds(snapshot.heartbeat_age_max))),
            (of.WORKERS_ALIVE, lambda: _single(snapshot.workers_alive)),
            (of.TIMERS_SILENCE, lambda: _merged(max, timer, _seconds(snapshot.timers_silence))),
        )
        for instrument, read in readings:
            self._set_safely(instrument, read)

    def _set_safely(self, instrument: Instrument, read: Callable[[], Mapping[tuple[str, ...], float]]) -> None:
        try:
            for tags, value in read().items():
                self._instruments.set(instrument, tags, value)
        except Exception as fault:  # noqa: BLE001 - one gauge's fault is not the others'
            _log.warning("gauge %s could not be set: %s", instrument.name, type(fault).__qualname__)


def _merged(
    merge: Callable[[float, float], float], tag: Callable[[object], str], values: Mapping[str, float]
) -> dict[tuple[str, ...], float]:
    """
    The values by tag; those that share the overflow tag become one.
    """
    merged: dict[tuple[str, ...], float] = {}
    for name, value in values.items():
        key = (tag(name),)
        merged[key] = merge(merged[key], value) if key in merged else +value
    return merged


def _plus(one: float, other: float) -> float:
    return one + other


def _single(value: float | None) -> dict[tuple[str, ...], float]:
    return {} if value is None else {(): value}


def _seconds(values: Mapping[str, timedelta]) -> dict[str, float]:
    return {name: value.total_seconds() for name, value in values.items()}


def _in_seconds(value: timedelta | None) -> float | None:
    return None if value is None else value.total_seconds()
