from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from chokaq_core.localhost.host_names import is_own_name
from chokaq_core.localhost.run import bind, listen
from tests.localhost.apps import app_module, make_host

COUNTING = """
calls = []

@app.route("call", methods=["GET", "POST"])
def call(req: func.HttpRequest) -> str:
    calls.append(req.method)
    return "called"
"""


def call_as(folder: Path, address: str, headers: Mapping[str, str]) -> httpx.Response:
    """
    Serves an app at an address, and calls it there under a name.
    """
    host = make_host(folder, COUNTING)

    async def visit(listening: socket.socket) -> httpx.Response:
        ready = asyncio.Event()
        serving = asyncio.create_task(host.serve(listening, ready.set))
        await ready.wait()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/api/call"
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(url, headers=headers)
        host.stop()
        await serving
        return answer

    with bind(address, 0) as listening:
        listen(listening)
        return asyncio.run(visit(listening))


def test_a_page_whose_name_was_pointed_at_this_machine_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    answer = call_as(tmp_path, "127.0.0.1", {"Host": "rebound.example:7071"})

    assert answer.status_code == 421
    assert "'rebound.example:7071' is not its name: call 127.0.0.1 or localhost" in answer.text
    assert app_module().calls == []


def test_a_host_that_serves_a_network_answers_to_any_name(tmp_path: Path) -> None:
    assert call_as(tmp_path, "0.0.0.0", {"Host": "build-box.example"}).text == "called"  # noqa: S104 - that is the case


@pytest.mark.parametrize(
    "name",
    ["localhost", "LOCALHOST:7071", "localhost.:7071", "app.localhost", "127.0.0.1:7071", "127.8.9.1", "[::1]:7071",
     "host.docker.internal:7071", ""],
)  # fmt: skip
def test_a_name_that_always_means_this_machine_is_its_own(name: str) -> None:
    assert is_own_name(name)


@pytest.mark.parametrize(
    "name",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evillocalhost", "10.0.0.1", "[::2]:7071",
     "0.0.0.0:7071", "127.1", "::1", ":7071", "[", "evil.example#localhost"],
)  # fmt: skip
def test_any_other_name_is_a_strangers(name: str) -> None:
    assert not is_own_name(name)
