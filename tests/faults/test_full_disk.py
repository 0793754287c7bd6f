"""
The disk is full: producers are told so, workers wait, nothing is half moved, and all goes on once there is room.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pytest

from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.domain.events import EventName
from chokaq_core.ports import PillarCounts, Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.faults.doomed_life import NO_CIRCUITS
from tests.faults.report import Report
from tests.support.absent import Thing, without
from tests.support.engine import Note, Setup, build_rig, profile_of, wait


class Disk(Protocol):
    """
    Where the database lies.
    """

    path: Path

    def fill(self) -> None:
        """
        Leaves no room.
        """

    def free(self) -> None:
        """
        Makes room again.
        """


class SmallDisk:
    """
    A file system of a few mebibytes in memory, filled by a file of nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "jobs.db"
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (4096, 1):
                _write_until_full(ballast.fileno(), bytes(size))

    def free(self) -> None:
        self._ballast.unlink()


class BoundedFile:
    """
    A file that SQLite lets grow no further than it has grown by then.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "jobs.db"
        self._connections: list[sqlite3.Connection] = []

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - as in sqlite3
        connection = sqlite3.Connection(*arguments, **options)
        self._connections.append(connection)
        return connection

    def fill(self) -> None:
        self._bound(1)

    def free(self) -> None:
        self._bound(1_000_000)

    def _bound(self, pages: int) -> None:
        for connection in self._connections:
            connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """
    A mounted file system, where the tests may mount one.
    """
    folder = tmp_path / "small disk #1"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)],  # noqa: S607 - wherever the system has it
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        without(Thing.MOUNT, f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield SmallDisk(folder)
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - the same


@pytest.fixture
def bounded_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BoundedFile:
    """
    A bound on the file itself, for wherever nothing can be mounted.
    """
    disk = BoundedFile(tmp_path)
    monkeypatch.setattr(sqlite3, "connect", disk.connect)
    return disk


@pytest.fixture(params=["small_disk", "bounded_file"])
def disk(request: pytest.FixtureRequest) -> Disk:
    """
    Each kind of full disk in turn.
    """
    disk: Disk = request.getfixturevalue(request.param)
    return disk


@pytest.fixture
def store(disk: Disk) -> Iterator[Store]:
    """
    A store on the disk, with room at first.
    """
    with closing(SqliteStore(disk.path, circuit_rules=NO_CIRCUITS)) as store:
        store.prepare()
        yield store


@pytest.mark.case("C-065")
def test_a_full_disk_costs_time_only(disk: Disk, store: Store, report: Report) -> None:
    may_end = threading.Event()
    runs: Counter[str] = Counter()

    def work(job: Note) -> str:
        runs[job.text] += 1
        wait(may_end)
        return "x" * 50_000

    rig = build_rig(store, [profile_of(work)], Setup())
    accepted = rig.enqueue_many(20)
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=4)
        disk.fill()
        more, refusal = _enqueue_until_refused(rig.engine.producer.enqueue)
        may_end.set()
        rig.events.wait_for(EventName.WORKER_LOOP_CRASHED)
        assert store.counts().hot == len(accepted) + len(more)
        disk.free()
    rig.visit()

    assert rig.engine.stop()
    assert "SQLITE_FULL" in str(refusal)
    assert "full" in str(refusal)
    assert store.counts() == PillarCounts(hot=0, archive=len(accepted) + len(more), dlq=0)
    assert store.totals()["default"].succeeded == len(accepted) + len(more)
    assert set(runs.values()) == {1}
    assert _integrity(disk.path) == "ok"
    report.met("full disks")


def _enqueue_until_refused(enqueue: Any) -> tuple[list[str], StoreRefusedError]:  # noqa: ANN401 - the producer's method
    """
    The ids that were still accepted, and the refusal.
    """
    accepted: list[str] = []
    for number in range(10_000):
        try:
            accepted.append(enqueue(Note(text=f"late-{number}-{'x' * 4000}")).job_id)
        except StoreRefusedError as refusal:
            return accepted, refusal
    raise AssertionError("the disk was never full")


def _write_until_full(handle: int, block: bytes) -> None:
    try:
        while True:
            os.write(handle, block)
    except OSError:
        return


def _integrity(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        answer: str = connection.execute("PRAGMA integrity_check").fetchone()[0]
        return answer
