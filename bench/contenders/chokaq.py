"""
This runner on its file store.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from bench.rig import Noop, build_engine, draining, noop_profile
from chokaq_core.contracts import Profile
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.ports import Events
from chokaq_core.stores.sqlite import SqliteStore
from chokaq_core.telemetry.fan_out import FanOut
from chokaq_core.telemetry.instruments import METER_NAME, Instruments
from chokaq_core.telemetry.log_events import LogEvents
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags


class ChokaQContender:
    """
    Engine, store and producer in one process, as an app has them.
    """

    def __init__(
        self,
        folder: Path,
        *,
        capacity: int,
        prefetch: int = 0,
        has_telemetry: bool = False,
        is_synced: bool = False,
        profile: Profile | None = None,
    ) -> None:
        self._store = SqliteStore(folder / "jobs.db", is_synced_on_commit=is_synced)
        self._store.prepare()
        events = recorded_events() if has_telemetry else None
        served = profile if profile is not None else noop_profile()
        self._engine = build_engine(self._store, served, draining(capacity, prefetch), events=events)

    def enqueue_each(self, count: int) -> None:
        """
        One call and one commit for each job.
        """
        for n in range(count):
            self._engine.producer.enqueue(Noop(n=n))

    def enqueue_bulk(self, count: int) -> bool:
        """
        One call; a commit for each thousand.
        """
        self._engine.producer.enqueue_many(Noop(n=n) for n in range(count))
        return True

    def drain(self) -> None:
        """
        One visit, which ends when nothing is due.
        """
        self._engine.attend()

    def left(self) -> int:
        """
        Jobs outside the archive.
        """
        counts = self._store.counts()
        return counts.hot + counts.dlq

    def close(self) -> None:
        """
        Ends the engine's threads.
        """
        self._engine.stop()
        self._store.close()


def recorded_events() -> Events:
    """
    Log lines and metrics as an app has them, without spans.

    Lines from INFO up are written, to nowhere; OpenTelemetry's own SDK records every number.
    """
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - heavy, and only one section needs it
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415 - the same

    provider = MeterProvider([InMemoryMetricReader()])
    metrics = Metrics(Tags(MetricRules()), Instruments(lambda: provider.get_meter(METER_NAME)))
    return FanOut(LogEvents(_logger()), metrics)


def _logger() -> logging.Logger:
    logger = logging.getLogger("bench.chokaq")
    if not logger.handlers:
        logger.addHandler(logging.FileHandler(os.devnull, encoding="utf-8"))
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logger
