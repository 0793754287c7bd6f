"""
A worker killed without warning, and started again: nothing is lost, and nothing runs twice by itself.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chokaq_core.contracts import Job
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import EnqueueResult
from chokaq_core.engine.worker import Engine
from chokaq_core.ports import Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.faults.worker_process import (
    Deadly,
    DeadlyAgain,
    Long,
    LongAgain,
    Quick,
    profile_for,
    runs_in,
)
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.polling import wait_until

ROOT = Path(__file__).parents[2]


class Workplace:
    """
    A folder with a database, jobs put into it, and worker processes on it.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self.store = store
        self._producer = Engine(store, Catalog([profile_for(folder)]), RecordedWakes(), RecordedEvents()).producer
        self._processes: list[subprocess.Popen[bytes]] = []

    def put(self, job: Job, priority: int = 10) -> str:
        """
        Enqueues a job; answers its id.
        """
        return self._producer.enqueue(job, priority=priority).job_id

    def put_many(self, count: int) -> list[str]:
        """
        Enqueues so many quick jobs; answers their ids.
        """
        answers = self._producer.enqueue_many([Quick() for _ in range(count)])
        return [answer.job_id for answer in answers if isinstance(answer, EnqueueResult)]

    def start(self, capacity: int = 2) -> subprocess.Popen[bytes]:
        """
        A worker process with so many slots.
        """
        command = [sys.executable, "-m", "tests.faults.worker_process", str(self.folder), str(capacity)]
        self._processes.append(subprocess.Popen(command, cwd=ROOT))
        return self._processes[-1]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """
        Ends a process as the platform does: without a word.
        """
        process.kill()
        process.wait(30)

    def say(self, word: str) -> None:
        """
        Leaves a file for the handlers or the worker to see.
        """
        (self.folder / word).touch()

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """
        Waits until nothing is active, and lets the worker stop by itself.
        """
        wait_until(lambda: self.store.counts().hot == 0)
        self.say("stop")
        assert process.wait(30) == 0

    def clear_up(self) -> None:
        """
        Leaves no process behind.
        """
        for process in self._processes:
            self.kill(process)

    def status(self, job_id: str) -> tuple[str, int]:
        """
        A job's status or the reason of its end, and its attempts.
        """
        job = self.store.find(job_id)
        assert job is not None
        reason = getattr(job, "reason", None)
        return (reason.label if isinstance(reason, FailureReason) else job.status.label), job.attempt


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    """
    An empty workplace.
    """
    sqlite = SqliteStore(tmp_path / "jobs.db")
    sqlite.prepare()
    store: Store = sqlite
    with closing(sqlite):
        place = Workplace(tmp_path, store)
        yield place
        place.clear_up()


def test_after_a_kill_in_the_middle_of_long_jobs_pending_work_completes_and_started_work_is_buried_or_re_run(
    place: Workplace,
) -> None:
    lost, again = place.put(Long(), 99), place.put(LongAgain(), 98)
    waiting = [place.put(Quick()) for _ in range(10)]
    first = place.start()
    wait_until(lambda: set(runs_in(place.folder)) == {lost, again})
    wait_until(lambda: sum(place.status(job_id)[0] == "Fetched" for job_id in waiting) == 2)
    place.kill(first)

    second = place.start()
    wait_until(lambda: runs_in(place.folder)[again] == 2)
    place.say("go")
    place.finish(second)

    assert place.status(lost) == ("Zombie", 1)
    assert place.status(again) == ("Succeeded", 2)
    assert {place.status(job_id) for job_id in waiting} == {("Succeeded", 1)}
    assert runs_in(place.folder) == {lost: 1, again: 2, **dict.fromkeys(waiting, 1)}


@pytest.mark.case("C-004")
def test_a_job_that_kills_its_worker_is_dead_after_its_first_run(place: Workplace) -> None:
    deadly = place.put(Deadly(), 99)
    others = [place.put(Quick()) for _ in range(5)]

    deaths = _restart_until_empty(place)

    assert deaths == 1
    assert place.status(deadly) == ("Zombie", 1)
    assert {place.status(job_id) for job_id in others} == {("Succeeded", 1)}
    assert runs_in(place.folder) == {deadly: 1, **dict.fromkeys(others, 1)}


@pytest.mark.case("C-004")
def test_a_job_that_kills_its_worker_and_may_run_again_is_dead_when_its_attempts_are_used_up(place: Workplace) -> None:
    deadly = place.put(DeadlyAgain())

    deaths = _restart_until_empty(place)

    assert deaths == 3
    assert place.status(deadly) == ("Zombie", 3)
    assert runs_in(place.folder)[deadly] == 3


def test_kills_at_any_moment_lose_nothing_and_run_nothing_twice(place: Workplace) -> None:
    roll = random.Random(4)  # noqa: S311 - moments, not secrets
    ids = place.put_many(1500)
    for _ in range(4):
        process = place.start()
        _wait_for_more(place, roll.randint(1, 200))
        place.kill(process)

    last = place.start()
    place.finish(last)

    statuses = [place.status(job_id) for job_id in ids]
    assert set(statuses) <= {("Succeeded", 1), ("Zombie", 1)}
    assert statuses.count(("Zombie", 1)) <= 4 * 2
    assert max(runs_in(place.folder).values()) == 1
    assert place.store.totals()["default"].succeeded == statuses.count(("Succeeded", 1))


def _restart_until_empty(place: Workplace) -> int:
    """
    Starts the worker again whenever it has died; answers how often that was.
    """
    for deaths in range(10):
        process = place.start(capacity=1)
        if not _dies(place, process):
            place.finish(process)
            return deaths
        assert process.returncode == 137
    raise AssertionError("the worker died ten times")


def _dies(place: Workplace, process: subprocess.Popen[bytes]) -> bool:
    wait_until(lambda: process.poll() is not None or place.store.counts().hot == 0)
    return process.poll() is not None


def _wait_for_more(place: Workplace, count: int) -> None:
    enough = place.store.counts().archive + count
    wait_until(lambda: place.store.counts().archive >= enough)
