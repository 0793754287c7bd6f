from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode

from chokaq_core.domain.errors import JobPostponedError
from chokaq_core.domain.events import JobRef
from chokaq_core.domain.job import NewJob
from chokaq_core.telemetry.tracing import Tracing, attach_parent

JOB = JobRef("job-1", "email.send.v1", "mail", attempt=2, worker_id="w")
STORED = NewJob("job-1", "email.send.v1", "{}", queue="mail")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Traced:
    """
    A provider of its own, and the spans that it has ended.
    """

    def __init__(self, *processors: SpanProcessor) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        for processor in (SimpleSpanProcessor(self._exporter), *processors):
            self.provider.add_span_processor(processor)
        self.tracing = Tracing(self.provider)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    @property
    def span(self) -> ReadableSpan:
        (span,) = self.spans
        return span


class FailingProcessor(SpanProcessor):
    def on_start(self, span: object, parent_context: Context | None = None) -> None:
        raise RuntimeError("no")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("no")


class FailingAtEnd(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("no")


@pytest.fixture
def traced() -> Traced:
    return Traced()


def links_of(span: ReadableSpan) -> list[str]:
    return [f"{link.context.trace_id:032x}-{link.context.span_id:016x}" for link in span.links]


def id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}-{span.context.span_id:016x}"


def test_an_enqueue_is_a_producer_span_whose_id_is_stored(traced: Traced) -> None:
    with traced.tracing.enqueuing([STORED]) as trace_parent:
        pass
    assert traced.span.name == "enqueue"
    assert traced.span.kind is SpanKind.PRODUCER
    assert trace_parent is not None
    assert trace_parent.startswith(f"00-{id_of(traced.span)}-")
    assert len(trace_parent) == 55
    assert dict(traced.span.attributes or {}) == {
        "messaging.system": "chokaq",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.batch.message_count": 1,
        "messaging.destination.name": "mail",
        "messaging.message.id": "job-1",
        "chokaq.job.type": "email.send.v1",
    }


def test_a_batch_leaves_out_what_differs(traced: Traced) -> None:
    with traced.tracing.enqueuing([STORED, NewJob("job-2", "report.v1", "{}", queue="mail")]):
        pass
    attributes = traced.span.attributes or {}
    assert attributes["messaging.batch.message_count"] == 2
    assert attributes["messaging.destination.name"] == "mail"
    assert not {"messaging.message.id", "chokaq.job.type"} & set(attributes)


def test_no_span_holds_a_payload_or_a_key(traced: Traced) -> None:
    job = NewJob("job-1", "t.v1", '{"card":"4111"}', idempotency_key="k-4111", tags="4111", created_by="4111")
    with traced.tracing.enqueuing([job]):
        pass
    assert "4111" not in traced.span.to_json()


def test_a_run_is_a_consumer_span_child_of_the_stored_parent_and_linked_to_it(traced: Traced) -> None:
    with traced.tracing.running(JOB, PARENT):
        pass
    span = traced.span
    assert span.name == "run mail"
    assert span.kind is SpanKind.CONSUMER
    assert id_of(span).startswith("0af7651916cd43dd8448eb211c80319c-")
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert links_of(span) == ["0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"]
    assert dict(span.attributes or {}) == {
        "messaging.system": "chokaq",
        "messaging.operation.name": "run",
        "messaging.operation.type": "process",
        "messaging.destination.name": "mail",
        "messaging.message.id": "job-1",
        "chokaq.job.type": "email.send.v1",
        "chokaq.job.attempt": 2,
        "chokaq.worker.id": "w",
    }


@pytest.mark.parametrize("parent", [None, "", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "\ud800"])
def test_a_run_without_a_usable_parent_begins_a_trace(traced: Traced, parent: str | None) -> None:
    with traced.tracing.running(JOB, parent):
        pass
    assert traced.span.parent is None
    assert traced.span.links == ()


def test_what_a_handler_traces_belongs_to_its_run(traced: Traced) -> None:
    with traced.tracing.running(JOB, PARENT), traced.provider.get_tracer("handler").start_as_current_span("inner"):
        pass
    inner, run = traced.spans
    assert inner.parent is not None
    assert run.context is not None
    assert inner.parent.span_id == run.context.span_id
    assert not trace.get_current_span().get_span_context().is_valid


def test_async_runs_side_by_side_keep_their_spans_apart(traced: Traced) -> None:
    async def handler(number: int) -> None:
        with traced.tracing.running(JobRef(f"job-{number}", "t.v1", "mail"), None):
            await asyncio.sleep(0)
            with traced.provider.get_tracer("handler").start_as_current_span(f"inner-{number}"):
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(handler(1), handler(2))

    asyncio.run(both())
    runs = {(span.attributes or {})["messaging.message.id"]: span for span in traced.spans if span.name == "run mail"}
    for number in (1, 2):
        (inner,) = (span for span in traced.spans if span.name == f"inner-{number}")
        assert inner.parent is not None
        assert inner.parent.span_id == runs[f"job-{number}"].get_span_context().span_id  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "error", [ValueError("Pwd=s3cret"), SystemExit(3), StopIteration(), GeneratorExit(), asyncio.CancelledError()]
)
def test_what_a_handler_raises_passes_and_marks_the_span_by_its_class(traced: Traced, error: BaseException) -> None:
    caught: list[BaseException] = []
    try:
        with traced.tracing.running(JOB, None):
            raise error  # noqa: TRY301 - stands for a handler
    except BaseException as raised:  # noqa: BLE001 - any of them must come through
        caught.append(raised)
    assert caught == [error]
    assert traced.span.status.status_code is StatusCode.ERROR
    assert (traced.span.attributes or {})["error.type"] == type(error).__qualname__
    assert "s3cret" not in traced.span.to_json()


def test_a_postponed_run_is_no_error(traced: Traced) -> None:
    with pytest.raises(JobPostponedError), traced.tracing.running(JOB, None):
        raise JobPostponedError("circuit is open", timedelta(seconds=5))
    assert traced.span.status.status_code is StatusCode.UNSET


def test_a_call_that_settles_one_run_belongs_to_its_trace(traced: Traced) -> None:
    with traced.tracing.running(JOB, PARENT):
        pass
    with traced.tracing.calling("store turn", {"db.system": "sqlite"}, ["job-1", "unknown"]):
        pass
    run, call = traced.spans
    assert call.kind is SpanKind.CLIENT
    assert links_of(call) == [id_of(run)]
    assert call.parent is not None
    assert id_of(call).startswith("0af7651916cd43dd8448eb211c80319c-")


def test_a_call_that_settles_many_runs_is_linked_to_each_once(traced: Traced) -> None:
    for number in (1, 2):
        with traced.tracing.running(JobRef(f"job-{number}", "t.v1", "mail"), None):
            pass
    for _ in range(2):
        with traced.tracing.calling("store turn", {}, ["job-1", "job-2"]):
            pass
    one, other, call, repeated = traced.spans
    assert links_of(call) == [id_of(one), id_of(other)]
    assert call.parent is None
    assert links_of(repeated) == []


def test_runs_that_nobody_settles_do_not_pile_up(traced: Traced) -> None:
    for number in range(4_097):
        with traced.tracing.running(JobRef(f"job-{number}", "t.v1", "mail"), None):
            pass
    with traced.tracing.calling("store turn", {}, ["job-0", "job-1"]):
        pass
    assert len(traced.spans[-1].links) == 1


@pytest.mark.parametrize("processor", [FailingProcessor(), FailingAtEnd()], ids=lambda p: type(p).__name__)
def test_a_processor_of_the_app_that_fails_stops_no_job(
    processor: SpanProcessor, caplog: pytest.LogCaptureFixture
) -> None:
    traced = Traced(processor)
    with traced.tracing.running(JOB, PARENT) as nothing:
        ran = True
    assert ran
    assert nothing is None
    assert "RuntimeError" in caplog.records[0].getMessage()


def test_without_a_provider_nothing_is_made() -> None:
    tracing = Tracing(NoOpTracerProvider())
    assert not tracing.is_on
    assert tracing.running(JOB, PARENT) is tracing.calling("x", {})
    with tracing.enqueuing([STORED]) as trace_parent:
        assert trace_parent is None


def test_a_provider_that_is_set_later_is_found(monkeypatch: pytest.MonkeyPatch, traced: Traced) -> None:
    now = [0.0]
    provider = [NoOpTracerProvider(), traced.provider]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider[0])
    tracing = Tracing()
    assert not tracing.is_on
    provider.pop(0)
    now[0] = 0.9
    assert not tracing.is_on
    now[0] = 1.0
    assert tracing.is_on


def test_without_a_provider_an_attached_parent_changes_nothing() -> None:
    with attach_parent(PARENT, "a=b"):
        assert not trace.get_current_span().get_span_context().is_valid


ATTACHED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from chokaq_core.telemetry.tracing import attach_parent

trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))

def current():
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:x} {context.trace_state.get('vendor')}"

with attach_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=x"):
    print(current())
with attach_parent("nonsense", None):
    print(current())
with attach_parent(None, None):
    print(current())
print(current())
"""


def test_a_parent_of_the_host_is_current_inside_only() -> None:
    # In a process of its own, because the global provider can be set once only.
    done = subprocess.run([sys.executable, "-c", ATTACHED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["af7651916cd43dd8448eb211c80319c x", "0 None", "0 None", "0 None"]


def test_importing_the_room_imports_no_opentelemetry() -> None:
    script = "import sys, chokaq_core.telemetry; print([m for m in sys.modules if m.startswith('opentelemetry')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
