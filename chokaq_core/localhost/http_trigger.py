"""
HTTP triggers: a request becomes an `HttpRequest`, what the handler returns becomes the answer.

Function keys are not asked for, as under Core Tools. A path or a method that no function has is 404. HEAD is not
answered by functions for GET.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from azure.functions import HttpRequest, HttpResponse
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Receive, Scope, Send

    from chokaq_core.localhost.invocation import Invoker
    from chokaq_core.localhost.routes import RouteMatch, RouteTable

_log = logging.getLogger(__name__)
_BODILESS = (204, 205, 304)


class HttpFront:
    """
    The ASGI application in front of an app's HTTP functions.

    Args:
        routes: which function a request is for.
        invoker: how it is called.
        body_limit: the largest request body in bytes; a larger one is answered 413 without being read to its end.
    """

    def __init__(self, routes: RouteTable, invoker: Invoker, body_limit: int) -> None:
        self._routes = routes
        self._invoker = invoker
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answers one request.
        """
        began = time.perf_counter()
        request = Request(scope, receive)
        response = await self._answer(request)
        milliseconds = (time.perf_counter() - began) * 1000
        _log.debug("%s %s %d, %.0f ms", request.method, request.url.path, response.status_code, milliseconds)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        match = self._routes.match(request.method, _raw_path(request))
        if match is None:
            return Response(status_code=404)
        try:
            body = await _read_body(request, self._body_limit)
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return Response("The request body is too large.\n", status_code=413, media_type="text/plain")
        return await self._run(match, request, body)

    async def _run(self, match: RouteMatch, request: Request, body: bytes) -> Response:
        handler = match.function.handler
        try:
            function_request = _function_request(request, match.values, body)
            answer = await self._invoker.invoke(handler, function_request, headers=function_request.headers)
            return _response(answer)
        except Exception:  # noqa: BLE001 - whatever a handler raises ends its own call only
            _log.exception("Function '%s' failed on %s %s", handler.name, request.method, request.url.path)
            return Response("Internal Server Error\n", status_code=500, media_type="text/plain")


def _raw_path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.decode("ascii", errors="replace")


async def _read_body(request: Request, limit: int) -> bytes | None:
    if int(request.headers.get("content-length", 0)) > limit:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            return None
    return bytes(body)


def _function_request(request: Request, route_values: dict[str, str], body: bytes) -> HttpRequest:
    return HttpRequest(
        method=request.method,
        url=_url(request),
        headers=_joined(request.headers.items()),
        # The host drops query parameters without a value, and joins repeated ones.
        params=_joined((name, value) for name, value in request.query_params.multi_items() if value),
        route_params=route_values,
        body=body,
    )


def _url(request: Request) -> str:
    query = request.scope["query_string"].decode("ascii", errors="replace")
    return f"{request.url.scheme}://{request.url.netloc}{_raw_path(request)}" + (f"?{query}" if query else "")


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _response(answer: object) -> Response:
    if answer is None:
        return Response(status_code=204)
    if isinstance(answer, str):
        return Response(answer, media_type="text/plain")
    if isinstance(answer, HttpResponse):
        return _from_http_response(answer)
    raise TypeError(f"an HTTP function must return HttpResponse, str or None, not {type(answer).__name__}")


def _from_http_response(answer: HttpResponse) -> Response:
    status = int(answer.status_code)
    response = Response(b"" if status in _BODILESS else answer.get_body(), status_code=status)
    for name, value in answer.headers.items():
        if name.lower() == "set-cookie":
            response.headers.append(name, value)
        # The length and the framing are the server's to say.
        elif name.lower() not in {"content-length", "transfer-encoding"}:
            response.headers[name] = value
    response.headers.setdefault("content-type", _content_type(answer))
    return response


def _content_type(answer: HttpResponse) -> str:
    is_text = answer.mimetype.startswith("text/")
    return f"{answer.mimetype}; charset={answer.charset}" if is_text else str(answer.mimetype)
