"""
Threads and processes on one file while outsiders hold it: a lock costs time and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.domain.job import NewJob, Place
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.policy.retention import RetentionRules
from chokaq_core.ports import PillarCounts, Store
from tests.contract.racing import at_once, drain, has_succeeded, in_processes
from tests.contract.sources import SqliteSource
from tests.faults.leftovers import leave_old_jobs
from tests.faults.report import Report
from tests.support.engine import wait
from tests.support.polling import wait_until

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
JOBS = 5_000 if IS_DEEP else 600
OLD_JOBS = 300
LOCK_SECONDS = 8.0 if IS_DEEP else 0.5
KEEP = RetentionRules().archive

OUTSIDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("holds it", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""
READS = ("BEGIN", "SELECT count(*) FROM JobsHot")
WRITES = ("BEGIN IMMEDIATE", "UPDATE JobsHot SET Tags = NULL WHERE Id = 'nobody'")


@pytest.fixture
def source(tmp_path: Path) -> SqliteSource:
    """
    A file whose path has blanks and a number sign, with old jobs to purge.
    """
    folder = tmp_path / "a folder #2"
    folder.mkdir()
    leave_old_jobs(folder / "job store #1.db", 0, OLD_JOBS)
    return SqliteSource(folder / "job store #1.db")


@pytest.fixture
def stores(source: SqliteSource) -> Iterator[list[Store]]:
    """
    A store for every two of eight threads.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(closing(source.open())) for _ in range(4)]


@contextmanager
def outsider(path: Path, statements: tuple[str, ...]) -> Iterator[None]:
    """
    Another program that knows nothing of this one, inside a transaction of its own.
    """
    command = [sys.executable, "-c", OUTSIDER, str(path), *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds it\n"
        yield
        process.communicate("let go\n", timeout=60)
        assert process.returncode == 0


@pytest.mark.case("C-065")
@pytest.mark.parametrize("who", ["nobody", "reader", "writer"])
def test_jobs_run_once_each_while_somebody_else_holds_the_file(
    source: SqliteSource, stores: list[Store], report: Report, who: str
) -> None:
    assert source.path is not None
    is_over = partial(has_succeeded, stores[0], JOBS)
    is_held = threading.Event()
    if who != "writer":
        is_held.set()
    calls: list[Callable[[], list[str]]] = [
        *(partial(drain, store, f"worker-{number}", is_over) for number, store in enumerate(stores)),
        partial(_enqueue, stores[0], 0, None),
        partial(_enqueue, stores[1], 1, is_held),
        partial(_look, stores[2], is_over),
        partial(_purge, stores[3], is_over),
        partial(_in_processes, source),
        partial(_lock, source.path, stores[0], is_held) if who == "writer" else list,
    ]
    with outsider(source.path, READS) if who == "reader" else nullcontext():
        found = at_once(calls)

    started = [job_id for ids in found for job_id in ids]
    assert len(started) == len(set(started)) == JOBS
    assert stores[0].counts() == PillarCounts(hot=0, archive=JOBS, dlq=0)
    assert stores[0].totals()["default"].succeeded == JOBS
    report.met(f"jobs beside an outsider: {who}", JOBS)


def _enqueue(store: Store, half: int, may_begin: threading.Event | None) -> list[str]:
    if may_begin is not None:
        wait(may_begin)
    for start in range(half, JOBS, 20):
        store.enqueue([NewJob(f"job-{number}", "t", "1") for number in range(start, min(start + 20, JOBS), 2)])
    return []


def _look(store: Store, is_over: Callable[[], bool]) -> list[str]:
    """
    A dashboard that is never done looking.
    """
    while not is_over():
        for pillar in Pillar:
            assert len(store.list_jobs(JobQuery(pillar), 50).jobs) <= 50
        assert [queue.name for queue in store.queues()] == ["default", "old"]
    return []


def _purge(store: Store, is_over: Callable[[], bool]) -> list[str]:
    assert KEEP is not None
    purged = 0
    while purged < OLD_JOBS or not is_over():
        purged += store.purge_expired(Place.ARCHIVE, KEEP, 25)
    assert purged == OLD_JOBS
    return []


def _in_processes(source: SqliteSource) -> list[str]:
    found: list[Any] = in_processes(3, "drain_until", source.address, total=JOBS)
    return [job_id for ids in found for job_id in ids]


def _lock(path: Path, store: Store, is_held: threading.Event) -> list[str]:
    """
    Keeps everybody from writing for a while, in the middle of the work: half of the jobs are enqueued meanwhile.
    """
    wait_until(lambda: has_succeeded(store, JOBS // 10))
    with outsider(path, WRITES):
        before = store.counts()
        is_held.set()
        threading.Event().wait(LOCK_SECONDS)
        assert store.counts() == before
    return []
