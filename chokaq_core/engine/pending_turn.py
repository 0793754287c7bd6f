"""
A turn on its way: what it is about, and what there is to tell of it once it is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value
from chokaq_core.engine.settling import Ended, event_of
from chokaq_core.policy.circuit import circuit_changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import timedelta

    from chokaq_core.domain.job import ClaimedJob
    from chokaq_core.engine.book import Work
    from chokaq_core.engine.run import Run
    from chokaq_core.ports import Turn, TurnAnswer

# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_STARTED = EventName.JOB_STARTED


class PendingTurn(Value):
    """
    A turn that has not been answered yet.

    Attributes:
        ended: the runs that it settles.
        held_back: fetched jobs that it puts off because their circuit has opened.
    """

    turn: Turn
    work: Work
    ended: tuple[Ended, ...]
    held_back: tuple[ClaimedJob, ...] = ()

    def started(self, answer: TurnAnswer) -> list[ClaimedJob]:
        """
        The fetched jobs that run now.
        """
        others = answer.stale | {job.lease.job_id for job in self.held_back}
        return [job for job in self.work.starts if job.lease.job_id not in others]

    def has_lost_fetched(self, answer: TurnAnswer) -> bool:
        """
        Whether fetched jobs were gone when they were to start, as after a pause.
        """
        return any(job.lease.job_id in answer.stale for job in self.work.starts)

    def events(self, answer: TurnAnswer, breaker_delay: timedelta) -> Iterator[Event]:
        """
        What there is to tell, given the answer.
        """
        for ended in self.ended:
            job_id = ended.run.lease.job_id
            yield event_of(ended, is_stale=job_id in answer.stale, is_cancelled=job_id in answer.cancelled)
        yield from self._of_fetched(answer, breaker_delay)
        for settlement in self.work.settlements:
            if settlement.lease.job_id in answer.stale:
                lease = settlement.lease
                yield _not_applied(JobRef(lease.job_id, "", "", worker_id=lease.worker_id), settlement.move)
        yield from (circuit_changed(event) for event in answer.circuit_events)

    def _of_fetched(self, answer: TurnAnswer, breaker_delay: timedelta) -> Iterator[Event]:
        held_back = {job.lease.job_id for job in self.held_back}
        for job in self.work.starts:
            is_stale = job.lease.job_id in answer.stale
            if job.lease.job_id in held_back and not is_stale:
                facts = {"delay_s": breaker_delay.total_seconds()}
                yield Event(EventName.CIRCUIT_BREAKER_REJECTED, job_ref(job), facts)
            elif is_stale:
                yield Event(EventName.JOB_EXECUTION_LEASE_REJECTED, job_ref(job), {"transition": str(Move.START)})
        for job in self.work.unfetched:
            if job.lease.job_id in answer.stale:
                yield _not_applied(job_ref(job), Move.RELEASE)
            else:
                yield Event(EventName.PREFETCHED_JOB_RELEASED, job_ref(job))


def starts(runs: Iterable[Run]) -> Iterator[Event]:
    """
    That runs begin, with how long each waited.
    """
    for run in runs:
        lag = (run.job.claimed_at - run.job.due_at).total_seconds()
        yield Event(_STARTED, run.ref, {"lag_ms": lag * 1000 if lag > 0 else 0.0})


def cancel_told(run: Run) -> Event:
    """
    That a run was told to cancel, and who wished it.
    """
    by = run.stop_order.by if run.stop_order is not None else None
    return Event(EventName.JOB_CANCELLATION_REQUESTED, run.ref, {"by": by})


def job_ref(job: ClaimedJob) -> JobRef:
    """
    A claimed job as events name it.
    """
    return JobRef(job.lease.job_id, job.type_key, job.queue, attempt=job.attempt, worker_id=job.lease.worker_id)


def _not_applied(job: JobRef, move: Move) -> Event:
    return Event(EventName.STATE_TRANSITION_NOT_APPLIED, job, {"transition": str(move)})
