"""
What must be true after a kill, read from the database and from the book of runs.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from chokaq_core.domain.circuit import Circuit, CircuitState
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, Status
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.engine.scans import Rescue
from chokaq_core.ports import QueueChange, Store, Totals
from chokaq_core.stores.sqlite import SqliteStore
from tests.faults.doomed_life import AT_ONCE, CIRCUITS, GHOST_QUEUE, QUICK, WORK_QUEUE
from tests.faults.tasks import AGAIN, RunBook, Tasks
from tests.support.engine import Rig, Setup, build_rig
from tests.support.polling import looks

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
MOST = 100_000
OLD = "old"
"""Jobs of this name, in a queue of the same name, are there to be purged."""

_EVERYWHERE = """
SELECT Id, Pillar FROM (
    SELECT Id, Queue, 'hot' AS Pillar FROM JobsHot
    UNION ALL SELECT Id, Queue, 'archive' FROM JobsArchive
    UNION ALL SELECT Id, Queue, 'dlq' FROM JobsDLQ
) WHERE Queue <> ?
"""

REASONS = {
    "task.fatal": {FailureReason.FATAL_ERROR, FailureReason.ZOMBIE},
    "hold": {FailureReason.CANCELLED, FailureReason.ZOMBIE},
    "ghost-plain": {FailureReason.ZOMBIE},
    "ghost-cancel": {FailureReason.CANCELLED, FailureReason.ZOMBIE},
    "ghost-resurrect": {FailureReason.FATAL_ERROR, FailureReason.ZOMBIE},
    "ghost-edit": {FailureReason.FATAL_ERROR},
}
"""Why jobs may end badly, by the word of their ids; others only because their worker was killed."""


@dataclass(frozen=True, slots=True)
class Tally:
    """
    What became of all accepted jobs.
    """

    archived: int
    zombies: int
    otherwise_dead: int
    retried: int
    active: int


def check(folder: Path) -> None:
    """
    Checks what must hold at any moment: each accepted job in exactly one pillar, no run too many, counters that add up.
    """
    places = _places(folder)
    twice = {job_id: pillars for job_id, pillars in places.items() if len(pillars) > 1}
    assert twice == {}
    book = RunBook(folder / "runs.txt")
    assert book.counts("accepted").keys() - places.keys() == set()
    with closing(_open(folder)) as store:
        jobs = _jobs(store, places)
        _check_runs(jobs, book)
        _check_counters(store, jobs)


def survive(folder: Path) -> Tally:
    """
    Lets a healthy process finish everything, and checks that nothing is left and every job ended as it may.

    What circuits hold back is not left either: a probe that died is given up for another one.
    """
    book = RunBook(folder / "runs.txt")
    with closing(_open(folder)) as store:
        rig = build_rig(store, [Tasks(book).profile()], Setup(QUICK.worker, retry=QUICK.retry, claims=store))
        _finish(rig)
        check(folder)
        jobs = _jobs(store, _places(folder))
        _check_endings(jobs, book)
        return _tally(jobs, store.totals())


def _finish(rig: Rig) -> None:
    """
    Rescues what the dead held, opens what they closed, and works until nothing waits.
    """
    store = rig.store
    store.change_queue(GHOST_QUEUE, QueueChange(is_paused=False))
    scan = Rescue(store, rig.catalog, AT_ONCE, QUICK.retry, rig.events).scan
    for _ in range(3):
        scan()
    store.cancel([job.id for job in _hot(store) if job.id.startswith("ghost-cancel")], "ann")
    for _ in looks():
        rig.visit()
        if store.counts().hot == 0:
            break
    assert rig.engine.stop()
    assert store.counts().hot == 0, [job.id for job in _hot(store)]
    assert [circuit for circuit in store.circuits() if _waits_for_probe(circuit)] == []


def _waits_for_probe(circuit: Circuit) -> bool:
    """
    Whether a circuit still waits for the answer of a probe, though nobody runs any more.
    """
    is_half_open = circuit.state is CircuitState.HALF_OPEN
    return is_half_open and circuit.probe_until is not None and circuit.probe_until > datetime.now(UTC)


def _check_runs(jobs: Iterable[HotJob | ArchivedJob | DeadJob], book: RunBook) -> None:
    """
    A job has started once, and once more for each time that it was retried, interrupted, put off or brought back.
    """
    starts, ends = book.counts("start"), book.counts("end")
    for job in jobs:
        again = job.interruptions + len(job.attempt_errors)
        again += job.id.startswith(("task.later", "ghost-resurrect"))
        assert starts[job.id] <= 1 + again, (job, starts[job.id])
        assert starts[job.id] <= job.lease_number
        if isinstance(job, ArchivedJob) and job.queue == WORK_QUEUE:
            assert ends[job.id] >= 1, job


def _check_counters(store: Store, jobs: list[HotJob | ArchivedJob | DeadJob]) -> None:
    totals = store.totals()
    for queue in (WORK_QUEUE, GHOST_QUEUE):
        own = [job for job in jobs if job.queue == queue]
        counted = totals.get(queue, Totals())
        assert counted.succeeded == sum(isinstance(job, ArchivedJob) for job in own)
        brought_back = _affected(store, "resurrect") if queue == GHOST_QUEUE else 0
        assert counted.failed == sum(isinstance(job, DeadJob) for job in own) + brought_back
        assert _in_buckets(store, queue) == (counted.succeeded, counted.failed)
    work = [job for job in jobs if job.queue == WORK_QUEUE]
    assert totals.get(WORK_QUEUE, Totals()).retried == sum(_retries(job) for job in work)


def _retries(job: HotJob | ArchivedJob | DeadJob) -> int:
    is_last_fatal = isinstance(job, DeadJob) and job.error_type is not None
    return len(job.attempt_errors) - is_last_fatal


def _affected(store: Store, command: str) -> int:
    return sum(entry.affected for entry in store.operator_log(None, MOST) if entry.command == command)


def _in_buckets(store: Store, queue: str) -> tuple[int, int]:
    counts: Counter[int] = Counter()
    for bucket in store.buckets(LONG_AGO):
        if bucket.queue == queue:
            counts[bucket.outcome] += bucket.completed
    return counts[0], counts[1]


def _check_endings(jobs: Iterable[HotJob | ArchivedJob | DeadJob], book: RunBook) -> None:
    """
    What did not end well has a reason to; one whose handler allows it runs again as long as it has attempts.
    """
    for job in jobs:
        if isinstance(job, DeadJob):
            word = job.id.rsplit("-", 2)[0] if job.id.startswith(("task", "hold", "again", "once")) else _ghost(job.id)
            assert job.reason in REASONS.get(word, {FailureReason.ZOMBIE}), job
            assert job.type_key != AGAIN or job.attempt == QUICK.retry.max_attempts, job


def _ghost(job_id: str) -> str:
    return job_id.rsplit("-", 1)[0]


def _tally(jobs: list[HotJob | ArchivedJob | DeadJob], totals: Mapping[str, Totals]) -> Tally:
    statuses = Counter(job.status for job in jobs)
    return Tally(
        archived=statuses[Status.SUCCEEDED],
        zombies=statuses[Status.ZOMBIE],
        otherwise_dead=statuses[Status.FAILED] + statuses[Status.CANCELLED],
        retried=sum(counted.retried for counted in totals.values()),
        active=statuses[Status.PENDING] + statuses[Status.FETCHED] + statuses[Status.PROCESSING],
    )


def _places(folder: Path) -> dict[str, list[str]]:
    """
    In which pillars each job is; those that are there to be purged left out.
    """
    places: dict[str, list[str]] = {}
    with closing(sqlite3.connect(folder / "jobs.db")) as connection:
        for job_id, pillar in connection.execute(_EVERYWHERE, (OLD,)):
            places.setdefault(job_id, []).append(pillar)
    return places


def _jobs(store: Store, job_ids: Iterable[str]) -> list[HotJob | ArchivedJob | DeadJob]:
    found = [store.find(job_id) for job_id in job_ids]
    return [job for job in found if job is not None]


def _hot(store: Store) -> list[HotJob]:
    page = store.list_jobs(JobQuery(Pillar.HOT), MOST)
    return [job for job in _jobs(store, [summary.id for summary in page.jobs]) if isinstance(job, HotJob)]


def _open(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "jobs.db", circuit_rules=CIRCUITS)
    store.prepare()
    return store
