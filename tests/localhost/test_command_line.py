from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.localhost.apps import write_app

ROOT = Path(__file__).parents[2]

APP = """
import logging, os, pathlib, threading
from chokaq_core.engine.wakes import IN_PROCESS

log = logging.getLogger("app")
started, release = threading.Event(), threading.Event()

@app.route("ping")
def ping(req: func.HttpRequest) -> str:
    return os.environ.get("GREETING", "pong")

@app.route("database")
def database(req: func.HttpRequest) -> str:
    return os.environ["ChokaQ__Sqlite__Path"]

@app.route("relative")
def relative(req: func.HttpRequest) -> str:
    return pathlib.Path("function_app.py").read_text()[:6]

@app.route("start")
def start(req: func.HttpRequest) -> str:
    IN_PROCESS.send()
    return str(started.wait(60))

@app.route("release")
def let_go(req: func.HttpRequest) -> str:
    release.set()
    return "released"

@app.queue_trigger(arg_name="wake", queue_name="chokaq-wake", connection="AzureWebJobsStorage")
def worker(wake: func.QueueMessage) -> None:
    started.set()
    release.wait(60)
    log.info("worker ended")

def on_shutdown():
    log.info("hook called")
"""


@dataclass
class Running:
    process: subprocess.Popen[str]
    url: str
    log: Path

    @property
    def address(self) -> tuple[str, int]:
        url = httpx.URL(self.url)
        return url.host, url.port or 0

    def get(self, path: str) -> str:
        return httpx.get(f"{self.url}{path}", timeout=60).text

    def exit_code(self) -> int:
        return self.process.wait(60)


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "chokaq_core.localhost", "--app", str(folder), *arguments]


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.lower().startswith(("chokaq", "azure"))}
    return {**kept, "PYTHONPATH": str(ROOT), **settings}


def run_to_end(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *arguments),
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Running]:
    """
    Runs the host as a process of its own, from the moment on when it has told its address.
    """
    log = folder / "stderr.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command(folder, "--port", "0"),
            env=environment(**settings),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            assert first_line.startswith("ChokaQ answers at http://127.0.0.1:"), log.read_text()
            yield Running(process, first_line.split()[3], log)
        finally:
            process.kill()


def test_the_address_is_printed_once_it_answers(tmp_path: Path) -> None:
    with running(write_app(tmp_path, APP)) as host:
        assert host.get("/ping") == "pong"
        assert host.url.endswith("/api")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_host_gracefully(tmp_path: Path, number: signal.Signals) -> None:
    with running(write_app(tmp_path, APP)) as host:
        host.process.send_signal(number)

        assert host.exit_code() == 0
        assert "hook called" in host.log.read_text()


def test_a_signal_lets_running_work_end_while_http_answers(tmp_path: Path) -> None:
    with running(write_app(tmp_path, APP)) as host:
        assert host.get("/start") == "True"
        host.process.send_signal(signal.SIGTERM)
        assert host.get("/release") == "released"

        assert host.exit_code() == 0
        assert "worker ended" in host.log.read_text()


def test_a_second_signal_ends_the_host_at_once(tmp_path: Path) -> None:
    blocking = APP.replace('    log.info("hook called")', '    log.info("hook called")\n    release.wait(60)')
    with running(write_app(tmp_path, blocking)) as host:
        host.get("/start")
        host.process.send_signal(signal.SIGINT)
        wait_for_log(host, "hook called")
        host.process.send_signal(signal.SIGINT)

        assert host.exit_code() == 130
        assert "worker ended" not in host.log.read_text()


def wait_for_log(host: Running, text: str) -> None:
    """
    Waits until the host has logged the text; HTTP requests to it are the pauses.
    """
    for _ in range(1000):
        if text in host.log.read_text():
            return
        host.get("/ping")
    pytest.fail(f"never logged: {text}")


def test_work_that_is_left_behind_makes_the_exit_code_1(tmp_path: Path) -> None:
    hangs = """
@app.route("hang")
def hang(req: func.HttpRequest) -> str:
    log.info("hanging")
    return str(release.wait(60))
"""
    with running(write_app(tmp_path, APP + hangs)) as host, socket.create_connection(host.address) as client:
        client.sendall(b"GET /api/hang HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for_log(host, "hanging")
        host.process.send_signal(signal.SIGTERM)

        assert host.exit_code() == 1
        assert "Leaving running functions behind: hang" in host.log.read_text()


def test_settings_of_the_file_and_the_default_database_reach_the_app(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_text('{"Values": {"GREETING": "hello"}}', encoding="utf-8")

    with running(write_app(tmp_path, APP)) as host:
        assert host.get("/ping") == "hello"
        assert host.get("/database") == str(tmp_path / ".chokaq" / "chokaq.db")


def test_a_set_variable_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_text('{"Values": {"GREETING": "hello"}}', encoding="utf-8")

    with running(write_app(tmp_path, APP), GREETING="from outside") as host:
        assert host.get("/ping") == "from outside"


def test_relative_paths_mean_the_folder_of_the_app(tmp_path: Path) -> None:
    with running(write_app(tmp_path, APP)) as host:
        assert host.get("/relative") == "import"


def test_a_port_in_use_is_told_in_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = run_to_end(write_app(tmp_path, APP), "--port", str(port))

    assert ended.returncode == 2
    assert ended.stderr == (
        f"error: 127.0.0.1:{port} is in use: stop what listens there, or choose another --port (PORT= with make).\n"
    )
    assert ended.stdout == ""


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    ended = run_to_end(write_app(tmp_path, APP), "--host", "192.0.2.1", "--port", "0")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: Cannot listen at 192.0.2.1:0: ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "code,complaint",
    [
        ("import module_that_is_not_there", "ModuleNotFoundError: No module named 'module_that_is_not_there'"),
        ("@app.route('admin')\ndef f(req): ...", "Function 'f': the route 'admin' conflicts with built-in routes"),
    ],
)
def test_an_app_that_cannot_be_served_is_explained_with_exit_code_2(tmp_path: Path, code: str, complaint: str) -> None:
    ended = run_to_end(write_app(tmp_path, code), "--port", "0")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert complaint in ended.stderr
    assert ended.stdout == ""


def test_a_folder_without_an_app_stays_untouched(tmp_path: Path) -> None:
    ended = run_to_end(tmp_path, "--port", "0")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: There is no function_app.py in")
    assert list(tmp_path.iterdir()) == []


def test_the_log_level_comes_from_the_environment(tmp_path: Path) -> None:
    with running(write_app(tmp_path, APP), LOGLEVEL="DEBUG") as host:
        host.get("/ping")

        wait_for_log(host, "DEBUG   chokaq_core.localhost.http_trigger  GET /api/ping 200, ")


def test_help_explains_the_options_and_settings(tmp_path: Path) -> None:
    ended = run_to_end(tmp_path, "--help")

    assert ended.returncode == 0
    for word in ("--app DIR", "--host HOST", "--port PORT", "7071", "127.0.0.1", "local.settings.json", "LOGLEVEL"):
        assert word in ended.stdout


@pytest.mark.parametrize("port", ["x", "-1", "65536"])
def test_a_malformed_port_is_refused(tmp_path: Path, port: str) -> None:
    ended = run_to_end(tmp_path, f"--port={port}")

    assert ended.returncode == 2
    assert f"'{port}' is no port: expected 0 to 65535" in ended.stderr


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, chokaq_core.localhost, chokaq_core.localhost.__main__;"
        "print(sorted({'azure', 'starlette', 'uvicorn', 'croniter', 'asyncio'} & set(sys.modules)))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )

    assert printed.stdout == "[]\n"
