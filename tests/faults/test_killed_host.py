"""
The running host killed in the middle of long jobs, and started again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.host_process import HostProcess, write_app

HANDLERS = """
import os
from chokaq_core.contracts import Job, JobContext, Profile
from tests.support.polling import looks

FOLDER = Path(__file__).parent


class Step(Job):
    name: str


work = Profile("work")


def note(kind: str, job: Step, ctx: JobContext) -> None:
    with (FOLDER / "runs.txt").open("a", encoding="utf-8") as runs:
        runs.write(f"{kind} {job.name} {ctx.attempt}\\n")


def wait_for(name: str, ctx: JobContext) -> None:
    for _ in looks():
        ctx.raise_if_cancelled()
        if (FOLDER / name).exists():
            return


@work.handler("long.v1")
def long(job: Step, ctx: JobContext) -> None:
    note("start", job, ctx)
    wait_for("go", ctx)
    note("end", job, ctx)


class Again(Step):
    pass


@work.handler("again.v1", rerun_after_loss=True)
def again(job: Again, ctx: JobContext) -> None:
    note("start", job, ctx)
    wait_for("go", ctx)
    note("end", job, ctx)


class Quick(Step):
    pass


@work.handler("quick.v1")
def quick(job: Quick, ctx: JobContext) -> None:
    note("quick", job, ctx)


PROFILES = [work]
"""

SETTINGS = {
    "ChokaQ__Worker__MaxConcurrency": "4",
    "ChokaQ__Execution__HeartbeatIntervalMin": "00:00:00.2",
    "ChokaQ__Execution__HeartbeatIntervalMax": "00:00:00.3",
    "ChokaQ__Recovery__ProcessingZombieTimeout": "00:00:02",
    "ChokaQ__Recovery__FetchedJobTimeout": "00:00:02",
    "ChokaQ__Recovery__ScanInterval": "00:00:01",
    "ChokaQ__Functions__PollInterval": "00:00:01",
    "ChokaQ__Retry__BaseDelay": "00:00:00.1",
    "ChokaQ__Retry__JitterMaxDelay": "00:00:00",
}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    host = HostProcess(write_app(tmp_path / "app", HANDLERS), SETTINGS).start()
    yield host
    host.kill()


@pytest.mark.case("C-058")
def test_nothing_is_lost_and_nothing_runs_twice_when_the_host_is_killed(host: HostProcess) -> None:
    """
    Started work waits in the DLQ as Zombie, or runs again where its handler allows it; waiting work completes.
    """
    for n in range(2):
        _post(host, "long.v1", f"long-{n}")
        _post(host, "again.v1", f"again-{n}")
    host.wait_for(lambda: len(_runs(host)) == 4, "four jobs to start")
    for n in range(10):
        _post(host, "quick.v1", f"quick-{n}")

    host.kill()
    (host.folder / "go").touch()
    host.start()

    for n in range(10):
        assert host.wait_for_status(f"quick-{n}", "Succeeded")["attempts"] == 1
    for n in range(2):
        again = host.wait_for_status(f"again-{n}", "Succeeded")
        assert (again["attempts"], again["attempt_errors"][0]["error_type"]) == (2, "WorkerLost")
        lost = host.wait_for_status(f"long-{n}", "Zombie")
        assert (lost["attempts"], lost["failure"]["reason"]) == (1, "Zombie")
    runs = Counter(line.rsplit(" ", 1)[0] for line in _runs(host))
    assert {name: count for name, count in runs.items() if count > 1} == {"start again-0": 2, "start again-1": 2}
    assert runs["end again-0"] == runs["end again-1"] == 1
    assert runs["end long-0"] == runs["end long-1"] == 0


@pytest.mark.case("C-058")
def test_a_host_that_is_told_to_stop_lets_its_jobs_finish_and_leaves_the_rest_waiting(host: HostProcess) -> None:
    for n in range(4):
        _post(host, "long.v1", f"long-{n}")
    host.wait_for(lambda: len(_runs(host)) == 4, "four jobs to start")
    _post(host, "quick.v1", "quick-0")

    host.process.terminate()
    (host.folder / "go").touch()
    assert host.process.wait(60) == 0, host.output()

    assert Counter(line.split()[0] for line in _runs(host))["end"] == 4
    host.start()
    for n in range(4):
        assert host.job(f"long-{n}")["status"] == "Succeeded"
    assert host.wait_for_status("quick-0", "Succeeded")["attempts"] == 1


def _post(host: HostProcess, type_key: str, name: str) -> None:
    answer = host.post("/api/jobs", {"type": type_key, "payload": {"name": name}, "id": name})
    assert answer.status_code == 202, answer.text


def _runs(host: HostProcess) -> list[str]:
    runs = host.folder / "runs.txt"
    return runs.read_text(encoding="utf-8").splitlines() if runs.exists() else []
