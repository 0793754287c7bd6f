from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from chokaq_core.localhost.server import LocalHost
from tests.localhost.apps import answering, app_module, call, make_host

ECHO = """
import json, threading

@app.route("echo/{id?}", methods=["GET", "POST"])
def echo(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    seen = {
        "method": req.method, "url": req.url, "headers": dict(req.headers), "params": dict(req.params),
        "route": dict(req.route_params), "body": req.get_body().decode(), "thread": threading.current_thread().name,
        "function": context.function_name, "folder": context.function_directory,
        "invocation": context.invocation_id, "trace": context.trace_context.trace_parent,
    }
    return func.HttpResponse(json.dumps(seen), mimetype="application/json")
"""


def test_a_handler_sees_the_request(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO)

    answer = call(host, "POST", "/api/echo/Ab?n=1&n=2&empty=&s=a%20b", content=b"text", headers={"X-Kind": "K"})

    seen = answer.json()
    assert answer.status_code == 200
    assert seen["method"] == "POST"
    assert seen["url"] == "http://local:7071/api/echo/Ab?n=1&n=2&empty=&s=a%20b"
    assert seen["headers"]["x-kind"] == "K"
    assert seen["route"] == {"id": "Ab"}
    assert seen["body"] == "text"


def test_repeated_parameters_are_joined_and_empty_ones_dropped_as_the_platform_does(tmp_path: Path) -> None:
    answer = call(make_host(tmp_path, ECHO), "GET", "/api/echo?n=1&n=2&empty=&s=a%20b")

    assert answer.json()["params"] == {"n": "1,2", "s": "a b"}


def test_repeated_headers_are_joined(tmp_path: Path) -> None:
    answer = call(make_host(tmp_path, ECHO), "GET", "/api/echo", headers=[("X-A", "1"), ("x-a", "2")])

    assert answer.json()["headers"]["x-a"] == "1,2"


def test_a_handler_that_takes_a_context_gets_one(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    first = call(host, "GET", "/api/echo", headers={"traceparent": trace}).json()
    second = call(host, "GET", "/api/echo").json()

    assert (first["function"], first["folder"]) == ("echo", str(tmp_path))
    assert (first["trace"], second["trace"]) == (trace, "")
    assert first["invocation"] != second["invocation"]


def test_a_plain_handler_runs_in_a_pool_thread_and_an_async_one_on_the_loop(tmp_path: Path) -> None:
    code = """
    import threading

    @app.route("plain")
    def plain(req: func.HttpRequest) -> str:
        return threading.current_thread().name

    @app.route("async")
    async def asynchronous(req: func.HttpRequest) -> str:
        return threading.current_thread().name
    """
    host = make_host(tmp_path, code)

    assert call(host, "GET", "/api/plain").text.startswith("function_")
    assert call(host, "GET", "/api/async").text == "MainThread"


@pytest.mark.parametrize("setting,at_once", [({"PYTHON_THREADPOOL_THREAD_COUNT": "3"}, 3), ({}, 32)])
def test_the_number_of_threads_is_bounded(tmp_path: Path, setting: dict[str, str], at_once: int) -> None:
    code = """
    import threading
    from asyncio import get_running_loop

    entered, release = threading.Semaphore(0), threading.Event()
    running, most = 0, 0
    lock = threading.Lock()

    @app.route("hold")
    def hold(req: func.HttpRequest) -> str:
        global running, most
        with lock:
            running += 1
            most = max(most, running)
        entered.release()
        release.wait(60)
        with lock:
            running -= 1
        return "x"

    @app.route("release/{n:int}")
    async def let_go(req: func.HttpRequest) -> str:
        for _ in range(int(req.route_params["n"])):
            await get_running_loop().run_in_executor(None, entered.acquire)
        release.set()
        return "released"

    @app.route("most")
    async def count(req: func.HttpRequest) -> str:
        return str(most)
    """
    host = make_host(tmp_path, code, setting)

    async def hold_more_than_fit() -> str:
        transport = httpx.ASGITransport(host.http)
        async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
            paths = ["/api/hold"] * (at_once + 5) + [f"/api/release/{at_once}"]
            await asyncio.gather(*(client.get(path) for path in paths))
            return (await client.get("/api/most")).text

    assert asyncio.run(hold_more_than_fit()) == str(at_once)


def test_a_bad_thread_count_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="PYTHON_THREADPOOL_THREAD_COUNT is 'many'"):
        make_host(tmp_path, ECHO, {"PYTHON_THREADPOOL_THREAD_COUNT": "many"})


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE", "OPTIONS"])
def test_a_method_that_is_not_listed_is_404(tmp_path: Path, method: str) -> None:
    assert call(answering(tmp_path, 'return "x"'), method, "/api/x").status_code == 404


def test_head_is_answered_by_a_function_that_lists_it(tmp_path: Path) -> None:
    code = """
    @app.route("x", methods=["GET", "HEAD"])
    def x(req: func.HttpRequest) -> str:
        return "x"
    """

    assert call(make_host(tmp_path, code), "HEAD", "/api/x").status_code == 200


def test_a_function_without_methods_answers_all_of_them(tmp_path: Path) -> None:
    code = """
    @app.route("x")
    def x(req: func.HttpRequest) -> str:
        return req.method
    """
    host = make_host(tmp_path, code)

    assert [call(host, method, "/api/x").text for method in ("GET", "PUT", "PATCH")] == ["GET", "PUT", "PATCH"]


def test_a_path_that_no_function_has_is_404(tmp_path: Path) -> None:
    answer = call(answering(tmp_path, 'return "x"'), "GET", "/x")

    assert (answer.status_code, answer.content) == (404, b"")


def test_the_route_prefix_comes_from_host_json(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text(json.dumps({"extensions": {"http": {"routePrefix": "v1"}}}), encoding="utf-8")
    host = answering(tmp_path, 'return "x"')

    assert call(host, "GET", "/v1/x").status_code == 200
    assert call(host, "GET", "/api/x").status_code == 404


def test_function_keys_are_not_asked_for(tmp_path: Path) -> None:
    code = """
    @app.route("x", auth_level=func.AuthLevel.ADMIN)
    def x(req: func.HttpRequest) -> str:
        return "x"
    """

    assert call(make_host(tmp_path, code), "GET", "/api/x").status_code == 200


class Sent:
    """
    An ASGI client that counts the chunks that were read from it.
    """

    def __init__(self, headers: dict[str, str], chunks: list[bytes]) -> None:
        self.scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/api/echo",
            "raw_path": b"/api/echo", "query_string": b"", "server": ("local", 7071),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        self.chunks = chunks
        self.read = 0
        self.status = 0

    async def receive(self) -> dict[str, Any]:
        self.read += 1
        chunk = self.chunks[self.read - 1]
        return {"type": "http.request", "body": chunk, "more_body": self.read < len(self.chunks)}

    async def send(self, message: Any) -> None:  # noqa: ANN401 - an ASGI message
        self.status = message.get("status", self.status)

    def to(self, host: LocalHost) -> int:
        asyncio.run(host.http(self.scope, self.receive, self.send))
        return self.status


def test_a_body_announced_as_too_large_is_refused_unread(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO, {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "10"})
    sent = Sent({"content-length": "11"}, [b"x" * 11])

    assert sent.to(host) == 413
    assert sent.read == 0


def test_an_unannounced_body_is_read_only_to_the_limit(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO, {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "10"})
    sent = Sent({"transfer-encoding": "chunked"}, [b"x" * 6] * 1000)

    assert sent.to(host) == 413
    assert sent.read == 2


def test_a_body_of_the_limit_is_accepted(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO, {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "10"})

    assert call(host, "POST", "/api/echo", content=b"x" * 10).json()["body"] == "xxxxxxxxxx"


def test_without_a_setting_the_limit_is_100_mib(tmp_path: Path) -> None:
    host = make_host(tmp_path, ECHO)

    assert Sent({"content-length": "104857601"}, []).to(host) == 413
    assert Sent({"content-length": "104857600"}, [b"x"]).to(host) == 200


def test_a_client_that_goes_away_while_sending_starts_no_handler(tmp_path: Path) -> None:
    host = make_host(
        tmp_path, 'started = []\n@app.route("echo")\ndef x(req: func.HttpRequest):\n    started.append(1)\n'
    )
    sent = Sent({}, [])

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    sent.receive = gone  # type: ignore[method-assign] # this client hangs up at once
    sent.to(host)

    assert app_module().started == []
