"""
Each setting broken in turn under the local host: health names it, nothing works, and no secret is shown.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import azure.functions as func
import httpx
import pytest

from chokaq_core.localhost.functions import Functions, sort_by_trigger
from chokaq_core.localhost.invocation import LocalContext, LocalTraceContext
from chokaq_core.localhost.server import LocalHost
from tests.localhost.apps import app_module, call
from tests.support.host_process import HostProcess, write_app
from tests.support.setting_cases import CASES, SECRET_NAMES, Case

ENQUEUE = {"type": "email.send.v1", "payload": {"to": "ada@example.org", "subject": "Hello", "body": "x"}}
READ_KEY = "PLANTED-read-key-PLANTED-read-key"
OPERATE_KEY = "PLANTED-operate-key-PLANTED-operate"
SECRETS = {
    "ChokaQ__SqlServer__ConnectionString": "Server=db.invalid;Database=jobs;User ID=app;Password='PLANTED;with=pieces'",
    "ChokaQ__Deck__ReadKey": READ_KEY,
    "ChokaQ__Deck__OperateKey": OPERATE_KEY,
}
BROKEN_SECRETS = {
    "SqlServer.ConnectionString": "Server=db.invalid;User ID=app;Password=PLANTED-pieces;Nonsense",
    "Deck.ReadKey": "PLANTED short",
    "Deck.OperateKey": "PLANTED short",
}
BROKEN = {case.name: next(text for text in case.refused if "\0" not in text) for case in CASES} | BROKEN_SECRETS
REQUESTS = (
    ("GET", "/api/health"),
    ("POST", "/api/jobs"),
    ("POST", "/api/jobs/batch"),
    ("GET", "/api/jobs/some-id"),
    ("DELETE", "/api/jobs/some-id"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/deck"),
    ("GET", "/api/deck/overview"),
    ("POST", "/api/deck/previews"),
)
Start = Callable[[dict[str, str]], "Host"]


def variable(name: str) -> str:
    return "ChokaQ__" + name.replace(".", "__")


def is_clean(texts: list[str]) -> bool:
    """
    Whether no planted secret, nor a piece of one, is anywhere in what was said.
    """
    found = [text for text in texts if "PLANTED" in text or "pieces" in text]
    assert found == []
    return True


@dataclass
class Host:
    """
    The example jobs under the local host, without a socket.
    """

    local: LocalHost
    functions: Functions

    def ask(self, method: str, path: str) -> httpx.Response:
        """
        Sends a request, with the right key of the Deck and, where there is room for one, a job.
        """
        body = ENQUEUE if method == "POST" else None
        return call(self.local, method, path, headers={"X-ChokaQ-Key": OPERATE_KEY}, json=body)

    def tick(self) -> list[str]:
        """
        Fires every timer and wakes the worker; answers the names of the functions.
        """
        timers = [timer.handler for timer in self.functions.timers]
        workers = [queue.handler for queue in self.functions.queues]
        for timer in timers:
            timer.call(None, LocalContext(timer.name, "", LocalTraceContext()))
        for worker in workers:
            worker.call(func.QueueMessage(body='{"v":1}'), LocalContext(worker.name, "", LocalTraceContext()))
        return [handler.name for handler in (*timers, *workers)]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """
    Starts the host in an environment that holds nothing else of the app.
    """
    for name in [name for name in os.environ if name.lower().startswith(("chokaq", "azurewebjobs"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    # What stood there comes back at the end, whatever the loader puts in its place.
    monkeypatch.setitem(sys.modules, "function_app", ModuleType("function_app"))
    folder = write_app(tmp_path, "from jobs import PROFILES")

    def start(environ: dict[str, str]) -> Host:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        local = LocalHost(folder, os.environ)
        again = func.FunctionApp()
        app_module().chokaq.register(again)
        return Host(local, sort_by_trigger(again.get_functions()))

    yield start
    app_module().chokaq.stop()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_setting_stops_all_work_is_named_and_shows_no_secret(
    name: str, start: Start, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    host = start({**SECRETS, variable(name): BROKEN[name]})

    answers = {request: host.ask(*request) for request in REQUESTS}
    ticked = host.tick()

    health, enqueue = answers["GET", "/api/health"], answers["POST", "/api/jobs"]
    assert {answer.status_code for answer in answers.values()} == {503}
    problems = health.json()["checks"]["chokaq_configuration"]["data"]["problems"]
    assert any(problem.startswith(f"{name}: ") for problem in problems), problems
    assert enqueue.json()["problems"] == problems
    assert sorted(skipped(caplog)) == sorted(ticked)
    assert is_clean([*said(caplog, capfd), *map(seen, answers.values())])


def test_every_setting_is_broken_once() -> None:
    assert set(BROKEN) == {case.name for case in CASES} | set(SECRET_NAMES)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in {"Retry.MaxAttempts", "InMemory.MaxCapacity"}])
def test_nothing_is_stored_while_a_setting_is_broken_and_all_works_once_it_is_mended(
    case: Case, start: Start, tmp_path: Path
) -> None:
    database = tmp_path / "jobs.db"
    environ = {"ChokaQ__Sqlite__Path": str(database), "ChokaQ__Functions__IdleLinger": "00:00:00"}
    broken = start({**environ, case.variable: next(iter(case.refused))})
    assert broken.ask("POST", "/api/jobs").status_code == 503
    broken.tick()
    assert not database.exists()

    mended = start({case.variable: case.given})

    assert mended.ask("POST", "/api/jobs").status_code == 202
    assert mended.ask("GET", "/api/health").status_code == 200
    assert database.exists()


def test_a_planted_secret_would_be_found() -> None:
    with pytest.raises(AssertionError):
        is_clean(["fine", f"the key is {READ_KEY}"])


def test_a_process_with_several_broken_settings_names_all_of_them_and_shows_no_secret(app_folder: Path) -> None:
    names = ("Retry.MaxAttempts", "Worker.MaxConcurrency", "Queues.reports.MaxWorkers", "Functions.WakeQueueName")
    environ = {
        **{variable(name): BROKEN[name] for name in (*names, "SqlServer.ConnectionString", "Deck.ReadKey")},
        variable("Deck.OperateKey"): OPERATE_KEY,
        "ChokaQ__Deck__OperateKeys": OPERATE_KEY,
        "chokaq:deck:readkey": READ_KEY,
        "LOGLEVEL": "DEBUG",
    }
    host = HostProcess(write_app(app_folder, "from jobs import PROFILES"), environ).start()

    answers = [_ask_process(host, method, path) for method, path in REQUESTS]
    assert host.stop() == 0

    named = {problem.partition(":")[0] for problem in answers[1].json()["problems"]}
    assert named == {*names, "SqlServer.ConnectionString", "Deck.ReadKey", "Deck.OperateKeys"}
    assert {answer.status_code for answer in answers} == {503}
    assert [name for name in named if name not in answers[0].text or name not in host.output()] == []
    assert is_clean([host.output(), *map(seen, answers)])
    told = host.output().partition("Nothing works yet")[2]
    assert [name for name in named if f"  - {name}: " not in told] == []
    assert "Try it" not in host.output()


def _ask_process(host: HostProcess, method: str, path: str) -> httpx.Response:
    body = ENQUEUE if method == "POST" else None
    return httpx.request(method, host.url(path), headers={"X-ChokaQ-Key": OPERATE_KEY}, timeout=60.0, json=body)


def seen(answer: httpx.Response) -> str:
    """
    All of an answer that its caller sees.
    """
    return f"{answer.headers} {answer.text}"


def said(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """
    All that was logged, attributes included, or printed.
    """
    return [caplog.text, *(str(vars(record)) for record in caplog.records), *capfd.readouterr()]


def skipped(caplog: pytest.LogCaptureFixture) -> list[str]:
    """
    The functions that said that they did no work because settings are invalid.
    """
    lines = [json.loads(line[line.index("{") :]) for line in caplog.messages if "InvocationSkipped" in line]
    return [line["function"] for line in lines if line["error_type"] == "ConfigurationError"]
