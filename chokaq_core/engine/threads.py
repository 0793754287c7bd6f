"""
Threads for handlers that block, and one event loop for those that do not.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from chokaq_core.engine.thread_names import OWN_THREADS

if TYPE_CHECKING:
    from collections.abc import Callable


class HandlerThreads:
    """
    Daemon threads that run blocking calls. A busy one is never waited for: another is started instead.

    Not a ThreadPoolExecutor: that one joins its threads when the interpreter ends, and a handler that ignores its
    timeout would hold the process for ever.

    Args:
        mark_thread: called on a thread before each call that it runs.
    """

    def __init__(self, mark_thread: Callable[[], object]) -> None:
        self._mark_thread = mark_thread
        self._calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._started = 0

    def run(self, call: Callable[[], object]) -> None:
        """
        Runs the call on a thread; it must not raise.
        """
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            else:
                self._started += 1
                name = f"{OWN_THREADS}handler-{self._started}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._calls.put(call)

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """
        Runs the call on a thread and answers through a future.
        """
        future: Future[Any] = Future()
        self.run(lambda: _resolve(future, call))
        return future

    def _serve(self) -> None:
        while True:
            call = self._calls.get()
            self._mark_thread()
            call()
            with self._lock:
                self._idle += 1


MOMENT_SECONDS = 0.001
"""How long whoever calls a function on the loop leaves the interpreter to it."""


class LoopThread:
    """
    One event loop on a daemon thread of its own, started when first needed.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """
        Runs a function on the loop, and returns when that is done, or after a moment.

        Two threads that go on at once do not share the interpreter: one of them waits for it, and wakes up twice.
        """
        is_done = threading.Lock()
        is_done.acquire()
        self._running_loop().call_soon_threadsafe(_call, function, arguments, is_done.release)
        is_done.acquire(timeout=MOMENT_SECONDS)

    def submit(self, coroutine: Any, offer_cancel: Callable[[Callable[[], object]], None]) -> Future[Any]:  # noqa: ANN401
        """
        Runs a coroutine on the loop and answers through a future, which is done when the coroutine is and not before.

        Args:
            offer_cancel: is given, on the loop, what interrupts the coroutine from any thread.
        """
        future: Future[Any] = Future()
        loop = self._running_loop()
        loop.call_soon_threadsafe(lambda: loop.create_task(_resolve_on_loop(future, coroutine, offer_cancel)))
        return future

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._start(loop)
                self._loop = loop
            return self._loop

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            threading.Thread(target=self._serve, args=(loop,), name=f"{OWN_THREADS}loop", daemon=True).start()
        except RuntimeError:
            loop.close()
            raise

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        """
        Keeps the loop going: what a stray callback raises ends one pass of it, never the loop.
        """
        asyncio.set_event_loop(loop)
        while not loop.is_closed():
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                loop.call_exception_handler({"message": "a task tried to end the process", "exception": error})


def _call(function: Callable[..., object], arguments: tuple[object, ...], tell: Callable[[], None]) -> None:
    try:
        function(*arguments)
    finally:
        tell()


async def _resolve_on_loop(
    future: Future[Any],
    coroutine: Any,  # noqa: ANN401
    offer_cancel: Callable[[Callable[[], object]], None],
) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        offer_cancel(partial(loop.call_soon_threadsafe, task.cancel))
    try:
        result = await coroutine
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its future
        future.set_exception(error)
    else:
        future.set_result(result)


def _resolve(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises belongs to its future
        future.set_exception(error)
    else:
        future.set_result(result)
