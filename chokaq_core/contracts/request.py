"""
A job with the caller's wishes for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from chokaq_core.contracts.job import Job
from chokaq_core.domain.value import Value


class JobRequest(Value):
    """
    A job object with options; None means the registration's default.
    """

    job: Job
    queue: str | None = None
    priority: int | None = None
    delay: timedelta | None = None
    due_at: datetime | None = None
    idempotency_key: str | None = None
    tags: str | None = None
    created_by: str | None = None
    job_id: str | None = None


class RawRequest(Value):
    """
    A job as type key and JSON text, with the same options.
    """

    type_key: str
    payload: str
    queue: str | None = None
    priority: int | None = None
    delay: timedelta | None = None
    due_at: datetime | None = None
    idempotency_key: str | None = None
    tags: str | None = None
    created_by: str | None = None
    job_id: str | None = None
