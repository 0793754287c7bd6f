"""
One run of one job: what tells it to stop, what it came to, and whether its slot is free again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from chokaq_core.contracts.context import JobContext
from chokaq_core.domain.errors import JobCancelledError, JobPostponedError, ThrottledError
from chokaq_core.domain.events import JobRef
from chokaq_core.domain.failures import Cancelled, Failed, FailureKind, Interrupted, Outcome, Postponed
from chokaq_core.domain.value import Value
from chokaq_core.policy.classify import failure_kind
from chokaq_core.policy.error_text import error_facts, storable
from chokaq_core.ports import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.contracts.job import Job
    from chokaq_core.contracts.profile import Registration
    from chokaq_core.domain.job import ClaimedJob, EnqueueResult


STUCK_SECONDS = 2.0
"""How long handlers that were told to stop may go on before a worker whose every slot they hold counts as exhausted."""


class StopReason(StrEnum):
    """
    Why a running handler is told to stop.
    """

    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LEASE_LOST = "lease_lost"
    HEARTBEAT_LOST = "heartbeat_lost"
    SHUTDOWN = "shutdown"


class Stop(Value):
    """
    The order to stop, with who gave it where that is known.
    """

    reason: StopReason
    by: str | None = None


class Run:
    """
    A job in a slot. It concludes once, which decides its row; it ends once, which frees its slot.

    The two differ for a handler that ignores its timeout: the row leaves at once, the thread keeps the slot.

    Attributes:
        lease: the lease that this run holds, or held.
        ref: the job as events name it.
        task: on the event loop, the task that runs the handler.
    """

    # What few runs ever have stands here: a run is made for each job, and its lock is held for moments only.
    ended_at: float | None = None
    abandoned_at: float | None = None
    has_overstayed = False
    stop_order: Stop | None = None
    is_concluded = False
    task: asyncio.Task[None] | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _on_stop: tuple[Callable[[], object], ...] = ()
    _progress: Progress | None = None
    _lock = threading.Lock()

    def __init__(
        self,
        job: ClaimedJob,
        registration: Registration | None,
        timeout: timedelta,
        enqueue: Callable[..., EnqueueResult],
        *,
        attempt: int,
    ) -> None:
        self.job = job
        self.lease = job.lease
        self.ref = JobRef(job.lease.job_id, job.type_key, job.queue, attempt, job.lease.worker_id)
        self.registration = registration
        self.timeout = timeout
        self.attempt = attempt
        self.begun_at = time.monotonic()
        self.deadline = self.begun_at + timeout.total_seconds()
        self._enqueue = enqueue

    @property
    def duration_ms(self) -> float:
        """
        Wall-clock time in the slot so far, or until the handler ended.
        """
        return ((self.ended_at or time.monotonic()) - self.begun_at) * 1000

    @property
    def stuck_at(self) -> float:
        """
        From when on the handler of an abandoned run has had its time to stop, on the monotonic clock.
        """
        return (self.abandoned_at or 0.0) + STUCK_SECONDS

    def context(self) -> JobContext:
        """
        What the handler is told.
        """
        return JobContext(
            self,
            job_id=self.lease.job_id,
            type_key=self.job.type_key,
            queue=self.job.queue,
            attempt=self.attempt,
            created_by=self.job.created_by,
        )

    def conclude(self) -> bool:
        """
        Claims the right to decide the row; True for the first caller only. To be called under the ledger's lock.
        """
        is_first = not self.is_concluded
        self.is_concluded = True
        return is_first

    def tell_to_stop(self, stop: Stop) -> bool:
        """
        Tells the handler to stop; the first order stays. True if this was the first.
        """
        with self._lock:
            if self.stop_order is not None:
                return False
            self.stop_order = stop
            callbacks = self._on_stop
        for callback in callbacks:
            callback()
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._cancel_task)
        return True

    def begin_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """
        Has the order to stop cancel the task on this loop; called in the task, whose first step has come.

        Raises:
            JobCancelledError: the order is there.
        """
        self._loop = loop
        self.raise_if_told_to_stop()

    def on_stop(self, callback: Callable[[], object]) -> None:
        """
        Registers what interrupts the handler; called at once if the order is there already.
        """
        with self._lock:
            self._on_stop = (*self._on_stop, callback)
            is_late = self.stop_order is not None
        if is_late:
            callback()

    def raise_if_told_to_stop(self) -> None:
        """
        Keeps a handler from starting after the order to stop, say because it waited for a blocked event loop.

        Raises:
            JobCancelledError: the order is there.
        """
        if self.stop_order is not None:
            msg = "told to stop before the handler began"
            raise JobCancelledError(msg)

    def end(self) -> None:
        """
        Notes that the handler has ended, and lets go of what could have interrupted it.
        """
        self.ended_at = time.monotonic()
        self.task = self._loop = None
        if self._on_stop:
            with self._lock:
                self._on_stop = ()

    def outcome_of(self, error: BaseException) -> Outcome:
        """
        What an exception that left the handler comes to, given what the handler had been told.
        """
        reason = self.stop_order.reason if self.stop_order is not None else None
        if reason is StopReason.CANCELLED and self.stop_order is not None:
            return Cancelled(self.stop_order.by, error_facts(error))
        if reason is StopReason.SHUTDOWN and isinstance(error, asyncio.CancelledError | JobCancelledError):
            return Interrupted()
        if isinstance(error, JobPostponedError):
            return Postponed(str(error), error.delay)
        kind = self._kind_of(error)
        retry_after = error.retry_after if isinstance(error, ThrottledError) else None
        return Failed(kind, error_facts(error), retry_after)

    def take_progress(self) -> Progress | None:
        """
        The progress reported since the last call.
        """
        with self._lock:
            progress, self._progress = self._progress, None
        return progress

    def give_back_progress(self, progress: Progress) -> None:
        """
        Keeps progress that could not be stored, unless there is newer.
        """
        with self._lock:
            if self._progress is None:
                self._progress = progress

    def is_cancelled(self) -> bool:
        """
        Whether the handler shall stop.
        """
        return self.stop_order is not None

    def remaining(self) -> timedelta:
        """
        Time left before the timeout.
        """
        return timedelta(seconds=max(0.0, self.deadline - time.monotonic()))

    def report_progress(self, percent: int, note: str | None) -> None:
        """
        Keeps the progress for the next heartbeat, its note as text that every database takes.
        """
        progress = Progress(self.lease, percent, storable(note) if note is not None else None)
        with self._lock:
            self._progress = progress

    def enqueue(self, job: Job, **options: Any) -> EnqueueResult:  # noqa: ANN401 - the producer's own options
        """
        Enqueues another job.
        """
        return self._enqueue(job, **options)

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _kind_of(self, error: BaseException) -> FailureKind:
        if self.registration is None:
            return failure_kind(error)
        return failure_kind(error, self.registration.errors)
