"""
What a process finds when it starts: old jobs to purge, jobs that dead workers hold, jobs that operators shall treat.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.moves import complete, dead_letter
from chokaq_core.ports import Store, Turn
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.stages import BOOM
from tests.faults.doomed_life import GHOST_QUEUE, NO_CIRCUITS
from tests.faults.reckoning import OLD
from tests.faults.tasks import AGAIN, PLAIN

MONTH = timedelta(days=31)


def leave_work(path: Path, round_: int) -> dict[str, str]:
    """
    Prepares a round; answers the ids for the operators, by command.
    """
    leave_old_jobs(path, round_, 5)
    with closing(SqliteStore(path, circuit_rules=NO_CIRCUITS)) as store:
        return _leave_ghosts(store, round_)


def leave_old_jobs(path: Path, round_: int, count: int) -> None:
    """
    Archived jobs and counts that are past their time.
    """
    with closing(SqliteStore(path, circuit_rules=NO_CIRCUITS, clock=lambda: datetime.now(UTC) - MONTH)) as store:
        store.prepare()
        store.enqueue([NewJob(f"{OLD}-{round_}-{n}", PLAIN, "{}", OLD, 100_000) for n in range(count)])
        claimed = store.turn(Turn(f"{OLD}-{round_}", 1, want=count)).claimed
        store.turn(Turn(f"{OLD}-{round_}", 2, tuple(complete(job.lease, 1.0) for job in claimed)))


def _leave_ghosts(store: Store, round_: int) -> dict[str, str]:
    """
    Jobs that a dead worker holds, and jobs for the operators; each round's before all that was left by earlier ones.
    """
    worker, first, second = f"ghost-{round_}", 1_001 + 2 * round_, 1_000 + 2 * round_
    _enqueue_ghosts(store, round_, {"resurrect": PLAIN, "edit": PLAIN}, first)
    dead = store.turn(Turn(worker, 1, want=2)).claimed
    endings = tuple(dead_letter(job.lease, FailureReason.FATAL_ERROR, BOOM, 1.0) for job in dead)
    _enqueue_ghosts(store, round_, {"plain": PLAIN, "again": AGAIN, "another": AGAIN}, first)
    _enqueue_ghosts(store, round_, {"fetched": PLAIN, "fetched-too": PLAIN}, second)
    store.turn(Turn(worker, 2, endings, want=3, prefetch=2))
    cancel = NewJob(f"ghost-cancel-{round_}", PLAIN, "{}", GHOST_QUEUE, delay=timedelta(hours=1))
    store.enqueue([cancel])
    ids = {command: f"ghost-{command}-{round_}" for command in ("cancel", "resurrect", "edit")}
    return {**ids, "purge": f"{OLD}-{round_}-0"}


def _enqueue_ghosts(store: Store, round_: int, kinds: dict[str, str], priority: int) -> None:
    jobs = [NewJob(f"ghost-{word}-{round_}", key, "{}", GHOST_QUEUE, priority) for word, key in kinds.items()]
    store.enqueue(jobs)
