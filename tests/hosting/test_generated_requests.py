"""
Requests made up from the API's own description, good ones and bad ones, against the running app.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host_process import HostProcess, write_app

OPERATE_KEY = "operate-key-of-the-generated-requests"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    """
    The example jobs on a host of their own, since what an operator may do is tried too. Jobs stay where they are put.
    """
    settings = {"ChokaQ__Deck__OperateKey": OPERATE_KEY, "ChokaQ__Functions__PollInterval": "01:00:00"}
    folder = write_app(tmp_path / "app", "from jobs import PROFILES")
    paths = {"MAIL_OUTBOX": str(tmp_path / "outbox"), "REPORTS_DIR": str(tmp_path / "reports")}
    host = HostProcess(folder, {**settings, **paths}).start()
    yield host
    host.kill()


def test_whatever_the_description_allows_or_forbids_is_answered_as_described(host: HostProcess) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli"),
        *("--config-file", str(Path(__file__).with_name("schemathesis.toml"))),
        *("run", host.url("/api/openapi.json"), "--url", host.url("/api")),
        *("--phases", "coverage,fuzzing", "--max-examples", "25", "--generation-deterministic"),
        *("--header", f"X-ChokaQ-Key: {OPERATE_KEY}"),
        *("--no-color", "--continue-on-failure"),
    ]
    environ = {**os.environ, "COLUMNS": "120"}

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=host.folder, env=environ)

    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
