"""
Calls the Deck's routes in this process, through the app's own routes, and jobs to look at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import azure.functions as func

from chokaq_core.config.schedules import schedules_of
from chokaq_core.contracts import Profile
from chokaq_core.hosting import triggers
from chokaq_core.hosting.core import Core
from chokaq_core.localhost.functions import sort_by_trigger
from chokaq_core.localhost.routes import RouteTable
from chokaq_core.ports import Store

READ_KEY = "r" * 32
OPERATE_KEY = "o" * 32
KEYS = {"ChokaQ__Deck__ReadKey": READ_KEY, "ChokaQ__Deck__OperateKey": OPERATE_KEY}


@dataclass(frozen=True, slots=True)
class Reply:
    """
    An answer as a test looks at it.
    """

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:  # noqa: ANN401 - whatever was answered
        """
        The body as JSON.
        """
        return json.loads(self.text)


@dataclass
class DeckClient:
    """
    A caller of one app, an operator unless told otherwise.
    """

    core: Core
    routes: RouteTable
    headers: dict[str, str] = field(default_factory=lambda: {"X-ChokaQ-Key": OPERATE_KEY, "X-ChokaQ-Deck": "1"})

    @property
    def store(self) -> Store:
        """
        The app's store.
        """
        return self.core.runtime().store

    def get(self, path: str, **params: object) -> Reply:
        """
        Gets an address below `/api/deck/`.
        """
        return self.call("GET", path, params={name.rstrip("_"): str(value) for name, value in params.items()})

    def post(self, path: str, body: object) -> Reply:
        """
        Posts JSON.
        """
        return self.call("POST", path, body=body)

    def patch(self, path: str, body: object) -> Reply:
        """
        Patches with JSON.
        """
        return self.call("PATCH", path, body=body)

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """
        Calls a route as the host would: by its template, with the values of its placeholders.
        """
        parts = urlsplit(path)
        match = self.routes.match(method, f"/api/deck/{parts.path}")
        assert match is not None, f"no route answers {method} {path}"
        given = self.headers if headers is None else dict(headers)
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = func.HttpRequest(
            method=method,
            url=f"https://app.example/api/deck/{path}",
            headers={"Content-Type": "application/json", **given},
            params=dict(params) if params is not None else dict(parse_qsl(parts.query)),
            route_params=match.values,
            body=content,
        )
        answer = match.function.handler.call(req=request)
        assert isinstance(answer, func.HttpResponse)
        text = answer.get_body().decode()
        return Reply(answer.status_code, {**answer.headers, "Content-Type": answer.mimetype}, text)

    def run(self, command: str, *ids: str, **values: object) -> Reply:
        """
        Carries a command out for ids.
        """
        return self.post("commands", {"command": command, "ids": list(ids), **values})


@contextmanager
def deck_client(folder: Path, *profiles: Profile, environ: Mapping[str, str] | None = None) -> Iterator[DeckClient]:
    """
    An app in memory with both keys, and a caller of it.
    """
    app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    core = Core(folder, profiles=profiles, environ=KEYS if environ is None else environ)
    assert core.problems == ()
    triggers.register(app, core, schedules_of(core.settings))
    yield DeckClient(core, RouteTable(sort_by_trigger(app.get_functions()).http, "api"))
    core.stop()
