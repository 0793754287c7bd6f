"""
What a collector got over OTLP, decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.collector import Collector

KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}


@dataclass(frozen=True)
class Span:
    """
    A span, its ids in hexadecimal; no parent is an empty one.
    """

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[tuple[str, str], ...]
    attributes: Mapping[str, object]
    started_at: int
    ended_at: int


@dataclass(frozen=True)
class Line:
    """
    A log line with its attributes.
    """

    text: str
    attributes: Mapping[str, object]


def spans_of(collector: Collector) -> list[Span]:
    """
    Every span that came, by the time it began.
    """
    scopes = (
        scope
        for body in collector.bodies.get("/v1/traces", [])
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
    )
    return sorted((_span(span) for scope in scopes for span in scope.spans), key=lambda span: span.started_at)


def lines_of(collector: Collector) -> list[Line]:
    """
    Every log line that came.
    """
    records = (
        record
        for body in collector.bodies.get("/v1/logs", [])
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    )
    return [Line(record.body.string_value, _attributes(record.attributes)) for record in records]


def metrics_of(collector: Collector) -> dict[str, dict[tuple[object, ...], float]]:
    """
    The newest value of each series by metric and the values of its tags; a histogram's value is its count.
    """
    newest: dict[str, dict[tuple[object, ...], float]] = {}
    for metric in _metrics(collector):
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            tags = tuple(_attributes(point.attributes).values())
            newest.setdefault(metric.name, {})[tags] = point.count if kind == "histogram" else _number(point)
    return newest


def _metrics(collector: Collector) -> Iterator[Any]:
    for body in collector.bodies.get("/v1/metrics", []):
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                yield from scope.metrics


def _span(span: Any) -> Span:  # noqa: ANN401 - a message of the protocol
    return Span(
        name=span.name,
        kind=KINDS[span.kind],
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        attributes=_attributes(span.attributes),
        started_at=span.start_time_unix_nano,
        ended_at=span.end_time_unix_nano,
    )


def _attributes(pairs: Iterable[Any]) -> dict[str, object]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def _number(point: Any) -> float:  # noqa: ANN401 - the same
    value: float = getattr(point, point.WhichOneof("value"))
    return value
