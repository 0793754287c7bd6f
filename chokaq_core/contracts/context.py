"""
What a handler is told about the job it runs, and what it may ask for.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from chokaq_core.domain.errors import JobCancelledError
from chokaq_core.policy.error_text import storable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from chokaq_core.contracts.job import Job
    from chokaq_core.domain.job import EnqueueResult

MAX_PROGRESS_NOTE_CHARACTERS = 400


class RunControl(Protocol):
    """
    The engine's side of a running job.
    """

    def is_cancelled(self) -> bool:
        """
        Whether the handler shall stop: an operator's cancel, a timeout, a lost lease or the shutdown.
        """

    def remaining(self) -> timedelta:
        """
        Time left before the execution timeout; zero when it has passed.
        """

    def report_progress(self, percent: int, note: str | None) -> None:
        """
        Keeps the progress for the next heartbeat.
        """

    def enqueue(self, job: Job, **options: Any) -> EnqueueResult:  # noqa: ANN401 - the producer's own options
        """
        Enqueues another job.
        """


class JobContext:
    """
    The running job, as its handler sees it.

    Attributes:
        job_id: the job's id; the same for every attempt.
        type_key: the persisted type, e.g. `email.send.v1`.
        queue: the queue it was claimed from.
        attempt: number of this run, from 1.
        created_by: who enqueued it, if that was said.
        logger: a logger whose lines carry the job's ids.
    """

    __slots__ = ("_control", "_logger", "attempt", "created_by", "job_id", "queue", "type_key")

    def __init__(
        self, control: RunControl, *, job_id: str, type_key: str, queue: str, attempt: int, created_by: str | None
    ) -> None:
        self._control = control
        self._logger: JobLogger | None = None
        self.job_id = job_id
        self.type_key = type_key
        self.queue = queue
        self.attempt = attempt
        self.created_by = created_by

    @property
    def cancelled(self) -> bool:
        """
        Whether the handler shall stop soon. Long `def` handlers look at it; `async def` ones are cancelled.
        """
        return self._control.is_cancelled()

    @property
    def remaining(self) -> timedelta:
        """
        Time left before the execution timeout.
        """
        return self._control.remaining()

    @property
    def logger(self) -> JobLogger:
        """
        A logger whose lines carry job id, type, queue and attempt.
        """
        if self._logger is None:
            facts = {"job_id": self.job_id, "type": self.type_key, "queue": self.queue, "attempt": self.attempt}
            self._logger = JobLogger(logging.getLogger("chokaq.job"), facts)
        return self._logger

    def raise_if_cancelled(self) -> None:
        """
        Ends the handler when it shall stop; let the error pass.

        Raises:
            JobCancelledError: `cancelled` is true.
        """
        if self.cancelled:
            msg = f"job {self.job_id} was told to stop"
            raise JobCancelledError(msg)

    def report_progress(self, percent: float, note: str | None = None) -> None:
        """
        Says how far the job is; stored with the next heartbeat, so calling it often costs little.

        Args:
            percent: 0 to 100; values outside are clamped.
            note: a short text, cut to 400 characters.
        """
        # In this order NaN becomes 0: it is not greater than any number.
        whole = round(min(100, max(0, percent)))
        self._control.report_progress(whole, _fitting(note) if note is not None else None)

    def enqueue(
        self,
        job: Job,
        *,
        queue: str | None = None,
        priority: int | None = None,
        delay: timedelta | None = None,
        due_at: datetime | None = None,
        idempotency_key: str | None = None,
        tags: str | None = None,
        created_by: str | None = None,
        job_id: str | None = None,
    ) -> EnqueueResult:
        """
        Enqueues another job; `created_by` defaults to this job's id.

        It is stored when this returns, whatever becomes of this job: an attempt that fails and is repeated enqueues
        again unless an idempotency key is given. It blocks for one database round trip; in an `async def` handler use
        `await asyncio.to_thread(ctx.enqueue, job)`.

        Raises:
            InvalidJobError: the job was refused; nothing was written.
            StoreError: the database is away.
        """
        return self._control.enqueue(
            job,
            queue=queue,
            priority=priority,
            delay=delay,
            due_at=due_at,
            idempotency_key=idempotency_key,
            tags=tags,
            created_by=created_by if created_by is not None else f"job:{self.job_id}",
            job_id=job_id,
        )


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    """
    Puts the job's ids behind each message, as text, since some log channels drop everything else; and as `extra`.
    """

    def __init__(self, logger: logging.Logger, facts: Mapping[str, object]) -> None:
        super().__init__(logger, dict(facts))
        self._suffix = " ".join(f"{name}={value}" for name, value in facts.items())

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:  # noqa: ANN401 - logging's own
        """
        Logs the message followed by the ids, in which a type key may hold a percent sign.
        """
        if self.isEnabledFor(level):
            # Arguments are left to `logging`, which reports a bad line and goes on: it must not fail its job.
            suffix = self._suffix.replace("%", "%%") if args else self._suffix
            line = f"{msg} [{suffix}]"
            kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            self.logger.log(level, line, *args, **kwargs)


def _fitting(note: str) -> str:
    """
    The note in at most 400 UTF-16 units, which is how SQL Server counts nvarchar; no character is cut in half.
    """
    units = storable(note).encode("utf-16-le")[: 2 * MAX_PROGRESS_NOTE_CHARACTERS]
    return units.decode("utf-16-le", "ignore")
