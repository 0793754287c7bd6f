"""
What a store is, in a few dozen lines: jobs in a dictionary, and what each move does to one of them.

Which jobs a claim takes is the store's choice; the model says whether it was free to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from chokaq_core.domain.job import Lease, NewJob, Place
from chokaq_core.domain.moves import MOVES, Move, Settlement

HELD = {Place.FETCHED, Place.PROCESSING}
HOT = {Place.PENDING, *HELD}


@dataclass(slots=True)
class ModelJob:
    """
    One job; `at` is when it was touched last, which for a running one is its heartbeat, for an ended one its end.
    """

    job: NewJob
    due_at: datetime
    at: datetime
    priority: int = 10
    place: Place = Place.PENDING
    lease: int = 0
    attempt: int = 0
    interruptions: int = 0
    worker: str | None = None
    is_marked: bool = False


@dataclass(slots=True)
class ModelQueue:
    """
    One queue's controls.
    """

    is_paused: bool = False
    is_active: bool = True
    max_workers: int | None = None
    zombie_timeout: timedelta | None = None


@dataclass(slots=True)
class Model:
    """
    All jobs and queues, and what was counted.
    """

    jobs: dict[str, ModelJob] = field(default_factory=dict)
    queues: dict[str, ModelQueue] = field(default_factory=dict)
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)

    def in_place(self, *places: Place) -> list[ModelJob]:
        """
        The jobs that are there.
        """
        return [job for job in self.jobs.values() if job.place in places]

    def held_by(self, worker: str) -> dict[str, ModelJob]:
        """
        What a worker holds, by id.
        """
        return {job.job.id: job for job in self.in_place(*HELD) if job.worker == worker}

    def holder_of(self, key: str | None) -> ModelJob | None:
        """
        The active job that holds an idempotency key.
        """
        return next((job for job in self.in_place(*HOT) if key is not None and job.job.idempotency_key == key), None)

    def enqueue(self, job: NewJob, now: datetime) -> None:
        """
        Takes a new job in.
        """
        self.queues.setdefault(job.queue, ModelQueue())
        self.jobs[job.id] = ModelJob(job, now + (job.delay or timedelta(0)), now, job.priority)

    def holds(self, lease: Lease, move: Move) -> bool:
        """
        Whether a worker's move with this lease finds the job as it must be.
        """
        job = self.jobs.get(lease.job_id)
        if job is None or job.place not in MOVES[move].sources:
            return False
        return (job.worker, job.lease) == (lease.worker_id, lease.number)

    def claim(self, job: ModelJob, lease: Lease, place: Place, now: datetime) -> None:
        """
        Gives the job to a worker.
        """
        assert (job.place, lease.number) == (Place.PENDING, job.lease + 1)
        job.place, job.worker, job.lease, job.at = place, lease.worker_id, lease.number, now
        job.attempt += place is Place.PROCESSING

    def start(self, job: ModelJob, now: datetime) -> None:
        """
        A fetched job runs.
        """
        job.place, job.at, job.attempt = Place.PROCESSING, now, job.attempt + 1

    def settle(self, job: ModelJob, settlement: Settlement, now: datetime) -> bool:
        """
        Does what the last word on a lease says; True if a mark made it a cancellation.
        """
        is_cancelled = job.is_marked and settlement.move is not Move.COMPLETE
        match Move.DEAD_LETTER if is_cancelled else settlement.move:
            case Move.COMPLETE:
                self.end(job, Place.ARCHIVE, now)
            case Move.DEAD_LETTER:
                self.end(job, Place.DLQ, now)
            case Move.RETRY:
                self.counted[job.job.queue, "retried"] += 1
                self.put_back(job, now + (settlement.delay or timedelta(0)))
            case Move.POSTPONE:
                job.attempt -= job.place is Place.PROCESSING
                self.put_back(job, now + (settlement.delay or timedelta(0)))
            case Move.HAND_BACK:
                job.attempt, job.interruptions = job.attempt - 1, job.interruptions + 1
                self.put_back(job, now)
            case Move.RELEASE:
                self.put_back(job, job.due_at)
        return is_cancelled

    def end(self, job: ModelJob, place: Place, now: datetime) -> None:
        """
        The job leaves the active ones and is counted.
        """
        job.place, job.at = place, now
        self.counted[job.job.queue, "succeeded" if place is Place.ARCHIVE else "failed"] += 1

    def put_back(self, job: ModelJob, due_at: datetime) -> None:
        """
        The job waits again.
        """
        job.place, job.worker, job.due_at = Place.PENDING, None, due_at

    def resurrect(self, job: ModelJob, now: datetime) -> None:
        """
        A dead job waits again, its attempts uncounted.
        """
        self.put_back(job, now)
        job.attempt, job.is_marked = 0, False

    def waiting(self, until: datetime) -> Iterator[ModelJob]:
        """
        Jobs that were due by then, in queues that are open and have room.
        """
        for job in self.in_place(Place.PENDING):
            if job.due_at <= until and self.lets_run(job.job.queue):
                yield job

    def lets_run(self, queue: str) -> bool:
        """
        Whether the queue is open and has room.
        """
        return self.is_open(queue) and self.room(queue) != 0

    def is_open(self, queue: str) -> bool:
        """
        Whether claims look into the queue.
        """
        return self.queues[queue].is_active and not self.queues[queue].is_paused

    def room(self, queue: str) -> int | None:
        """
        How many more jobs of the queue may be held; None for any number.
        """
        limit = self.queues[queue].max_workers
        held = sum(job.job.queue == queue for job in self.in_place(*HELD))
        return None if limit is None else max(0, limit - held)

    def close(self, queue: str) -> None:
        """
        Gives the fetched jobs of a queue back.
        """
        for job in self.in_place(Place.FETCHED):
            if job.job.queue == queue:
                self.put_back(job, job.due_at)

    def forget(self, job_ids: Iterable[str]) -> None:
        """
        The jobs are gone for good.
        """
        for job_id in job_ids:
            del self.jobs[job_id]
