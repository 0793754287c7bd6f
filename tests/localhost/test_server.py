from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.run import bind, listen
from chokaq_core.localhost.server import DRAIN_LIMIT, LocalHost
from tests.localhost.apps import app_module, make_host, write_app

Visit = Callable[[LocalHost, httpx.AsyncClient], Awaitable[None]]

WORKER = """
import threading
from chokaq_core.engine.wakes import IN_PROCESS

woken, ticked, held, release = (threading.Event() for _ in range(4))

@app.queue_trigger(arg_name="wake", queue_name="chokaq-wake", connection="AzureWebJobsStorage")
def worker(wake: func.QueueMessage) -> None:
    woken.set()
    release.wait(60)

@app.timer_trigger(arg_name="timer", schedule="* * * * * *")
def tick(timer: func.TimerRequest) -> None:
    ticked.set()

@app.route("wake")
def wake(req: func.HttpRequest) -> str:
    IN_PROCESS.send()
    return "sent"

@app.route("wait/{what}")
def wait(req: func.HttpRequest) -> str:
    return str({"woken": woken, "ticked": ticked, "held": held}[req.route_params["what"]].wait(60))

@app.route("hold")
def hold(req: func.HttpRequest) -> str:
    held.set()
    return str(release.wait(60))

@app.route("ping")
async def ping(req: func.HttpRequest) -> str:
    return "pong"
"""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with bind("127.0.0.1", 0) as bound:
        listen(bound)
        yield bound


def serve(host: LocalHost, listening: socket.socket, visit: Visit) -> bool:
    """
    Serves the app while a visitor calls it; the visitor stops the host.
    """

    async def both() -> bool:
        ready = asyncio.Event()
        serving = asyncio.create_task(host.serve(listening, ready.set))
        await ready.wait()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/api"
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            await visit(host, client)
            return await serving

    return asyncio.run(both())


def test_requests_wakes_and_ticks_reach_the_app(tmp_path: Path, listening: socket.socket) -> None:
    answers: list[str] = []

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        answers.extend([(await client.get(path)).text for path in ("/wake", "/wait/woken", "/wait/ticked")])
        app_event("release").set()
        host.stop()

    is_graceful = serve(make_host(tmp_path, WORKER), listening, visit)

    assert answers == ["sent", "True", "True"]
    assert is_graceful


def app_event(name: str) -> threading.Event:
    """
    Gives an event of the app under test.
    """
    event: threading.Event = getattr(app_module(), name)
    return event


def test_http_answers_until_running_work_has_ended(tmp_path: Path, listening: socket.socket) -> None:
    hook = """
hook_called = threading.Event()

def on_shutdown():
    hook_called.set()
    release.wait(60)

@app.route("wait-for-hook")
def wait_for_hook(req: func.HttpRequest) -> str:
    return str(hook_called.wait(60))
"""
    answers: list[str] = []

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        await client.get("/wake")
        await client.get("/wait/woken")
        host.stop()
        answers.append((await client.get("/wait-for-hook")).text)
        answers.append((await client.get("/ping")).text)
        app_event("release").set()

    is_graceful = serve(make_host(tmp_path, WORKER + hook), listening, visit)

    assert answers == ["True", "pong"]
    assert is_graceful


def test_after_the_stop_the_address_is_free(tmp_path: Path, listening: socket.socket) -> None:
    address = listening.getsockname()

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        host.stop()

    serve(make_host(tmp_path, WORKER), listening, visit)

    with bind(*address) as again:
        listen(again)


def test_the_hook_is_waited_for_only_so_long(
    tmp_path: Path, listening: socket.socket, all_logs: pytest.LogCaptureFixture
) -> None:
    hook = "\ndef on_shutdown():\n    release.wait(60)\n"
    folder = write_app(tmp_path, WORKER + hook)

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        host.stop()

    is_graceful = serve(LocalHost(folder, {}, drain_limit=timedelta(milliseconds=50)), listening, visit)
    app_event("release").set()

    assert not is_graceful
    assert "Work is still running after 0.05 s and is left behind" in all_logs.text


def test_the_hook_has_forty_seconds() -> None:
    assert timedelta(seconds=40) == DRAIN_LIMIT


def test_a_hook_that_raises_is_logged_and_the_stop_goes_on(
    tmp_path: Path, listening: socket.socket, all_logs: pytest.LogCaptureFixture
) -> None:
    hook = "\ndef on_shutdown():\n    raise ValueError('no luck')\n"

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        host.stop()

    assert serve(make_host(tmp_path, WORKER + hook), listening, visit)
    assert "on_shutdown failed" in all_logs.text
    assert "ValueError: no luck" in all_logs.text


def test_a_running_queue_function_is_waited_for(tmp_path: Path, listening: socket.socket) -> None:
    events: list[str] = []

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        await client.get("/wake")
        await client.get("/wait/woken")
        host.stop()
        events.append("stop asked")
        app_event("release").set()

    assert serve(make_host(tmp_path, WORKER), listening, visit)
    assert events == ["stop asked"]


def test_a_queue_function_that_does_not_end_is_left_behind(
    tmp_path: Path, listening: socket.socket, all_logs: pytest.LogCaptureFixture
) -> None:
    folder = write_app(tmp_path, WORKER)

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        await client.get("/wake")
        await client.get("/wait/woken")
        host.stop()

    is_graceful = serve(LocalHost(folder, {}, drain_limit=timedelta(milliseconds=50)), listening, visit)
    app_event("release").set()

    assert not is_graceful
    assert "Leaving running functions behind: worker" in all_logs.text


def test_a_request_that_does_not_end_is_left_behind_after_its_grace(
    tmp_path: Path, listening: socket.socket, all_logs: pytest.LogCaptureFixture
) -> None:
    host = LocalHost(write_app(tmp_path, WORKER), {}, http_grace=timedelta(0))
    requests: list[asyncio.Task[httpx.Response]] = []

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        requests.append(asyncio.create_task(client.get("/hold")))
        await client.get("/wait/held")
        host.stop()

    is_graceful = serve(host, listening, visit)
    app_event("release").set()

    assert not is_graceful
    assert "Leaving running functions behind: hold" in all_logs.text
    assert requests[0].result().status_code == 500


def test_a_part_that_ends_by_itself_stops_the_host(
    tmp_path: Path, listening: socket.socket, all_logs: pytest.LogCaptureFixture
) -> None:
    class BrokenClock:
        def now(self) -> None:
            raise OSError("the clock is gone")

    folder = write_app(tmp_path, WORKER)
    host = LocalHost(folder, {}, clock=BrokenClock())  # type: ignore[arg-type] # a clock that fails

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        return

    assert not serve(host, listening, visit)
    assert "A part of the host ended by itself, so the host stops" in all_logs.text
    assert "the clock is gone" in all_logs.text


def test_an_app_that_breaks_a_host_rule_is_not_served(tmp_path: Path) -> None:
    code = """
    @app.route("admin")
    def f(req: func.HttpRequest) -> str:
        return "x"
    """

    with pytest.raises(HostError, match="The Functions host would refuse this app"):
        make_host(tmp_path, code)


def test_an_idle_host_uses_one_thread_for_each_queue_function(tmp_path: Path, listening: socket.socket) -> None:
    threads: list[str] = []

    async def visit(host: LocalHost, client: httpx.AsyncClient) -> None:
        before = {thread.name for thread in threading.enumerate()}
        await client.get("/ping")
        threads.extend(sorted(before | {thread.name for thread in threading.enumerate()}))
        host.stop()

    code = WORKER.replace('"* * * * * *"', '"0 0 0 1 1 *"')
    already = {thread.name for thread in threading.enumerate()}
    serve(make_host(tmp_path, code), listening, visit)

    assert set(threads) - already == {"queue-worker_0"}
