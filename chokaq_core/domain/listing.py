"""
Jobs as lists show them: which ones are asked for, in what order, from where on.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from chokaq_core.domain.failures import FailureReason
    from chokaq_core.domain.job import Status

ERROR_TAIL_CHARACTERS = 400
"""Lists look at no more of an error's text than these last characters, since a traceback names the error at its end."""


class Pillar(StrEnum):
    """
    One of the three tables that hold jobs: active, succeeded, ended badly.
    """

    HOT = "hot"
    ARCHIVE = "archive"
    DLQ = "dlq"


class JobFilter(Value):
    """
    Which jobs of a pillar are meant; None leaves a field out. All that is given must hold.

    Texts are compared by exact characters, letter case included; no character has a power of its own.

    Attributes:
        status: of active jobs only.
        reason: of dead jobs only.
        error_text: a part of a dead job's error: its type, message or traceback.
        search: a part of the id, type key, tags or idempotency key.
        from_at: listed at this time or later; see `Position`.
        to_at: listed at this time or earlier.
    """

    queue: str | None = None
    type_key: str | None = None
    status: Status | None = None
    reason: FailureReason | None = None
    error_text: str | None = None
    search: str | None = None
    from_at: datetime | None = None
    to_at: datetime | None = None


class Position(Value):
    """
    A job's place in its pillar's list: the time that the pillar is listed by, then the id.

    That time is when an active job was created, a succeeded one finished, a dead one failed. It does not change while
    the job stays in the pillar, so that pages hold still under inserts and deletes.
    """

    at: datetime
    job_id: str


class JobQuery(Value):
    """
    A list to read: newest first unless asked otherwise, from the beginning or from after a position on.
    """

    pillar: Pillar
    filter: JobFilter = field(default_factory=JobFilter)
    is_oldest_first: bool = False
    after: Position | None = None


class JobSummary(Value):
    """
    A job as a list shows it: everything but payload, result and the whole error. What its pillar does not know is None.

    Attributes:
        ended_at: when it finished or failed.
        error_line: the last line of its error.
    """

    id: str
    pillar: Pillar
    queue: str
    type_key: str
    status: Status
    priority: int
    attempt: int
    lease_number: int
    interruptions: int
    tags: str | None
    idempotency_key: str | None
    worker_id: str | None
    created_by: str | None
    created_at: datetime
    due_at: datetime
    started_at: datetime | None
    last_updated_at: datetime
    ended_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    progress: int | None = None
    progress_note: str | None = None
    duration_ms: float | None = None
    reason: FailureReason | None = None
    error_type: str | None = None
    error_line: str | None = None

    @property
    def position(self) -> Position:
        """
        Its place in its pillar's list.
        """
        return Position(self.created_at if self.ended_at is None else self.ended_at, self.id)


def last_line(text: str | None) -> str | None:
    """
    The last line of a text that says anything.
    """
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else None
