"""
One series of a histogram, which takes many values at once.

OpenTelemetry's API takes one value a call, and for each its SDK copies, checks and hashes the attributes and looks the
series up, which comes to the same for every value of a series. That is seven microseconds, twice a job: a tenth of what
a small job costs. So the first value of a batch goes through the API, and the others go straight to where that one was
added up. Where there is no such way, because the instrument is not the SDK's or the SDK has changed inside, every value
goes through the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class HistogramSeries:
    """
    A histogram with the attributes of one of its series. Safe to use from any thread.
    """

    def __init__(self, histogram: Any, attributes: Mapping[str, str]) -> None:  # noqa: ANN401 - the API's or anybody's
        self._histogram = histogram
        self._attributes = attributes
        self._route: _Route | None = None

    def record(self, values: Sequence[float]) -> None:
        """
        Records one value or more, which must be finite and not negative.
        """
        # Through the API, which makes the series where it is new, for every reader that there is by now.
        self._histogram.record(values[0], self._attributes)
        others = values[1:]
        if others and not self._add(others):
            for value in others:
                self._histogram.record(value, self._attributes)

    def _add(self, values: Sequence[float]) -> bool:
        """
        Adds values on the short way; False when there is none, and nothing was added.
        """
        try:
            route = self._route
            if route is None or not route.leads_there():
                route = self._route = _route_to(self._histogram, self._attributes)
            route.add(values)
        except (AttributeError, LookupError, RuntimeError, TypeError):
            self._route = None
            return False
        return True


class _Place(NamedTuple):
    """
    Where one reader of the SDK adds up one series.
    """

    series: Mapping[Any, Any]
    key: Any
    aggregation: Any


class _Route(NamedTuple):
    """
    All places of a series.
    """

    consumer: Any
    readers: Mapping[Any, Any]
    places: tuple[_Place, ...]

    def leads_there(self) -> bool:
        """
        Whether no reader has come or gone, and every place still counts.
        """
        if self.consumer._reader_storages is not self.readers:  # noqa: SLF001 - see the module
            return False
        return all(series.get(key) is aggregation for series, key, aggregation in self.places)

    def add(self, values: Sequence[float]) -> None:
        """
        Adds values as the SDK does, but for exemplars: those come from spans, and batches are told outside of any.
        """
        sample = _Sample()
        for place in self.places:
            aggregate = place.aggregation.aggregate
            for value in values:
                sample.value = value
                aggregate(sample, False)  # noqa: FBT003 - the SDK's own order


class _Sample:
    """
    What an aggregation reads of a measurement.
    """

    __slots__ = ("value",)

    value: float


def _route_to(histogram: Any, attributes: Mapping[str, str]) -> _Route:  # noqa: ANN401 - the API's or anybody's
    """
    The way to where the SDK adds up a series that has a value already.

    Raises:
        AttributeError, LookupError, RuntimeError, TypeError: this is not the SDK, or not as it is known here.
    """
    # An instrument that was made before there was a provider stands before the real one.
    instrument = getattr(histogram, "_real_instrument", None) or histogram
    consumer = instrument._measurement_consumer  # noqa: SLF001 - see the module
    readers = consumer._reader_storages  # noqa: SLF001
    return _Route(consumer, readers, tuple(_places(readers, instrument, attributes)))


def _places(readers: Mapping[Any, Any], instrument: Any, attributes: Mapping[str, str]) -> Iterator[_Place]:  # noqa: ANN401
    for reader in readers.values():
        for view in reader._instrument_view_instrument_matches[instrument]:  # noqa: SLF001 - see the module
            yield _place(view, attributes)


def _place(view: Any, attributes: Mapping[str, str]) -> _Place:  # noqa: ANN401 - the SDK's
    """
    The series of a view, which may leave attributes out. Newest first, since it has just had a value.

    Raises:
        LookupError: it is not there.
    """
    kept = view._view._attribute_keys  # noqa: SLF001 - see the module
    wanted = {name: value for name, value in attributes.items() if kept is None or name in kept}
    series = view._attributes_aggregation  # noqa: SLF001
    for key in reversed(series):
        if series[key]._attributes == wanted:  # noqa: SLF001
            return _Place(series, key, series[key])
    raise LookupError
