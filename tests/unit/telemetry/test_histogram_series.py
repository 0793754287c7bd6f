"""
A batch on the short way comes to what the same values come to one by one, with every kind of reader and view.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from opentelemetry.metrics import Histogram, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader, MetricsData
from opentelemetry.sdk.metrics.view import (
    DropAggregation,
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    SumAggregation,
    View,
)

from chokaq_core.telemetry.histogram_series import HistogramSeries

VALUES = [0.0, 4.9, 5.0, 5.1, 700.0, 20_000.0]
MAIL = {"queue": "mail", "type": "email.send.v1"}


class Counted:
    """
    A histogram that counts what comes through the API.
    """

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self.calls = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the SDK has
        return getattr(self._histogram, name)

    @property
    def _real_instrument(self) -> Histogram:
        return self._histogram

    def record(self, value: float, attributes: dict[str, str]) -> None:
        self.calls += 1
        self._histogram.record(value, attributes)


def reader(temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE) -> InMemoryMetricReader:
    from opentelemetry.sdk import metrics  # noqa: PLC0415 - only for the key

    return InMemoryMetricReader({metrics.Histogram: temporality})


def histogram_of(provider: MeterProvider) -> Counted:
    return Counted(provider.get_meter("test").create_histogram("test.duration", unit="ms"))


def points_of(source: InMemoryMetricReader) -> list[dict[str, Any]]:
    data = source.get_metrics_data()
    assert data is None or isinstance(data, MetricsData)
    metrics = [m for r in (data.resource_metrics if data else ()) for s in r.scope_metrics for m in s.metrics]
    shown = [vars(point) | {"metric": metric.name} for metric in metrics for point in metric.data.data_points]
    return [{k: v for k, v in point.items() if not k.endswith("time_unix_nano")} for point in shown]


def one_by_one(histogram: Counted, values: Sequence[float], attributes: dict[str, str]) -> None:
    for value in values:
        histogram.record(value, attributes)


def in_batches(histogram: Counted, values: Sequence[float], attributes: dict[str, str]) -> None:
    series = HistogramSeries(histogram, attributes)
    series.record(values[:2])
    series.record(values[2:])


VIEWS: dict[str, Sequence[View]] = {
    "none": [],
    "other buckets": [View(instrument_name="test.*", aggregation=ExplicitBucketHistogramAggregation([5.0, 10.0]))],
    "exponential": [View(instrument_name="test.*", aggregation=ExponentialBucketHistogramAggregation())],
    "a sum": [View(instrument_name="test.*", aggregation=SumAggregation())],
    "dropped": [View(instrument_name="test.*", aggregation=DropAggregation())],
    "fewer attributes": [View(instrument_name="test.*", attribute_keys={"queue"})],
    "no attributes": [View(instrument_name="test.*", attribute_keys=set())],
    "two views": [
        View(instrument_name="test.duration", name="test.one"),
        View(instrument_name="test.duration", name="test.other"),
    ],
}


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("temporality", [AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])
def test_a_batch_comes_to_what_its_values_come_to_one_by_one(
    views: Sequence[View], temporality: AggregationTemporality
) -> None:
    found: list[list[list[dict[str, Any]]]] = []
    for record in (one_by_one, in_batches):
        readers = [reader(temporality), reader(AggregationTemporality.CUMULATIVE)]
        histogram = histogram_of(MeterProvider(readers, views=views, shutdown_on_exit=False))
        record(histogram, VALUES, MAIL)
        record(histogram, VALUES[:3], {"queue": "other", "type": "t"})
        first = [points_of(source) for source in readers]
        record(histogram, VALUES[2:], MAIL)
        found.append(first + [points_of(source) for source in readers])
    assert found[0] == found[1]


def test_with_the_sdk_that_is_installed_only_the_first_value_of_a_batch_goes_through_the_api() -> None:
    source = reader()
    histogram = histogram_of(MeterProvider([source], shutdown_on_exit=False))
    series = HistogramSeries(histogram, MAIL)
    for _ in range(3):
        series.record([1.0] * 100)
    assert histogram.calls == 3
    (point,) = points_of(source)
    assert (point["count"], point["sum"], point["attributes"]) == (300, 300.0, MAIL)


def test_an_instrument_that_was_made_before_its_provider_takes_the_short_way_once_there_is_one() -> None:
    source = reader()
    real = histogram_of(MeterProvider([source], shutdown_on_exit=False))

    class Early:
        _real_instrument: Counted | None = None

        def record(self, value: float, attributes: dict[str, str]) -> None:
            if self._real_instrument is not None:
                self._real_instrument.record(value, attributes)

    early = Early()
    series = HistogramSeries(early, MAIL)
    series.record([1.0, 2.0])
    early._real_instrument = real  # noqa: SLF001 - as the API does when a provider is set
    series.record([1.0, 2.0, 3.0])
    assert points_of(source)[0]["count"] == 3


def test_a_reader_that_comes_later_misses_nothing_of_later_batches() -> None:
    first, late = reader(), reader()
    provider = MeterProvider([first], shutdown_on_exit=False)
    series = HistogramSeries(histogram_of(provider), MAIL)
    series.record(VALUES)
    provider.add_metric_reader(late)
    series.record(VALUES)
    assert [points_of(source)[0]["count"] for source in (first, late)] == [12, 6]


def test_a_series_that_the_sdk_has_dropped_begins_anew() -> None:
    source = reader()
    histogram = histogram_of(MeterProvider([source], shutdown_on_exit=False))
    series = HistogramSeries(histogram, MAIL)
    series.record(VALUES)
    storages = histogram._measurement_consumer._reader_storages  # noqa: SLF001 - as an SDK that forgets series would
    (match,) = next(iter(storages.values()))._instrument_view_instrument_matches[histogram._real_instrument]  # noqa: SLF001
    match._attributes_aggregation.clear()  # noqa: SLF001
    series.record(VALUES)
    assert points_of(source)[0]["count"] == len(VALUES)


class Plain:
    """
    An instrument of another maker.
    """

    def __init__(self) -> None:
        self.values: list[float] = []

    def record(self, value: float, attributes: dict[str, str]) -> None:
        assert attributes == MAIL
        self.values.append(value)


class Renamed(Plain):
    """
    The SDK's with other insides.
    """

    _measurement_consumer = object()


class Changed(Plain):
    """
    The SDK's with an aggregation that is called in another way.
    """

    class _Consumer:
        def __init__(self) -> None:
            self.attributes = MAIL
            self._reader_storages = {"reader": self}
            self._view = self
            self._attribute_keys = None
            self._attributes = MAIL
            self._attributes_aggregation = {"key": self}

        @property
        def _instrument_view_instrument_matches(self) -> dict[Any, list[Any]]:
            return {self.owner: [self]}

        owner: Any = None

        def aggregate(self, measurement: object) -> None:
            raise AssertionError(measurement)

    def __init__(self) -> None:
        super().__init__()
        self._measurement_consumer = self._Consumer()
        self._measurement_consumer.owner = self


@pytest.mark.parametrize("make", [Plain, Renamed, Changed])
def test_what_is_not_the_sdk_as_it_is_known_gets_every_value_through_the_api(make: Callable[[], Plain]) -> None:
    histogram = make()
    series = HistogramSeries(histogram, MAIL)
    series.record(VALUES)
    series.record(VALUES)
    assert histogram.values == VALUES * 2


def test_an_instrument_of_nothing_takes_everything() -> None:
    nothing = NoOpMeterProvider().get_meter("test").create_histogram("test.duration")
    HistogramSeries(nothing, MAIL).record(VALUES)


def test_threads_and_a_reader_side_by_side_lose_nothing() -> None:
    source = reader(AggregationTemporality.DELTA)
    histogram = histogram_of(MeterProvider([source], shutdown_on_exit=False))
    series = HistogramSeries(histogram, MAIL)
    counts: list[int] = []

    def record() -> None:
        for _ in range(200):
            series.record([1.0] * 10)

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counts += [point["count"] for point in points_of(source)]
    counts += [point["count"] for point in points_of(source)]
    assert sum(counts) == 8_000
