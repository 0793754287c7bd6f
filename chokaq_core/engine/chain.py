"""
Middleware around a handler, whatever the colours of both.

A step is `def` (runs on a thread) or `async def` (runs on the event loop). Where two neighbours differ, a bridge waits
for one from inside the other: a thread blocks on a coroutine, a coroutine awaits a thread.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.profile import Registration
    from chokaq_core.engine.run import Run


class Bridge(Protocol):
    """
    Runs a step of the other colour.
    """

    def on_thread(self, call: Callable[[], Any]) -> Future[Any]:
        """
        Starts a blocking call on a thread.
        """

    def on_loop(self, coroutine: Any) -> Future[Any]:  # noqa: ANN401 - any coroutine
        """
        Starts a coroutine on the event loop, from another thread.
        """


@dataclass(frozen=True, slots=True)
class Entry:
    """
    Where a run begins: the outermost step, called with the run and the arguments of the handler.
    """

    call: Callable[..., Any]
    is_async: bool


def build_entry(registration: Registration, middleware: Sequence[Middleware], bridge: Bridge) -> Entry:
    """
    Wraps the registration's handler into the middleware; registered first means outermost.
    """
    entry = Entry(_handler_call(registration), registration.is_async)
    for step in reversed(middleware):
        entry = _wrap(step, entry, bridge)
    return entry


def _handler_call(registration: Registration) -> Callable[..., Any]:
    """
    The handler behind the common arguments `(run, job, ctx)`.
    """
    handler = registration.handler
    if registration.job_type is None:
        return lambda run, job, ctx: handler(run.job.type_key, job, ctx)
    if registration.wants_context:
        return lambda _run, job, ctx: handler(job, ctx)
    return lambda _run, job, _ctx: handler(job)


def _wrap(middleware: Middleware, inner: Entry, bridge: Bridge) -> Entry:
    is_async = inspect.iscoroutinefunction(middleware) or inspect.iscoroutinefunction(type(middleware).__call__)
    if is_async == inner.is_async:
        step = inner.call
    elif is_async:
        step = partial(_await_thread, bridge, inner.call)
    else:
        step = partial(_block_on_loop, bridge, inner.call)
    return Entry(lambda run, job, ctx: middleware(job, ctx, partial(step, run, job, ctx)), is_async)


async def _await_thread(bridge: Bridge, call: Callable[..., Any], run: Run, job: object, ctx: object) -> Any:  # noqa: ANN401
    return await asyncio.wrap_future(bridge.on_thread(partial(call, run, job, ctx)))


def _block_on_loop(bridge: Bridge, call: Callable[..., Any], run: Run, job: object, ctx: object) -> Any:  # noqa: ANN401
    future = bridge.on_loop(call(run, job, ctx))
    run.on_stop(future.cancel)
    return future.result()
