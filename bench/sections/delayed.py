"""
How late a delayed job starts that nobody but its own wake brings a worker for, through a real queue service.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench.figures import Figure
from bench.size import Size
from tests.support import azurite
from tests.support.azurite import Azurite
from tests.support.burst import HANDLERS
from tests.support.host_process import HostProcess, write_app

NO_POLL = "01:00:00"
"""No poll falls into the time of the measurement but by a rare accident of the clock: on the hour."""


def measure(size: Size) -> Iterator[Figure]:
    """
    Needs Azurite, which `make test` installs.
    """
    azurite.install()
    seconds = size.of(20, 5)
    name = f"start of a job delayed by {seconds} s, after its due time"
    if not azurite.is_installed():
        yield Figure(name, None, note="Azurite is not installed")
        return
    late = _lateness(seconds)
    if late < 0:
        raise RuntimeError(f"a job delayed by {seconds} s started {-late} s before its due time")
    yield Figure(name, late, "s", note="woken by its own message alone; the poll is off")


def _lateness(seconds: int) -> float:
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as name:
        folder = Path(name)
        (folder / "azurite").mkdir()
        service = Azurite(folder / "azurite").start()
        try:
            return _lateness_with(service, folder, seconds)
        finally:
            service.kill()


def _lateness_with(service: Azurite, folder: Path, seconds: int) -> float:
    settings = {
        "AzureWebJobsStorage": service.connection,
        "ChokaQ__Sqlite__Path": str(folder / "jobs.db"),
        "ChokaQ__Functions__PollInterval": NO_POLL,
    }
    host = HostProcess(write_app(folder / "app", HANDLERS), settings).start()
    try:
        body = {"type": "nothing.v1", "payload": {"number": 1}, "id": "delayed", "delay": f"00:00:{seconds:02}"}
        accepted = host.post("/api/jobs", body)
        if accepted.status_code != 202:
            raise RuntimeError(accepted.text)
        job = host.wait_for_status("delayed", "Succeeded")
        started_at, due_at = (datetime.fromisoformat(job[at]) for at in ("started_at", "due_at"))
        return (started_at - due_at).total_seconds()
    finally:
        host.kill()
