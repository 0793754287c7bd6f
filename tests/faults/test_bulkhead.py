"""
A queue's limit over several processes, one of which is killed while it holds every slot.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Self

import pytest

from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import DeadJob, NewJob
from chokaq_core.engine.scans import Rescue
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import PillarCounts, QueueChange, Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.engine import NOTE, RecordedEvents
from tests.support.polling import looks, wait_until

ROOT = Path(__file__).parents[2]
ZOMBIE_TIMEOUT = timedelta(seconds=1)

# Two handlers may speak at once: a line is one write, which a pipe keeps whole.
WORKER = """
import os
import sys
from pathlib import Path
from chokaq_core.contracts import JobContext
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.engine import Note, Setup, build_rig, profile_of
from tests.support.polling import looks

go = Path(sys.argv[2])

def work(job: Note, ctx: JobContext) -> None:
    os.write(1, f"run {job.text}\\n".encode())
    for _ in looks():
        ctx.raise_if_cancelled()
        if go.exists():
            return

rig = build_rig(SqliteStore(Path(sys.argv[1])), [profile_of(work, queue="erp")], Setup())
for _ in looks():
    rig.visit()
    print("left", flush=True)
"""


@pytest.fixture
def start_worker(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """
    Starts worker processes, and kills them at the end.
    """
    with ExitStack() as stack:

        def start() -> subprocess.Popen[str]:
            command = [sys.executable, "-c", WORKER, str(tmp_path / "jobs.db"), str(tmp_path / "go")]
            worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            stack.enter_context(worker)
            stack.callback(worker.kill)
            return worker

        yield start


@pytest.mark.case("C-009")
def test_slots_of_a_killed_worker_come_back_and_the_limit_holds_all_the_while(
    tmp_path: Path, start_worker: Callable[[], subprocess.Popen[str]]
) -> None:
    with closing(SqliteStore(tmp_path / "jobs.db")) as store:
        store.prepare()
        store.change_queue("erp", QueueChange(max_workers=2, zombie_timeout=ZOMBIE_TIMEOUT))
        store.enqueue([NewJob(f"job-{n}", NOTE, f'{{"text":"{n}"}}', queue="erp") for n in range(4)])
        with Samples(tmp_path / "jobs.db") as samples:
            holder = start_worker()
            held = {_line(holder).removeprefix("run ") for _ in range(2)}
            waiter = start_worker()
            assert _line(waiter) == "left"
            holder.kill()
            holder.wait()
            _rescue(store, 2)
            start_worker()
            wait_until(lambda: _running(store) == 2)
            (tmp_path / "go").touch()
            wait_until(lambda: store.counts().hot == 0)

        lost = [store.find(f"job-{text}") for text in held]
        assert [job.reason for job in lost if isinstance(job, DeadJob)] == [FailureReason.ZOMBIE] * 2
        assert store.counts() == PillarCounts(hot=0, archive=2, dlq=2)
        assert samples.count > 100
        assert samples.most == 2


class Samples:
    """
    Counts the running jobs of the queue again and again, on a connection of its own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.count = 0
        self.most = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        with closing(SqliteStore(self._path)) as store:
            for _ in looks():
                if self._is_over.is_set():
                    return
                self.count += 1
                self.most = max(self.most, _running(store))


def _running(store: Store) -> int:
    return {row.name: row.running for row in store.queues()}["erp"]


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def _rescue(store: Store, count: int) -> None:
    """
    Scans until so many jobs are buried.
    """
    rescue = Rescue(store, Catalog(), RescueRules(), RetryRules(), RecordedEvents())
    buried = 0

    def has_buried_all() -> bool:
        nonlocal buried
        buried += rescue.scan().buried
        return buried == count

    wait_until(has_buried_all)
