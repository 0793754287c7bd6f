"""
The local host as a real process with the real app, for tests through the front door.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.polling import looks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).parents[2]
HANG_SECONDS = 60.0
"""Only tells a hang from an answer; everything here answers within a second or a few."""

APP = """
import sys
from datetime import timedelta
from pathlib import Path

import azure.functions as func

sys.path.insert(0, {root!r})

from chokaq_core.hosting import ChokaQ
{handlers}

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
chokaq = ChokaQ(Path(__file__).parent, profiles=PROFILES)
chokaq.register(app)


def on_shutdown() -> None:
    chokaq.stop()
"""


def free_port() -> int:
    """
    A port that nobody listened on a moment ago.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def write_app(folder: Path, handlers: str) -> Path:
    """
    Writes an app with handlers of the test's own; `handlers` is Python source that defines PROFILES.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "function_app.py").write_text(APP.format(root=str(ROOT), handlers=handlers), encoding="utf-8")
    (folder / "host.json").write_text((ROOT / "host.json").read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@dataclass
class HostProcess:
    """
    A running local host on a port of its own.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    def start(self) -> HostProcess:
        """
        Starts the process and waits until it answers.
        """
        self.log = self.folder / f"host-{time.monotonic_ns()}.log"
        inherited = {k: v for k, v in os.environ.items() if not k.lower().startswith(("chokaq", "azurewebjobs"))}
        environ = {**inherited, "PYTHONPATH": str(ROOT), **self.settings}
        command = [sys.executable, "-m", "chokaq_core.localhost", "--port", str(self.port), "--app", str(self.folder)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder, env=environ)
        self.wait_for(self._answers, "the host to answer")
        return self

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        """
        Posts JSON, or bytes as they are.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        all_headers = {"Content-Type": "application/json", **headers}
        return httpx.post(self.url(path), content=content, headers=all_headers, timeout=HANG_SECONDS)

    def get(self, path: str) -> httpx.Response:
        """
        Gets an address.
        """
        return httpx.get(self.url(path), timeout=HANG_SECONDS)

    def job(self, job_id: str) -> dict[str, Any]:
        """
        The job as the API shows it.
        """
        answer: dict[str, Any] = self.get(f"/api/jobs/{job_id}").json()
        return answer

    def wait_for_status(self, job_id: str, *statuses: str) -> dict[str, Any]:
        """
        Waits until a job has one of the statuses.
        """
        self.wait_for(lambda: self.job(job_id).get("status") in statuses, f"{job_id} to be {' or '.join(statuses)}")
        return self.job(job_id)

    def wait_for(self, is_true: Callable[[], bool], what: str) -> None:
        """
        Polls a condition, with a bound that only tells a hang.
        """
        for _ in looks(HANG_SECONDS):
            if is_true():
                return
            if self.process.poll() is not None:
                break
        raise AssertionError(f"waited in vain for {what}; the host said:\n{self.output()}")

    def kill(self) -> None:
        """
        Ends the process as a platform does: at once, without a word.
        """
        self.process.kill()
        self.process.wait(HANG_SECONDS)

    def stop(self) -> int:
        """
        Asks the process to stop, and answers its exit code.
        """
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_SECONDS)

    def output(self) -> str:
        """
        All that the process has printed so far.
        """
        return self.log.read_text(encoding="utf-8")

    def url(self, path: str) -> str:
        """
        An address on this host.
        """
        return f"http://127.0.0.1:{self.port}{path}"

    def _answers(self) -> bool:
        try:
            return self.get("/api/health/live").status_code == 200
        except httpx.TransportError:
            return False
