"""
What an in-memory reader of metrics has got, in a shape that a test can compare.
"""

from __future__ import annotations

from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, Metric, NumberDataPoint

from chokaq_core.telemetry.instruments import METER_NAME, Instruments


class Readings:
    """
    Instruments on a provider of their own, and what was recorded on them so far.
    """

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self._provider = MeterProvider([self._reader], shutdown_on_exit=False)
        self.instruments = Instruments(self.meter)

    def meter(self) -> Meter:
        """
        The provider's meter.
        """
        return self._provider.get_meter(METER_NAME)

    def metrics(self) -> dict[str, Metric]:
        """
        Every metric that has a point, by name.
        """
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        scopes = (scope for resource in data.resource_metrics for scope in resource.scope_metrics)
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> dict[tuple[str, ...], float]:
        """
        A metric's values by the values of its tags; a histogram's value is its count.
        """
        metric = self.metrics().get(name)
        points = metric.data.data_points if metric is not None else ()
        return {_tags(point): _value(point) for point in points}

    def histogram(self, name: str) -> HistogramDataPoint:
        """
        The only point of a histogram.
        """
        (point,) = self.metrics()[name].data.data_points
        assert isinstance(point, HistogramDataPoint)
        return point


def _tags(point: object) -> tuple[str, ...]:
    assert isinstance(point, NumberDataPoint | HistogramDataPoint)
    return tuple(str(value) for value in (point.attributes or {}).values())


def _value(point: object) -> float:
    if isinstance(point, HistogramDataPoint):
        return point.count
    assert isinstance(point, NumberDataPoint)
    return point.value
