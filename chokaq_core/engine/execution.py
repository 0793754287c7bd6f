"""
Running jobs: payload to object, handler on its thread or loop, and whatever happens to an outcome.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from chokaq_core.contracts.idempotent import is_idempotent
from chokaq_core.contracts.serializer import stored_result
from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.failures import Outcome, Postponed, Rejected, Succeeded
from chokaq_core.domain.value import Value
from chokaq_core.engine.chain import Entry, build_entry, refuse_unawaited
from chokaq_core.engine.eager_start import start_now
from chokaq_core.engine.threads import HandlerThreads, LoopThread
from chokaq_core.policy.error_text import storable, text_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.profile import Registration
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.engine.chain import Bridge
    from chokaq_core.engine.idempotency import Idempotency
    from chokaq_core.engine.run import Run
    from chokaq_core.policy.envelope import EnvelopeLimits
    from chokaq_core.ports import Events, Tracing

_SUCCEEDED = Succeeded()
NO_THREAD_DELAY = timedelta(seconds=5)
"""How long a job is put off that could not be given a thread."""


class RunListener(Protocol):
    """
    Who is told about runs; called from handler threads, must be quick and must not raise.
    """

    def run_ended(self, run: Run, outcome: Outcome) -> None:
        """
        The handler ended with this outcome, which counts only if the run had not concluded before.
        """


class _Bridge(Value):
    """
    Lets `def` and `async def` steps of one chain call each other.
    """

    threads: HandlerThreads
    loop: LoopThread

    def on_thread(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - a future of whatever the call returns
        return self.threads.submit(call)

    def on_loop(self, coroutine: Any, offer_cancel: Callable[[Callable[[], object]], None]) -> Any:  # noqa: ANN401
        return self.loop.submit(coroutine, offer_cancel)


class Executor:
    """
    Starts runs and reports how they ended.
    """

    def __init__(
        self,
        catalog: Catalog,
        serializer: JobSerializer,
        middleware: Sequence[Middleware],
        limits: EnvelopeLimits,
        listener: RunListener,
        *,
        events: Events,
        tracing: Tracing,
        mark_thread: Callable[[], object],
        idempotency: Idempotency | None = None,
    ) -> None:
        self._serializer = serializer
        self._limits = limits
        self._listener = listener
        self._events = events
        self._tracing = tracing
        self._mark_thread = mark_thread
        self._threads = HandlerThreads(mark_thread)
        self._loop = LoopThread()
        bridge = _Bridge(self._threads, self._loop)
        registrations = [catalog.pipe] if catalog.pipe is not None else list(catalog)
        self._entries = {r.type_key: _entry(r, middleware, bridge, idempotency) for r in registrations}

    def start(self, runs: Sequence[Run]) -> None:
        """
        Starts the runs side by side; unknown types end at once as rejected.
        """
        on_loop = []
        for run in runs:
            entry = self._entry_of(run.registration)
            if entry is None:
                self._listener.run_ended(run, _unknown_type(run))
            elif entry.is_async:
                on_loop.append((run, entry))
            else:
                self._begin([run], partial(self._start_on_thread, run, entry))
        if on_loop:
            self._begin([run for run, _ in on_loop], partial(self._loop.call, self._start_on_loop, on_loop))

    def _begin(self, runs: Sequence[Run], start: Callable[[], None]) -> None:
        """
        Starts runs, or puts them off where the machine has no thread for them.
        """
        try:
            start()
        except RuntimeError as error:
            self._events.publish(
                [Event(EventName.PROCESSING_TASK_WRAPPER_FAILED, run.ref, error=error) for run in runs]
            )
            for run in runs:
                self._end(run, Postponed(f"could not be started: {error}", NO_THREAD_DELAY))

    def _entry_of(self, registration: Registration | None) -> Entry | None:
        return None if registration is None else self._entries.get(registration.type_key)

    def _start_on_thread(self, run: Run, entry: Entry) -> None:
        self._threads.run(lambda: self._run_blocking(run, entry))

    def _start_on_loop(self, pairs: list[tuple[Run, Entry]]) -> None:
        loop = asyncio.get_running_loop()
        tasks = start_now([(run.lease.job_id, self._run_async(run, entry, loop)) for run, entry in pairs], loop)
        for (run, _), task in zip(pairs, tasks, strict=True):
            if not task.done():
                run.task = task

    def _run_blocking(self, run: Run, entry: Entry) -> None:
        try:
            run.raise_if_told_to_stop()
            job = self._payload_of(run)
            with self._tracing.running(run.ref, run.job.trace_parent):
                value = entry.call(run, job, run.context() if entry.wants_context else None)
            outcome = self._success(value)
        except _RejectedPayload as rejection:
            outcome = rejection.outcome
        except BaseException as error:  # noqa: BLE001 - SystemExit and its kin are this job's failure, nothing else's
            outcome = run.outcome_of(error)
        self._end(run, outcome)

    async def _run_async(self, run: Run, entry: Entry, loop: asyncio.AbstractEventLoop) -> None:
        # The handler is awaited in this task, not in one of its own: a task that raises SystemExit stops its loop.
        # Cancelling is offered from inside, since a task that is cancelled before its first step never runs at all.
        try:
            run.begin_on(loop)
            job = self._payload_of(run)
            with self._tracing.running(run.ref, run.job.trace_parent):
                value = await entry.call(run, job, run.context() if entry.wants_context else None)
            outcome = self._success(value)
        except _RejectedPayload as rejection:
            outcome = rejection.outcome
        except BaseException as error:  # noqa: BLE001 - the same; a CancelledError nobody asked for included
            outcome = run.outcome_of(error)
        self._end(run, outcome)

    def _payload_of(self, run: Run) -> Any:  # noqa: ANN401 - the job object, or the text in pipe mode
        registration = run.registration
        if registration is None or registration.job_type is None:
            return run.job.payload
        try:
            return self._serializer.loads(registration.job_type, run.job.payload)
        except InvalidJobError as error:
            raise _RejectedPayload(Rejected(text_facts("InvalidPayload", str(error)))) from error

    def _success(self, value: object) -> Outcome:
        if value is None:
            return _SUCCEEDED
        refuse_unawaited(value)
        result = stored_result(value, self._limits.max_payload_bytes)
        return Succeeded(result.text, storable(result.note) if result.note is not None else None)

    def _end(self, run: Run, outcome: Outcome) -> None:
        run.end()
        self._listener.run_ended(run, outcome)


def _entry(
    registration: Registration, middleware: Sequence[Middleware], bridge: Bridge, idempotency: Idempotency | None
) -> Entry:
    """
    The handler in its middleware; around those of protected jobs, idempotency is the outermost.
    """
    entry = build_entry(registration, middleware, bridge)
    if idempotency is None or not is_idempotent(registration.job_type):
        return entry
    return idempotency.around(entry, bridge)


class _RejectedPayload(Exception):  # noqa: N818 - carries an outcome across one call
    def __init__(self, outcome: Rejected) -> None:
        super().__init__()
        self.outcome = outcome


def _unknown_type(run: Run) -> Rejected:
    rule = f"type {run.job.type_key!a} has no handler in this app; deploy one and resurrect the job"
    return Rejected(text_facts("UnknownJobType", rule))
