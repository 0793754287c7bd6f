"""
The requests and answers in docs/http.md: each request is sent to an app, and the answer must be the one shown.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from chokaq_core.hosting import ChokaQ
from chokaq_core.localhost.functions import Functions, Handler, sort_by_trigger
from chokaq_core.localhost.invocation import LocalContext, LocalTraceContext
from chokaq_core.localhost.routes import RouteTable
from jobs import PROFILES
from tests.support.documents import ROOT, Block, read_document

HTTP = read_document(ROOT / "docs/http.md")
README = read_document(ROOT / "README.md")
BAD_SETTINGS = "When the settings are invalid"
VARYING = frozenset({"details", "duration_ms", "message", "worker_id"})
"""Members whose values differ from run to run, besides times, whose names end in `_at`, and `at`."""


def _context(handler: Handler) -> dict[str, LocalContext]:
    """
    What the host passes to functions that ask for their context.
    """
    if "context" not in handler.parameters:
        return {}
    return {"context": LocalContext(handler.name, str(ROOT), LocalTraceContext())}


@dataclass(frozen=True, slots=True)
class Message:
    """
    A request or an answer as the document shows it.
    """

    first_line: str
    headers: dict[str, str]
    body: str

    @property
    def request_line(self) -> tuple[str, str]:
        """
        Method and path.
        """
        method, _, path = self.first_line.partition(" ")
        return method, path

    @property
    def status(self) -> int:
        """
        The number in an answer's first line.
        """
        return int(self.first_line.split()[1])


class App:
    """
    An app of the three example jobs that is called without a network.
    """

    def __init__(self, environ: dict[str, str]) -> None:
        chokaq = ChokaQ(ROOT, profiles=PROFILES, overrides={"Functions.IdleLinger": "00:00:00"}, environ=environ)
        app = func.FunctionApp()
        chokaq.register(app)
        self._functions: Functions = sort_by_trigger(app.get_functions())
        self._routes = RouteTable(self._functions.http, "api")
        self.stop = chokaq.stop

    def answer(self, request: Message) -> func.HttpResponse:
        """
        What the app answers.
        """
        method, path = request.request_line
        match = self._routes.match(method, path)
        assert match is not None, f"no route for {request.first_line}"
        answer = match.function.handler.call(
            func.HttpRequest(
                method=method,
                url=f"http://localhost{path}",
                headers=request.headers,
                route_params=match.values,
                body=request.body.encode(),
            ),
            **_context(match.function.handler),
        )
        assert isinstance(answer, func.HttpResponse)
        return answer

    def work(self) -> None:
        """
        Runs what is due, as a wake would make it do.
        """
        (worker,) = self._functions.queues
        worker.handler.call(func.QueueMessage(body='{"v":1}'), **_context(worker.handler))


def test_the_examples_are_found() -> None:
    blocks = HTTP.blocks_in("http")
    assert len(blocks) % 2 == 0
    assert all(answer.text.startswith("HTTP/1.1 ") for answer in blocks[1::2])
    assert not any(request.text.startswith("HTTP/1.1 ") for request in blocks[::2])


def test_every_example_answers_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs/samples").mkdir(parents=True)
    shutil.copy(ROOT / "jobs/samples/orders.csv", tmp_path / "jobs/samples")
    monkeypatch.chdir(tmp_path)
    send_all(App({}), [pair for pair in pairs() if pair[0].heading != BAD_SETTINGS])


def test_every_example_of_bad_settings_answers_as_shown() -> None:
    send_all(App({"ChokaQ__Retry__MaxAttempts": "0"}), [pair for pair in pairs() if pair[0].heading == BAD_SETTINGS])


def test_the_refusal_in_the_readme_is_the_one_that_comes() -> None:
    under = "When the input is wrong"
    (line,) = [block.text for block in README.blocks_in("sh") if block.heading == under]
    (shown,) = [block.text for block in README.blocks_in("json") if block.heading == under]
    body = re.findall(r"-d '(.+)'", line)[0]
    app = App({})
    answer = app.answer(Message("POST /api/jobs", {"Content-Type": "application/json"}, body))
    app.stop()
    assert json.loads(answer.get_body()) == json.loads(shown)


def test_a_wrong_example_is_seen() -> None:
    assert not shows({"a": 1}, {"a": 2})
    assert not shows({"a": 1}, {})
    assert not shows([1], [1, 2])
    assert not shows({"finished_at": "2026-11-30T16:51:57Z"}, {"finished_at": None})
    assert shows({"a": [{"b": 1}], "worker_id": "one"}, {"a": [{"b": 1, "c": 2}], "worker_id": "two"})


def pairs() -> Iterator[tuple[Block, Block]]:
    blocks = HTTP.blocks_in("http")
    return zip(blocks[::2], blocks[1::2], strict=True)


def send_all(app: App, examples: list[tuple[Block, Block]]) -> None:
    """
    Sends the requests in order; between them, the app works.
    """
    assert examples
    for request, expected in examples:
        check(app.answer(message(request)), message(expected), f"docs/http.md, line {request.line}")
        app.work()
    app.stop()


def check(answer: func.HttpResponse, expected: Message, where: str) -> None:
    body = json.loads(answer.get_body())
    assert answer.status_code == expected.status, (where, body)
    assert shows(json.loads(expected.body), body), (where, body)
    headers = {**answer.headers, "Content-Type": answer.mimetype}
    assert {name: headers.get(name) for name in expected.headers} == expected.headers, where


def shows(shown: Any, real: Any, name: str = "") -> bool:  # noqa: ANN401 - any JSON
    """
    Whether what is shown is there. Members of an object may be left out; what varies from run to run is not compared.
    """
    if name in VARYING or name == "at" or name.endswith("_at"):
        return (shown is None) == (real is None)
    if isinstance(shown, dict) and isinstance(real, dict):
        return all(key in real and shows(value, real[key], key) for key, value in shown.items())
    if isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        return all(shows(one, other) for one, other in zip(shown, real, strict=True))
    return bool(shown == real)


def message(block: Block) -> Message:
    head, _, body = block.text.partition("\n\n")
    first_line, *lines = head.splitlines()
    headers = dict(line.split(": ", 1) for line in lines)
    return Message(first_line, headers, body.rstrip("\n"))
