from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode

from chokaq_core.domain import moves
from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.events import JobRef
from chokaq_core.domain.job import Lease, NewJob
from chokaq_core.ports import Store, Turn
from chokaq_core.telemetry.traced_store import TracedStore
from chokaq_core.telemetry.tracing import Tracing


class Recorded:
    """
    Stands for a store: answers what it was asked.
    """

    version = 5

    def enqueue(self, jobs: Sequence[NewJob]) -> int:
        return len(jobs)

    def turn(self, turn: Turn) -> str:
        return turn.worker_id

    def recover(self, fetched_for: timedelta, limit: int) -> int:
        return limit

    def counts(self) -> str:
        raise StoreUnavailableError("Server=db.example.net is away")


def traced_recorded(tracing: Tracing) -> Recorded:
    return cast("Recorded", TracedStore(cast("Store", Recorded()), tracing, "sqlite"))


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracing(exporter: InMemorySpanExporter) -> Tracing:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider)


@pytest.fixture
def store(tracing: Tracing) -> Recorded:
    return traced_recorded(tracing)


def facts_of(span: ReadableSpan) -> tuple[str, dict[str, object]]:
    return span.name, dict(span.attributes or {})


def test_a_call_is_a_client_span_with_its_method_and_batch(store: Recorded, exporter: InMemorySpanExporter) -> None:
    assert store.enqueue([NewJob("a", "t.v1", "{}"), NewJob("b", "t.v1", "{}")]) == 2
    assert store.recover(timedelta(minutes=1), limit=200) == 200
    one, other = exporter.get_finished_spans()
    assert one.kind is SpanKind.CLIENT
    assert facts_of(one) == (
        "store enqueue",
        {"db.system": "sqlite", "db.operation.name": "enqueue", "db.operation.batch.size": 2},
    )
    assert facts_of(other) == ("store recover", {"db.system": "sqlite", "db.operation.name": "recover"})


@pytest.mark.parametrize("is_named", [False, True])
def test_a_turn_is_tied_to_the_run_that_it_settles(
    store: Recorded,
    tracing: Tracing,
    exporter: InMemorySpanExporter,
    is_named: bool,
) -> None:
    with tracing.running(JobRef("a", "t.v1", "mail"), None):
        pass
    lease = Lease("a", "w", 1)
    turn = Turn("w", 1, settlements=(moves.complete(lease, 1.0),), starts=(Lease("b", "w", 1),))
    assert (store.turn(turn=turn) if is_named else store.turn(turn)) == "w"
    run, call = exporter.get_finished_spans()
    assert (call.attributes or {})["db.operation.batch.size"] == 2
    assert [link.context.span_id for link in call.links] == [run.get_span_context().span_id]  # type: ignore[union-attr]


def test_an_error_passes_and_marks_the_span_without_its_text(store: Recorded, exporter: InMemorySpanExporter) -> None:
    with pytest.raises(StoreUnavailableError):
        store.counts()
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "StoreUnavailableError"
    assert "example.net" not in span.to_json()


def test_what_is_no_method_is_handed_out_as_it_is(store: Recorded, exporter: InMemorySpanExporter) -> None:
    assert store.version == 5
    with pytest.raises(AttributeError):
        _ = store.nothing_of_the_kind  # type: ignore[attr-defined]
    assert exporter.get_finished_spans() == ()


def test_without_a_provider_the_store_is_called_and_no_more() -> None:
    store = traced_recorded(Tracing(NoOpTracerProvider()))
    assert store.enqueue([]) == 0
    with pytest.raises(StoreUnavailableError):
        store.counts()
