"""
Throw-away function apps, and requests to them without a socket.
"""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx

from chokaq_core.localhost.server import LocalHost

HEADER = """\
import azure.functions as func

app = func.FunctionApp()

"""


def write_app(folder: Path, code: str) -> Path:
    """
    Writes a function_app.py that has `func` and `app` at hand; gives its folder.
    """
    (folder / "function_app.py").write_text(HEADER + textwrap.dedent(code), encoding="utf-8")
    return folder


def make_host(folder: Path, code: str, environ: Mapping[str, str] | None = None) -> LocalHost:
    """
    Makes a host of an app's code, in an environment that holds nothing else.
    """
    return LocalHost(write_app(folder, code), environ or {})


def answering(folder: Path, body: str) -> LocalHost:
    """
    Makes a host whose one route, GET /api/x, runs the body of a handler.
    """
    return make_host(folder, f'@app.route("x", methods=["GET"])\ndef x(req: func.HttpRequest):\n    {body}\n')


def app_module() -> ModuleType:
    """
    Gives the function_app module of the host that was made last.
    """
    return sys.modules["function_app"]


def call(host: LocalHost, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
    """
    Sends one request to a host.
    """
    return asyncio.run(_call(host, method, path, request))


async def _call(host: LocalHost, method: str, path: str, request: dict[str, Any]) -> httpx.Response:
    transport = httpx.ASGITransport(host.http)
    async with httpx.AsyncClient(transport=transport, base_url="http://local:7071") as client:
        return await client.request(method, path, **request)
