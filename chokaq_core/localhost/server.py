"""
The life of the host: read the app, serve it, drain it, stop.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

import uvicorn

from chokaq_core.localhost.app_loader import load_app
from chokaq_core.localhost.environment import resolve_settings, whole_number
from chokaq_core.localhost.functions import Functions, sort_by_trigger
from chokaq_core.localhost.host_json import HostJson, read_host_json
from chokaq_core.localhost.host_names import OwnNamesOnly, is_loopback
from chokaq_core.localhost.host_rules import check_host_rules
from chokaq_core.localhost.http_trigger import HttpFront
from chokaq_core.localhost.invocation import Invoker
from chokaq_core.localhost.queue_trigger import QueueListener
from chokaq_core.localhost.routes import RouteTable
from chokaq_core.localhost.schedules import parse_schedule
from chokaq_core.localhost.timer_trigger import Clock, SystemClock, TimerLoop
from chokaq_core.localhost.wake_sources import open_sources

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from starlette.types import ASGIApp

_log = logging.getLogger(__name__)

DEFAULT_BODY_LIMIT = 104_857_600
DEFAULT_THREADS = 32
DRAIN_LIMIT = timedelta(seconds=40)
HTTP_GRACE = timedelta(seconds=5)


class _Background(Protocol):
    async def run(self) -> None: ...

    def stop(self) -> None: ...


class LocalHost:
    """
    One app, ready to be served.

    Args:
        app_folder: the folder of function_app.py and host.json.
        environ: the environment that the app was given; `fill_environment` has been called on it.
        clock: what timers go by.
        drain_limit: how long a stop waits for timers, queue functions and the app's `on_shutdown`.
        http_grace: how long, after that, it waits for requests that are being answered, in whole seconds.

    Attributes:
        problems: why the app refuses to work; empty where all is well.

    Raises:
        HostError: the app cannot be served; the text says why.
    """

    def __init__(
        self,
        app_folder: Path,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        drain_limit: timedelta = DRAIN_LIMIT,
        http_grace: timedelta = HTTP_GRACE,
    ) -> None:
        self._settings = read_host_json(app_folder / "host.json")
        self._invoker = Invoker(app_folder, whole_number(environ, "PYTHON_THREADPOOL_THREAD_COUNT", DEFAULT_THREADS))
        body_limit = whole_number(environ, "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", DEFAULT_BODY_LIMIT)
        app = load_app(app_folder)
        functions = sort_by_trigger(app.functions)
        check_host_rules(functions, environ)
        _log.info("Functions: %s", ", ".join(handler.name for handler in functions.handlers) or "none")
        self._on_shutdown = app.on_shutdown
        self.problems = app.problems
        self._background: list[_Background] = [
            *_timer_loops(functions, self._invoker, environ, clock or SystemClock()),
            *_queue_listeners(functions, self._invoker, environ, self._settings),
        ]
        self._drain_limit = drain_limit
        self._http_grace = http_grace
        self._stop = asyncio.Event()
        self.http = HttpFront(RouteTable(functions.http, self._settings.route_prefix), self._invoker, body_limit)

    @property
    def route_prefix(self) -> str:
        """
        What every route of the app begins with.
        """
        return self._settings.route_prefix

    def stop(self) -> None:
        """
        Asks `serve` to end; to be called on the event loop's thread.
        """
        self._stop.set()

    async def serve(self, listening: socket.socket, on_ready: Callable[[], None]) -> bool:
        """
        Serves requests, ticks and wakes until `stop` is called, then drains; requests are answered until that is done.

        Returns:
            True after a graceful stop: nothing failed by itself, and nothing is still running.
        """
        server = _Server(_server_config(self._front(listening), self._http_grace))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        on_ready()
        background = [asyncio.create_task(part.run()) for part in self._background]
        was_asked = await self._wait_for_stop(serving, *background)
        is_drained = await self._drain(background)
        server.should_exit = True
        await serving
        self._invoker.close()
        is_idle = self._is_idle()
        return was_asked and is_drained and is_idle

    def _front(self, listening: socket.socket) -> ASGIApp:
        """
        What answers at an address: where only this machine can reach it, only under this machine's own names.
        """
        return OwnNamesOnly(self.http) if is_loopback(listening.getsockname()[0]) else self.http

    async def _wait_for_stop(self, *parts: asyncio.Task[None]) -> bool:
        """
        Returns whether the stop was asked for; else a part ended by itself, and its reason is logged.
        """
        stopped = asyncio.create_task(self._stop.wait())
        done, _ = await asyncio.wait({stopped, *parts}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        for part in done - {stopped}:
            _log.critical("A part of the host ended by itself, so the host stops", exc_info=part.exception())
        return done == {stopped}

    async def _drain(self, background: list[asyncio.Task[None]]) -> bool:
        """
        Returns whether timers, queue functions and the app's hook have all ended in time.
        """
        seconds = self._drain_limit.total_seconds()
        _log.info("Stopping; running work has up to %g s to end", seconds)
        for part in self._background:
            part.stop()
        hook = asyncio.create_task(self._call_shutdown_hook())
        _, pending = await asyncio.wait({hook, *background}, timeout=seconds)
        if pending:
            _log.error("Work is still running after %g s and is left behind", seconds)
        return not pending

    async def _call_shutdown_hook(self) -> None:
        if self._on_shutdown is None:
            return
        thread = ThreadPoolExecutor(1, thread_name_prefix="shutdown")
        try:
            await asyncio.get_running_loop().run_in_executor(thread, self._on_shutdown)
        except Exception:  # noqa: BLE001 - the app's hook must not keep the host from stopping
            _log.exception("on_shutdown failed")
        finally:
            # Without waiting, which would block the event loop when the hook outlives its time.
            thread.shutdown(wait=False)

    def _is_idle(self) -> bool:
        busy = self._invoker.busy_functions()
        if busy:
            _log.error("Leaving running functions behind: %s", ", ".join(busy))
        return not busy


class _Server(uvicorn.Server):
    """
    uvicorn without its own signal handlers: this host decides when HTTP ends.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server_config(app: ASGIApp, grace: timedelta) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        interface="asgi3",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(grace.total_seconds()),
    )


def _timer_loops(
    functions: Functions, invoker: Invoker, environ: Mapping[str, str], clock: Clock
) -> Iterator[TimerLoop]:
    for function in functions.timers:
        schedule = parse_schedule(resolve_settings(function.schedule, environ), datetime.now(UTC))
        yield TimerLoop(function, schedule, invoker, clock)


def _queue_listeners(
    functions: Functions, invoker: Invoker, environ: Mapping[str, str], settings: HostJson
) -> Iterator[QueueListener]:
    sources = open_sources(functions.queues, environ, settings)
    for function in functions.queues:
        if function.handler.name in sources:
            yield QueueListener(function, sources[function.handler.name], invoker, settings.max_dequeue_count)
