"""
Traces: an enqueue, the runs that follow from it however much later, and the store calls between.

By the OpenTelemetry conventions for messaging, an enqueue is a producer span whose id is stored with the job, and a run
is a consumer span, child of it. While nobody has set a tracer provider, nothing here does anything.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.trace import TracerProvider

    from chokaq_core.domain.events import JobRef
    from chokaq_core.domain.job import NewJob
    from chokaq_core.telemetry.spans import Spans

TRACER_NAME = "ChokaQ"
LOOK_AGAIN_SECONDS = 1.0
"""How long the answer "no provider is set" is believed, since asking costs more than everything else here."""

_NOTHING: AbstractContextManager[None] = nullcontext()


class Tracing:
    """
    The spans of one process. Safe to use from any thread.

    Args:
        provider: what makes tracers; None means OpenTelemetry's global one, whenever somebody sets it.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider
        self._spans: Spans | None = None
        self._look_again_at = float("-inf")

    @property
    def is_on(self) -> bool:
        """
        Whether anybody makes spans.
        """
        return self._find() is not None

    def enqueuing(self, jobs: Sequence[NewJob]) -> AbstractContextManager[str | None]:
        """
        A producer span around storing these jobs; gives the W3C traceparent to store with them, or None.
        """
        spans = self._find()
        return spans.enqueuing(jobs) if spans is not None else _NOTHING

    def running(self, job: JobRef, trace_parent: str | None) -> AbstractContextManager[None]:
        """
        A consumer span around one run of a handler, on the thread or in the task that runs it.
        """
        spans = self._find()
        return spans.running(job, trace_parent) if spans is not None else _NOTHING

    def calling(
        self, name: str, attributes: Mapping[str, str | int], settled: Sequence[str] = ()
    ) -> AbstractContextManager[None]:
        """
        A client span around a call to a database, tied to the runs of the jobs that it settles.
        """
        spans = self._find()
        return spans.calling(name, attributes, settled) if spans is not None else _NOTHING

    def _find(self) -> Spans | None:
        if self._spans is None and time.monotonic() >= self._look_again_at:
            self._spans = _spans_of(self._provider)
            self._look_again_at = time.monotonic() + LOOK_AGAIN_SECONDS
        return self._spans


def attach_parent(trace_parent: str | None, trace_state: str | None = None) -> AbstractContextManager[None]:
    """
    Makes a span of elsewhere the parent of what happens inside; does nothing without one or without a tracer provider.

    The Functions worker does this for `async def` functions only; a `def` function runs on a thread without a context.
    """
    if not trace_parent or not _GLOBAL.is_on:
        return _NOTHING
    from chokaq_core.telemetry.spans import attached  # noqa: PLC0415 - imports OpenTelemetry

    return attached(trace_parent, trace_state)


_GLOBAL = Tracing()


def _spans_of(provider: TracerProvider | None) -> Spans | None:
    from opentelemetry import trace  # noqa: PLC0415 - importing this room stays light

    provider = provider if provider is not None else trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    from chokaq_core.telemetry.spans import Spans  # noqa: PLC0415 - the same

    return Spans(provider.get_tracer(TRACER_NAME))
