"""
A job as it is stored, claimed and remembered.
"""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from chokaq_core.domain.failures import FailureReason

DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 10


class Status(IntEnum):
    """
    A job's status. 0 to 2 are stored in JobsHot; 3 to 6 are what Archive and DLQ rows report as.
    """

    PENDING = 0
    FETCHED = 1
    PROCESSING = 2
    SUCCEEDED = 3
    FAILED = 4
    CANCELLED = 5
    ZOMBIE = 6

    @property
    def label(self) -> str:
        """
        The public name: `Pending`, `Succeeded` and so on.
        """
        return self.name.capitalize()


class Place(StrEnum):
    """
    Where a job can be found: a pillar, and within Hot its status.
    """

    ABSENT = "absent"
    PENDING = "pending"
    FETCHED = "fetched"
    PROCESSING = "processing"
    ARCHIVE = "archive"
    DLQ = "dlq"


class Lease(Value):
    """
    The right of one worker to run and finish one job. The number rises with every claim and is never reset.
    """

    job_id: str
    worker_id: str
    number: int


class NewJob(Value):
    """
    A checked job on its way into the store.

    At most one of `delay` and `due_at` is set; both None means due at once.
    """

    id: str
    type_key: str
    payload: str
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    delay: timedelta | None = None
    due_at: datetime | None = None
    idempotency_key: str | None = None
    tags: str | None = None
    created_by: str | None = None
    trace_parent: str | None = None

    @property
    def is_due_at_once(self) -> bool:
        """
        Whether it asks for no wait, so that it may run as soon as it is stored.
        """
        return self.due_at is None and not self.delay


class ClaimedJob(Value):
    """
    A job as its claim answers it: all that running and settling it needs.

    Attributes:
        circuit_generation: of its type's circuit when it was claimed.
        is_probe: whether it is the one job that an open circuit lets through.
    """

    lease: Lease
    queue: str
    type_key: str
    payload: str
    status: Status
    attempt: int
    interruptions: int
    due_at: datetime
    lifetime_start_at: datetime
    claimed_at: datetime
    created_by: str | None
    trace_parent: str | None
    is_cancel_requested: bool = False
    circuit_generation: int = 0
    is_probe: bool = False


class AttemptError(Value):
    """
    One failed attempt as the job remembers it.
    """

    attempt: int
    at: datetime
    type: str
    message: str


class JobRecord(Value):
    """
    What Hot, Archive and DLQ rows have in common.
    """

    id: str
    queue: str
    type_key: str
    payload: str
    tags: str | None
    idempotency_key: str | None
    priority: int
    attempt: int
    lease_number: int
    interruptions: int
    worker_id: str | None
    due_at: datetime
    created_at: datetime
    started_at: datetime | None
    last_updated_at: datetime
    lifetime_start_at: datetime
    attempt_errors: tuple[AttemptError, ...]
    trace_parent: str | None
    created_by: str | None
    last_modified_by: str | None


class HotJob(JobRecord):
    """
    An active job: pending, fetched or processing.
    """

    status: Status
    heartbeat_at: datetime | None
    cancel_requested_at: datetime | None
    cancel_requested_by: str | None
    progress: int | None
    progress_note: str | None
    is_ready: bool


class ArchivedJob(JobRecord):
    """
    A job that succeeded.
    """

    finished_at: datetime
    duration_ms: float
    result: str | None
    result_note: str | None

    @property
    def status(self) -> Status:
        """
        Always Succeeded.
        """
        return Status.SUCCEEDED


class DeadJob(JobRecord):
    """
    A job that ended badly and waits for a person.
    """

    reason: FailureReason
    error_type: str | None
    error_details: str | None
    failed_at: datetime

    @property
    def status(self) -> Status:
        """
        Cancelled or Zombie for those two reasons, else Failed.
        """
        return status_of_dead(self.reason)


def status_of_dead(reason: FailureReason) -> Status:
    """
    What a dead job reports as: Cancelled or Zombie for those two reasons, else Failed.
    """
    return {"CANCELLED": Status.CANCELLED, "ZOMBIE": Status.ZOMBIE}.get(reason.name, Status.FAILED)


class EnqueueResult(Value):
    """
    What became of an accepted job: its id, and whether an active job already held its idempotency key.
    """

    job_id: str
    is_duplicate: bool = False


_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The digit that holds two bits of RFC 9562's variant, by the random digit whose other bits it keeps."""


def new_job_id() -> str:
    """
    A fresh id whose order follows its time of creation (UUID version 7, RFC 9562, 36 characters).

    Ids that grow with time keep inserts at the right edge of the primary key's index.
    """
    time_part = f"{time.time_ns() // 1_000_000:012x}"
    noise = os.urandom(10).hex()
    return f"{time_part[:8]}-{time_part[8:]}-7{noise[:3]}-{_VARIANTS[noise[3]]}{noise[4:7]}-{noise[7:19]}"
