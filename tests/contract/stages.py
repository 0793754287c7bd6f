"""
Brings jobs into any place through the store's own moves, and looks at them there.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import ArchivedJob, ClaimedJob, DeadJob, HotJob, JobRecord, Lease, NewJob, Place, Status
from chokaq_core.domain.moves import Move, Settlement, complete, dead_letter, release
from chokaq_core.domain.value import Value, field_names
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import (
    Burial,
    EnqueueOutcome,
    MetricBucket,
    PillarCounts,
    QueueChange,
    QueueRow,
    Store,
    Totals,
    Turn,
    TurnAnswer,
    WorkerFacts,
)
from tests.support.clock import SteppedClock

WORKER = "worker-1"
OTHER_WORKER = "worker-2"
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
Ending = Callable[[Lease], Settlement]
BOOM = ErrorFacts("ValueError", "boom", "Traceback (most recent call last):\nValueError: boom")

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_PLACES = {Status.PENDING: Place.PENDING, Status.FETCHED: Place.FETCHED, Status.PROCESSING: Place.PROCESSING}


class Staged(Value):
    """
    A job that was put into a place, with the lease that it is or was held by.
    """

    job: NewJob
    lease: Lease

    @property
    def id(self) -> str:
        """
        The job's id.
        """
        return self.job.id


class Stage:
    """
    A store, its clock, and workers that count their turns.
    """

    def __init__(self, store: Store, clock: SteppedClock) -> None:
        self.store = store
        self.clock = clock
        self._numbers = itertools.count(1)
        self._turns: Counter[str] = Counter()

    def new_job(self, **values: Any) -> NewJob:  # noqa: ANN401 - the fields of NewJob
        """
        A job with a fresh id.
        """
        known = {"id": f"job-{next(self._numbers):04}", "type_key": "email.send.v1", "payload": '{"to": "ann"}'}
        return NewJob(**{**known, **values})

    def add(self, **values: Any) -> NewJob:  # noqa: ANN401 - the fields of NewJob
        """
        Enqueues one job.
        """
        job = self.new_job(**values)
        assert self.store.enqueue([job]).items[0].outcome is EnqueueOutcome.CREATED
        return job

    def add_many(self, count: int, **values: Any) -> list[str]:  # noqa: ANN401 - the fields of NewJob
        """
        Enqueues jobs that differ only in their ids, which it answers.
        """
        jobs = [self.new_job(**values) for _ in range(count)]
        assert {item.outcome for item in self.store.enqueue(jobs).items} == {EnqueueOutcome.CREATED}
        return [job.id for job in jobs]

    def next_turn(self, worker: str = WORKER, **values: Any) -> Turn:  # noqa: ANN401 - the fields of Turn
        """
        The worker's next turn, not taken yet.
        """
        self._turns[worker] += 1
        return Turn(worker, self._turns[worker], **values)

    def turn(self, worker: str = WORKER, **values: Any) -> TurnAnswer:  # noqa: ANN401 - the fields of Turn
        """
        Takes the worker's next turn.
        """
        return self.store.turn(self.next_turn(worker, **values))

    def claim(self, want: int = 1, worker: str = WORKER, **values: Any) -> list[str]:  # noqa: ANN401 - fields of Turn
        """
        Claims and answers the ids, first to run first.
        """
        return [job.lease.job_id for job in self.turn(worker, want=want, **values).claimed]

    def settle(self, *settlements: Settlement, worker: str = WORKER) -> TurnAnswer:
        """
        Settles, and checks that every lease still held.
        """
        answer = self.turn(worker, settlements=settlements)
        assert answer.stale == frozenset()
        return answer

    def fetched(self, worker: str = WORKER, **values: Any) -> ClaimedJob:  # noqa: ANN401 - the fields of NewJob
        """
        A new job, fetched by the worker.
        """
        job = self.add(**values)
        return _only(self.turn(worker, prefetch=1).claimed, job.id)

    def running(self, worker: str = WORKER, **values: Any) -> ClaimedJob:  # noqa: ANN401 - the fields of NewJob
        """
        A new job, running at the worker.
        """
        job = self.add(**values)
        return _only(self.turn(worker, want=1).claimed, job.id)

    def archived(self, **values: Any) -> ClaimedJob:  # noqa: ANN401 - the fields of NewJob
        """
        A new job that has succeeded.
        """
        claimed = self.running(**values)
        self.settle(complete(claimed.lease, 12.5))
        return claimed

    def dead(self, **values: Any) -> ClaimedJob:  # noqa: ANN401 - the fields of NewJob
        """
        A new job that has ended badly.
        """
        claimed = self.running(**values)
        self.settle(dead_letter(claimed.lease, FailureReason.FATAL_ERROR, BOOM, 12.5))
        return claimed

    def put(self, place: Place, **values: Any) -> Staged:  # noqa: ANN401 - the fields of NewJob
        """
        A new job in a place. Wherever it is, WORKER holds or held it with lease number 1.
        """
        job = self.new_job(**values)
        self.store.enqueue([job])
        is_fetched = place in {Place.PENDING, Place.FETCHED}
        answer = self.turn(prefetch=1) if is_fetched else self.turn(want=1)
        lease = _only(answer.claimed, job.id).lease
        if place is Place.PENDING:
            self.settle(release(lease))
        elif place is Place.DLQ:
            self.settle(dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 12.5))
        elif place in {Place.ARCHIVE, Place.ABSENT}:
            self.settle(complete(lease, 12.5))
        if place is Place.ABSENT:
            self.store.purge([job.id])
        assert place_of(self.store, job.id) is place
        return Staged(job, lease)

    def hot(self, job_id: str) -> HotJob:
        """
        The job, which must be active.
        """
        found = self.store.find(job_id)
        assert isinstance(found, HotJob)
        return found

    def archived_row(self, job_id: str) -> ArchivedJob:
        """
        The job, which must be archived.
        """
        found = self.store.find(job_id)
        assert isinstance(found, ArchivedJob)
        return found

    def dead_row(self, job_id: str) -> DeadJob:
        """
        The job, which must be in the DLQ.
        """
        found = self.store.find(job_id)
        assert isinstance(found, DeadJob)
        return found

    def suspect(self, job_id: str) -> Suspect:
        """
        The running job as a scan would read it.
        """
        job = self.hot(job_id)
        assert job.worker_id is not None
        assert job.heartbeat_at is not None
        return Suspect(
            job.id,
            job.lease_number,
            job.worker_id,
            job.heartbeat_at,
            job.queue,
            job.type_key,
            job.attempt,
            job.lifetime_start_at,
        )

    def bury(self, job_id: str) -> None:
        """
        Ends the running job as a zombie, as if its worker had fallen silent.
        """
        verdict = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
        assert list(self.store.bury([Burial(self.suspect(job_id), verdict, BOOM)])) == [True]

    def queue(self, name: str) -> QueueRow:
        """
        The queue's row.
        """
        return {row.name: row for row in self.store.queues()}[name]

    def set_queue(self, name: str, **values: Any) -> QueueRow:  # noqa: ANN401 - the fields of QueueChange
        """
        Changes the queue's controls.
        """
        return self.store.change_queue(name, QueueChange(**values))

    def worker(self, worker_id: str) -> WorkerFacts:
        """
        The worker's row.
        """
        return {worker.worker_id: worker for worker in self.store.workers()}[worker_id]

    def buckets(self) -> Sequence[MetricBucket]:
        """
        All metric buckets.
        """
        return self.store.buckets(_LONG_AGO)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """
    All that a move could have changed.
    """

    job: HotJob | ArchivedJob | DeadJob | None
    counts: PillarCounts
    totals: dict[str, Totals]
    buckets: tuple[MetricBucket, ...]
    queues: tuple[QueueRow, ...]


def snapshot(stage: Stage, job_id: str) -> Snapshot:
    """
    The job and everything that is counted, as they are now.
    """
    store = stage.store
    return Snapshot(
        store.find(job_id), store.counts(), dict(store.totals()), tuple(stage.buckets()), tuple(store.queues())
    )


def place_of(store: Store, job_id: str) -> Place:
    """
    Where the job is.
    """
    found = store.find(job_id)
    if isinstance(found, HotJob):
        return _PLACES[found.status]
    if isinstance(found, ArchivedJob):
        return Place.ARCHIVE
    return Place.ABSENT if found is None else Place.DLQ


def changed(before: JobRecord, after: JobRecord) -> dict[str, object]:
    """
    The values that differ, by name; between two pillars, of the columns that both have.
    """
    names = {*field_names(before)} & {*field_names(after)}
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}


def _only(claimed: tuple[ClaimedJob, ...], job_id: str) -> ClaimedJob:
    assert [job.lease.job_id for job in claimed] == [job_id]
    return claimed[0]
