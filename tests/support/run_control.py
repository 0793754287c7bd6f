"""
Stands for the engine behind a handler's context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from chokaq_core.contracts import Job
from chokaq_core.domain.job import EnqueueResult


@dataclass
class Control:
    """
    The engine's side: answers as told and keeps what it was given.
    """

    is_stopping: bool = False
    time_left: timedelta = timedelta(minutes=5)
    progress: list[tuple[int, str | None]] = field(default_factory=list)
    enqueued: list[tuple[Job, dict[str, Any]]] = field(default_factory=list)

    def is_cancelled(self) -> bool:
        return self.is_stopping

    def remaining(self) -> timedelta:
        return self.time_left

    def report_progress(self, percent: int, note: str | None) -> None:
        self.progress.append((percent, note))

    def enqueue(self, job: Job, **options: Any) -> EnqueueResult:  # noqa: ANN401 - the producer's own options
        self.enqueued.append((job, options))
        return EnqueueResult("job-2")
