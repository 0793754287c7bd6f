"""
Spans, made with OpenTelemetry's API. Imported only once a tracer provider is set; `tracing` is the light front of it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, NonRecordingSpan, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from chokaq_core.domain.errors import JobPostponedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.trace import Span, SpanContext, Tracer

    from chokaq_core.domain.events import JobRef
    from chokaq_core.domain.job import NewJob

Attributes = dict[str, str | int]

MAX_REMEMBERED_RUNS = 4_096
"""Ended runs whose spans wait to be tied to the store call that settles them."""

_log = logging.getLogger("chokaq.telemetry")
_PROPAGATOR = TraceContextTextMapPropagator()


class Spans:
    """
    Makes the spans of one process. Safe to use from any thread.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._ended: OrderedDict[str, SpanContext] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def enqueuing(self, jobs: Sequence[NewJob]) -> Iterator[str | None]:
        """
        A producer span; gives its W3C form to be stored with the jobs.
        """
        span = self._start("enqueue", SpanKind.PRODUCER, _of_enqueue(jobs))
        with _current(span):
            yield _trace_parent_of(span)

    @contextmanager
    def running(self, job: JobRef, trace_parent: str | None) -> Iterator[None]:
        """
        A consumer span, child of the stored parent and linked to it.
        """
        parent = _extracted(trace_parent, None) if trace_parent else None
        span = self._start(f"run {job.queue}", SpanKind.CONSUMER, _of_run(job), parent, _link_to(parent))
        try:
            with _current(span):
                yield
        finally:
            self._remember(job.id, span.get_span_context())

    @contextmanager
    def calling(self, name: str, attributes: Mapping[str, str | int], settled: Sequence[str]) -> Iterator[None]:
        """
        A client span. One that settles a single run belongs to that run's trace; it is linked to all that it settles.
        """
        runs = [run for job_id in settled if (run := self._forget(job_id)) is not None]
        parent = trace.set_span_in_context(NonRecordingSpan(runs[0])) if len(runs) == 1 else None
        span = self._start(name, SpanKind.CLIENT, attributes, parent, [Link(run) for run in runs])
        with _current(span):
            yield

    def _start(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, str | int],
        parent: Context | None = None,
        links: Sequence[Link] = (),
    ) -> Span:
        """
        A started span; one of no effect when somebody's sampler or processor fails, since work must go on.
        """
        try:
            return self._tracer.start_span(name, parent, kind, dict(attributes), links)
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is not the job's fault
            _log.warning("span %s could not be started: %s", name, type(fault).__qualname__)
            return INVALID_SPAN

    def _remember(self, job_id: str, run: SpanContext) -> None:
        with self._lock:
            self._ended[job_id] = run
            while len(self._ended) > MAX_REMEMBERED_RUNS:
                self._ended.popitem(last=False)

    def _forget(self, job_id: str) -> SpanContext | None:
        with self._lock:
            return self._ended.pop(job_id, None)


@contextmanager
def attached(trace_parent: str, trace_state: str | None) -> Iterator[None]:
    """
    Makes the span that the W3C headers name the current one.
    """
    token = otel_context.attach(_extracted(trace_parent, trace_state))
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def _current(span: Span) -> Iterator[None]:
    """
    Makes the span the current one and ends it. What leaves the block marks it, by class name only: texts hold secrets.
    """
    token = otel_context.attach(trace.set_span_in_context(span))
    try:
        yield
    except BaseException as error:
        if not isinstance(error, JobPostponedError):
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", type(error).__qualname__)
        raise
    finally:
        otel_context.detach(token)
        _end(span)


def _end(span: Span) -> None:
    try:
        span.end()
    except Exception as fault:  # noqa: BLE001 - the same
        _log.warning("span could not be ended: %s", type(fault).__qualname__)


def _of_enqueue(jobs: Sequence[NewJob]) -> Attributes:
    """
    By the conventions for batches: what differs between the messages is left out.
    """
    attributes: Attributes = {
        "messaging.system": "chokaq",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.batch.message_count": len(jobs),
    }
    if len({job.queue for job in jobs}) == 1:
        attributes["messaging.destination.name"] = jobs[0].queue
    if len({job.type_key for job in jobs}) == 1:
        attributes["chokaq.job.type"] = jobs[0].type_key
    if len(jobs) == 1:
        attributes["messaging.message.id"] = jobs[0].id
    return attributes


def _of_run(job: JobRef) -> Attributes:
    attributes: Attributes = {
        "messaging.system": "chokaq",
        "messaging.operation.name": "run",
        "messaging.operation.type": "process",
        "messaging.destination.name": job.queue,
        "messaging.message.id": job.id,
        "chokaq.job.type": job.type_key,
    }
    if job.attempt is not None:
        attributes["chokaq.job.attempt"] = job.attempt
    if job.worker_id is not None:
        attributes["chokaq.worker.id"] = job.worker_id
    return attributes


def _extracted(trace_parent: str, trace_state: str | None) -> Context:
    """
    A context with the span that the headers name; an empty one when they are malformed.
    """
    headers = {"traceparent": trace_parent}
    if trace_state:
        headers["tracestate"] = trace_state
    return _PROPAGATOR.extract(headers, Context())


def _link_to(parent: Context | None) -> Sequence[Link]:
    context = trace.get_current_span(parent).get_span_context() if parent is not None else None
    return [Link(context)] if context is not None and context.is_valid else []


def _trace_parent_of(span: Span) -> str | None:
    """
    The span in W3C form: 55 characters, the width of its column.
    """
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
