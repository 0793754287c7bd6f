"""
Gauges: how things stand, told by the timers, so that they speak when no worker lives.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value
from chokaq_core.telemetry import instruments as of
from chokaq_core.telemetry.instruments import Instruments

if TYPE_CHECKING:
    from chokaq_core.telemetry.instruments import Instrument
    from chokaq_core.telemetry.tags import Tags

Points = Mapping[tuple[str, ...], float]

FRESH_FOR = timedelta(minutes=3)
"""How long a reading is exported: three times the usual interval of the timer that refreshes it."""

_log = logging.getLogger("chokaq.telemetry")


class GaugeSnapshot(Value):
    """
    How things stand. What could not be found out is None: its gauge goes on with what was known while that is fresh.

    Attributes:
        lag_max: by queue, how long its longest waiting due job has waited; paused and inactive queues are left out.
        depth: by queue, pending jobs.
        paused: by queue, whether it is paused or inactive.
        dlq_depth: by queue, dead jobs.
        heartbeat_age_max: age of the oldest heartbeat among running jobs; zero when nothing runs.
        workers_alive: workers heard of lately.
        timers_silence: by timer, time since its last successful run.
    """

    lag_max: Mapping[str, timedelta] | None = None
    depth: Mapping[str, int] | None = None
    paused: Mapping[str, bool] | None = None
    dlq_depth: Mapping[str, int] | None = None
    heartbeat_age_max: timedelta | None = None
    workers_alive: int | None = None
    timers_silence: Mapping[str, timedelta] | None = None


class Gauges:
    """
    The gauges of the meter `ChokaQ`.

    What was refreshed is exported while it is fresh. A process whose timers have moved to another instance falls silent
    then, instead of repeating for ever what once was.
    """

    def __init__(
        self,
        tags: Tags,
        instruments: Instruments | None = None,
        *,
        fresh_for: timedelta = FRESH_FOR,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tags = tags
        self._instruments = instruments if instruments is not None else Instruments()
        self._fresh_for = fresh_for.total_seconds()
        self._monotonic = monotonic
        self._readings: dict[Instrument, _Reading] = {}

    def refresh(self, snapshot: GaugeSnapshot) -> None:
        """
        Takes what the snapshot knows of; a gauge that fails is told and the others are refreshed all the same.
        """
        queue, timer = self._tags.queue, self._tags.timer
        reads: tuple[tuple[Instrument, Callable[[], Points | None]], ...] = (
            (of.LAG_MAX, lambda: _merged(max, queue, _seconds(snapshot.lag_max))),
            (of.DEPTH, lambda: _merged(_plus, queue, snapshot.depth)),
            (of.PAUSED, lambda: _merged(max, queue, snapshot.paused)),
            (of.DLQ_DEPTH, lambda: _merged(_plus, queue, snapshot.dlq_depth)),
            (of.HEARTBEAT_AGE_MAX, lambda: _single(_in_seconds(snapshot.heartbeat_age_max))),
            (of.WORKERS_ALIVE, lambda: _single(snapshot.workers_alive)),
            (of.TIMERS_SILENCE, lambda: _merged(max, timer, _seconds(snapshot.timers_silence))),
        )
        for instrument, read in reads:
            self._refresh_safely(instrument, read)

    def _refresh_safely(self, instrument: Instrument, read: Callable[[], Points | None]) -> None:
        try:
            points = read()
            if points is not None:
                self._readings[instrument] = _Reading(points, self._monotonic())
                self._instruments.observe(instrument, partial(self._fresh_points, instrument))
        except Exception as fault:  # noqa: BLE001 - one gauge's fault is not the others'
            _log.warning("gauge %s could not be refreshed: %s", instrument.name, type(fault).__qualname__)

    def _fresh_points(self, instrument: Instrument) -> Points:
        reading = self._readings[instrument]
        return reading.points if self._monotonic() - reading.at <= self._fresh_for else {}


class _Reading(Value):
    """
    A gauge's values by tags, and when they were read.
    """

    points: Points
    at: float


def _merged(
    merge: Callable[[float, float], float], tag: Callable[[object], str], values: Mapping[str, float] | None
) -> Points | None:
    """
    The values by tag; those that share the overflow tag become one.
    """
    if values is None:
        return None
    merged: dict[tuple[str, ...], float] = {}
    for name, value in values.items():
        key = (tag(name),)
        merged[key] = merge(merged[key], value) if key in merged else +value
    return merged


def _plus(one: float, other: float) -> float:
    return one + other


def _single(value: float | None) -> Points | None:
    return None if value is None else {(): value}


def _seconds(values: Mapping[str, timedelta] | None) -> dict[str, float] | None:
    return None if values is None else {name: value.total_seconds() for name, value in values.items()}


def _in_seconds(value: timedelta | None) -> float | None:
    return None if value is None else value.total_seconds()
