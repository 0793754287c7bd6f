"""
The instruments of the meter `ChokaQ`: a public contract, letter for letter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.value import Value
from chokaq_core.telemetry.histogram_series import HistogramSeries

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter

METER_NAME = "ChokaQ"


class Kind(StrEnum):
    """
    How an instrument takes its numbers.
    """

    COUNTER = "counter"
    UP_DOWN_COUNTER = "up_down_counter"
    HISTOGRAM = "histogram"
    GAUGE = "observable_gauge"


class Instrument(Value, eq=False):
    """
    One instrument: its name, kind, unit and tags. Compared by identity, which keeps the counting of events quick.
    """

    name: str
    kind: Kind
    unit: str
    tags: tuple[str, ...]
    meaning: str


_LANE = ("queue", "type")

ENQUEUED = Instrument("chokaq.jobs.enqueued", Kind.COUNTER, "", _LANE, "Jobs accepted by storage.")
COMPLETED = Instrument("chokaq.jobs.completed", Kind.COUNTER, "", _LANE, "Jobs archived as successful.")
FAILED = Instrument("chokaq.jobs.failed", Kind.COUNTER, "", (*_LANE, "error"), "Handler executions that threw.")
DURATION = Instrument(
    "chokaq.jobs.processing_duration", Kind.HISTOGRAM, "ms", _LANE, "Wall-clock handler duration, however it ended."
)
QUEUE_LAG = Instrument(
    "chokaq.jobs.queue_lag", Kind.HISTOGRAM, "ms", _LANE, "Time a job waited, once due, before execution."
)
DLQ = Instrument("chokaq.jobs.dlq", Kind.COUNTER, "", (*_LANE, "reason"), "Jobs moved to DLQ.")
RETRIED = Instrument(
    "chokaq.jobs.retried", Kind.COUNTER, "", (*_LANE, "attempt"), "Jobs scheduled for another attempt, by the last one."
)
WORKERS_ACTIVE = Instrument("chokaq.workers.active", Kind.UP_DOWN_COUNTER, "", ("queue",), "Jobs running now.")
HEARTBEAT_FAILURES = Instrument(
    "chokaq.jobs.heartbeat_failures", Kind.COUNTER, "", _LANE, "Failed per-job heartbeat writes."
)
CONFLICTS = Instrument(
    "chokaq.jobs.state_transition_conflicts",
    Kind.COUNTER,
    "",
    (*_LANE, "transition"),
    "Worker-owned state transitions that affected no rows.",
)
IDEMPOTENCY_CLAIMS = Instrument(
    "chokaq.idempotency.claims", Kind.COUNTER, "", ("outcome",), "Idempotency claim-store outcomes."
)
CIRCUIT_EVENTS = Instrument(
    "chokaq.circuits.events", Kind.COUNTER, "", ("type", "state", "event"), "Circuit breaker events."
)

LAG_MAX = Instrument(
    "chokaq.queue.lag_max", Kind.GAUGE, "s", ("queue",), "How long the longest waiting due job has waited."
)
DEPTH = Instrument("chokaq.queue.depth", Kind.GAUGE, "", ("queue",), "Pending jobs.")
PAUSED = Instrument("chokaq.queue.paused", Kind.GAUGE, "", ("queue",), "1 while the queue is paused or inactive.")
DLQ_DEPTH = Instrument("chokaq.dlq.depth", Kind.GAUGE, "", ("queue",), "Jobs in the DLQ.")
HEARTBEAT_AGE_MAX = Instrument(
    "chokaq.heartbeat.age_max", Kind.GAUGE, "s", (), "Age of the oldest heartbeat among running jobs."
)
WORKERS_ALIVE = Instrument("chokaq.workers.alive", Kind.GAUGE, "", (), "Workers heard of lately.")
TIMERS_SILENCE = Instrument(
    "chokaq.timers.silence", Kind.GAUGE, "s", ("timer",), "Time since the timer's last successful run."
)


class Instruments:
    """
    The instruments as OpenTelemetry makes them, each at its first use; until then nothing of it is imported.
    """

    def __init__(self, meter: Callable[[], Meter] | None = None) -> None:
        self._meter = meter if meter is not None else _global_meter
        self._made: dict[Instrument, Any] = {}
        # As many as there are series: the budgets of tags bound them.
        self._series: dict[tuple[Instrument, tuple[str, ...]], HistogramSeries] = {}
        self._lock = threading.Lock()

    def add(self, instrument: Instrument, tags: tuple[str, ...], amount: int) -> None:
        """
        Adds to a counter of either kind.
        """
        self._of(instrument).add(amount, _attributes(instrument, tags))

    def record(self, instrument: Instrument, tags: tuple[str, ...], values: list[float]) -> None:
        """
        Records values of a histogram that share their tags.
        """
        if not values:
            return
        series = self._series.get((instrument, tags))
        if series is None:
            made = HistogramSeries(self._of(instrument), _attributes(instrument, tags))
            series = self._series.setdefault((instrument, tags), made)
        series.record(values)

    def observe(self, instrument: Instrument, read: Callable[[], Mapping[tuple[str, ...], float]]) -> None:
        """
        Has a gauge ask for its values, by tags, whenever metrics are exported; only the first reader counts.
        """
        from opentelemetry.metrics import Observation  # noqa: PLC0415 - importing this room stays light

        def observations(_: CallbackOptions) -> list[Observation]:
            return [Observation(value, _attributes(instrument, tags)) for tags, value in read().items()]

        self._of(instrument, callbacks=[observations])

    def _of(self, instrument: Instrument, **options: Any) -> Any:  # noqa: ANN401 - four kinds behind one door
        made = self._made.get(instrument)
        if made is None:
            with self._lock:
                made = self._made.get(instrument)
                if made is None:
                    made = self._made[instrument] = self._make(instrument, options)
        return made

    def _make(self, instrument: Instrument, options: dict[str, Any]) -> Any:  # noqa: ANN401 - the same
        create = getattr(self._meter(), f"create_{instrument.kind}")
        return create(instrument.name, unit=instrument.unit, description=instrument.meaning, **options)


def _attributes(instrument: Instrument, tags: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(instrument.tags, tags, strict=True))


def _global_meter() -> Meter:
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - importing this room stays light

    return get_meter(METER_NAME)
