"""
A run of a handler without an engine: it keeps what the handler reports and asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from chokaq_core.contracts import Job, JobContext
from chokaq_core.domain.job import EnqueueResult


@dataclass(slots=True)
class RecordedRun:
    """
    The engine's side of a running job, in memory.

    Attributes:
        time_left: what `ctx.remaining` answers.
        checks_until_cancel: how many looks at `ctx.cancelled` answer no; None for all of them.
        progress: every report, in order.
        enqueued: every job that the handler enqueued, with its options.
    """

    time_left: timedelta = timedelta(minutes=5)
    checks_until_cancel: int | None = None
    progress: list[tuple[int, str | None]] = field(default_factory=list)
    enqueued: list[tuple[Job, dict[str, Any]]] = field(default_factory=list)

    def is_cancelled(self) -> bool:
        if self.checks_until_cancel is None:
            return False
        self.checks_until_cancel -= 1
        return self.checks_until_cancel < 0

    def remaining(self) -> timedelta:
        return self.time_left

    def report_progress(self, percent: int, note: str | None) -> None:
        self.progress.append((percent, note))

    def enqueue(self, job: Job, **options: Any) -> EnqueueResult:  # noqa: ANN401 - the producer's own options
        self.enqueued.append((job, options))
        return EnqueueResult(f"enqueued-{len(self.enqueued)}")

    def context(self, *, job_id: str = "job-1", type_key: str = "test.job.v1", queue: str = "default") -> JobContext:
        """
        The context that the handler is given.
        """
        return JobContext(self, job_id=job_id, type_key=type_key, queue=queue, attempt=1, created_by=None)
