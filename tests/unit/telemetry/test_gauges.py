from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry.gauges import Gauges, GaugeSnapshot
from chokaq_core.telemetry.tags import Tags
from tests.support.readings import Readings

SNAPSHOT = GaugeSnapshot(
    lag_max={"mail": timedelta(seconds=12.5), "default": timedelta(0)},
    depth={"mail": 7, "default": 0},
    paused={"mail": True, "default": False},
    dlq_depth={"mail": 3},
    heartbeat_age_max=timedelta(seconds=9),
    workers_alive=2,
    timers_silence={"poll": timedelta(seconds=31), "rescue": timedelta(minutes=2)},
)


@pytest.fixture
def readings() -> Readings:
    return Readings()


def gauges_on(readings: Readings, rules: MetricRules | None = None) -> Gauges:
    return Gauges(Tags(rules if rules is not None else MetricRules()), readings.instruments)


@pytest.mark.parametrize(
    "name,points",
    [
        ("chokaq.queue.lag_max", {("mail",): 12.5, ("default",): 0.0}),
        ("chokaq.queue.depth", {("mail",): 7, ("default",): 0}),
        ("chokaq.queue.paused", {("mail",): 1, ("default",): 0}),
        ("chokaq.dlq.depth", {("mail",): 3}),
        ("chokaq.heartbeat.age_max", {(): 9.0}),
        ("chokaq.workers.alive", {(): 2}),
        ("chokaq.timers.silence", {("poll",): 31.0, ("rescue",): 120.0}),
    ],
)
def test_a_refresh_is_what_every_gauge_exports(
    readings: Readings, name: str, points: dict[tuple[str, ...], float]
) -> None:
    gauges_on(readings).refresh(SNAPSHOT)
    assert readings.points(name) == points


def test_what_could_not_be_found_out_keeps_silent(readings: Readings) -> None:
    gauges_on(readings).refresh(GaugeSnapshot(workers_alive=0))
    assert set(readings.metrics()) == {"chokaq.workers.alive"}


def test_a_reading_is_exported_while_it_is_fresh_and_never_after(readings: Readings) -> None:
    now = [100.0]
    gauges = Gauges(Tags(MetricRules()), readings.instruments, monotonic=lambda: now[0])
    gauges.refresh(SNAPSHOT)
    now[0] = 280.0
    assert readings.points("chokaq.queue.depth") == {("mail",): 7, ("default",): 0}
    now[0] = 280.5
    assert readings.metrics() == {}
    gauges.refresh(GaugeSnapshot(depth={"mail": 9}))
    assert readings.points("chokaq.queue.depth") == {("mail",): 9}


def test_what_is_known_to_be_empty_ends_what_was(readings: Readings) -> None:
    gauges = gauges_on(readings)
    gauges.refresh(SNAPSHOT)
    gauges.refresh(GaugeSnapshot(dlq_depth={}))
    assert readings.points("chokaq.dlq.depth") == {}
    assert readings.points("chokaq.queue.depth") == {("mail",): 7, ("default",): 0}


def test_queues_beyond_the_budget_are_added_up_or_show_their_worst(readings: Readings) -> None:
    snapshot = GaugeSnapshot(
        depth={"a": 1, "b": 2, "c": 3},
        lag_max={name: timedelta(seconds=seconds) for name, seconds in (("a", 1), ("b", 3), ("c", 2))},
        paused={"a": False, "b": True, "c": False},
    )
    gauges = gauges_on(readings, MetricRules(max_queue_values=1))
    gauges.refresh(snapshot)
    assert readings.points("chokaq.queue.depth") == {("a",): 1, ("other",): 5}
    assert readings.points("chokaq.queue.lag_max") == {("a",): 1.0, ("other",): 3.0}
    assert readings.points("chokaq.queue.paused") == {("a",): 0, ("other",): 1}


def test_a_gauge_that_fails_never_stops_the_others(readings: Readings, caplog: pytest.LogCaptureFixture) -> None:
    broken = GaugeSnapshot(
        lag_max=SNAPSHOT.lag_max,
        depth={"mail": "many"},  # type: ignore[dict-item]
        paused=[True],  # type: ignore[arg-type]
        workers_alive=2,
        timers_silence=SNAPSHOT.timers_silence,
    )
    gauges_on(readings).refresh(broken)
    assert set(readings.metrics()) == {"chokaq.queue.lag_max", "chokaq.workers.alive", "chokaq.timers.silence"}
    assert [record.getMessage() for record in caplog.records] == [
        "gauge chokaq.queue.depth could not be refreshed: TypeError",
        "gauge chokaq.queue.paused could not be refreshed: AttributeError",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
