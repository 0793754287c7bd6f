"""
Middleware around a handler, whatever the colours of both.

A step is `def` (runs on a thread) or `async def` (runs on the event loop). Where two neighbours differ, a bridge waits
for one from inside the other: a thread blocks on a coroutine, a coroutine awaits a thread.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from chokaq_core.domain.value import Value

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

    def on_loop(self, coroutine: Any, offer_cancel: Callable[[Callable[[], object]], None]) -> Future[Any]:  # noqa: ANN401
        """
        Starts a coroutine on the event loop, from another thread; what interrupts it is given to `offer_cancel`.
        """


class Entry(Value):
    """
    Where a run begins: the outermost step, called with the run and the arguments of the handler.

    Attributes:
        wants_context: whether any step looks at the context; None takes its place where nobody does.
    """

    call: Callable[..., Any]
    is_async: bool
    wants_context: bool = True


def build_entry(registration: Registration, middleware: Sequence[Middleware], bridge: Bridge) -> Entry:
    """
    Wraps the registration's handler into the middleware; registered first means outermost.
    """
    wants_context = registration.wants_context or registration.job_type is None
    entry = Entry(_handler_call(registration), registration.is_async, wants_context)
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


def refuse_unawaited(value: object) -> None:
    """
    Fails a run whose work was never begun: a `def` around an `async def`, or a middleware that forgot its `await`.
    """
    if inspect.iscoroutine(value):
        value.close()
        msg = f"the handler returned the coroutine {value.__qualname__}, which was never awaited; declare it async def"
        raise TypeError(msg)


async def await_call(bridge: Bridge, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the call returns
    """
    Waits for a blocking call to its end, which no cancelling brings nearer.
    """
    loop, has_ended = asyncio.get_running_loop(), asyncio.Event()
    future = bridge.on_thread(call)
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(has_ended.set))
    while not future.done():
        with suppress(asyncio.CancelledError):
            await has_ended.wait()
    return future.result()


async def _await_thread(bridge: Bridge, call: Callable[..., Any], run: Run, job: object, ctx: object) -> Any:  # noqa: ANN401
    """
    Waits for a thread to its end. It cannot be cancelled; it looks at `ctx.cancelled`, and is not over until it ends.
    """
    return await await_call(bridge, partial(call, run, job, ctx))


def _block_on_loop(bridge: Bridge, call: Callable[..., Any], run: Run, job: object, ctx: object) -> Any:  # noqa: ANN401
    """
    Waits for a coroutine to its end, which comes sooner when the run is told to stop.
    """
    return bridge.on_loop(call(run, job, ctx), run.on_stop).result()
