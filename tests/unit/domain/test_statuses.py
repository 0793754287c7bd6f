from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, DeadJob, Status

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RECORD = {
    "id": "job-1",
    "queue": "default",
    "type_key": "invoice.render.v1",
    "payload": "{}",
    "tags": None,
    "idempotency_key": None,
    "priority": 10,
    "attempt": 1,
    "lease_number": 1,
    "interruptions": 0,
    "worker_id": None,
    "due_at": NOON,
    "created_at": NOON,
    "started_at": NOON,
    "last_updated_at": NOON,
    "lifetime_start_at": NOON,
    "attempt_errors": (),
    "trace_parent": None,
    "created_by": None,
    "last_modified_by": None,
}


@pytest.mark.parametrize(
    "status,number,label",
    [
        (Status.PENDING, 0, "Pending"),
        (Status.FETCHED, 1, "Fetched"),
        (Status.PROCESSING, 2, "Processing"),
        (Status.SUCCEEDED, 3, "Succeeded"),
        (Status.FAILED, 4, "Failed"),
        (Status.CANCELLED, 5, "Cancelled"),
        (Status.ZOMBIE, 6, "Zombie"),
    ],
)
def test_a_status_keeps_its_public_number_and_name(status: Status, number: int, label: str) -> None:
    assert (status.value, status.label) == (number, label)


@pytest.mark.parametrize(
    "reason,number,label",
    [
        (FailureReason.MAX_RETRIES_EXCEEDED, 0, "MaxRetriesExceeded"),
        (FailureReason.CANCELLED, 1, "Cancelled"),
        (FailureReason.ZOMBIE, 2, "Zombie"),
        (FailureReason.CIRCUIT_BREAKER_OPEN, 3, "CircuitBreakerOpen"),
        (FailureReason.REJECTED, 4, "Rejected"),
        (FailureReason.THROTTLED, 5, "Throttled"),
        (FailureReason.FATAL_ERROR, 6, "FatalError"),
        (FailureReason.TIMEOUT, 7, "Timeout"),
        (FailureReason.TRANSIENT, 8, "Transient"),
        (FailureReason.HEARTBEAT_FAILURE, 9, "HeartbeatFailure"),
        (FailureReason.RETRY_LIFETIME_EXPIRED, 10, "RetryLifetimeExpired"),
    ],
)
def test_a_failure_reason_keeps_its_public_number_and_name(reason: FailureReason, number: int, label: str) -> None:
    assert (reason.value, reason.label) == (number, label)


@pytest.mark.parametrize(
    "reason,status",
    [
        (FailureReason.MAX_RETRIES_EXCEEDED, Status.FAILED),
        (FailureReason.CANCELLED, Status.CANCELLED),
        (FailureReason.ZOMBIE, Status.ZOMBIE),
        (FailureReason.CIRCUIT_BREAKER_OPEN, Status.FAILED),
        (FailureReason.REJECTED, Status.FAILED),
        (FailureReason.THROTTLED, Status.FAILED),
        (FailureReason.FATAL_ERROR, Status.FAILED),
        (FailureReason.TIMEOUT, Status.FAILED),
        (FailureReason.TRANSIENT, Status.FAILED),
        (FailureReason.HEARTBEAT_FAILURE, Status.FAILED),
        (FailureReason.RETRY_LIFETIME_EXPIRED, Status.FAILED),
    ],
)
def test_a_dead_job_reports_as_cancelled_zombie_or_else_failed(reason: FailureReason, status: Status) -> None:
    dead = DeadJob(**RECORD, reason=reason, error_type=None, error_details=None, failed_at=NOON)  # type: ignore[arg-type]
    assert dead.status is status


def test_an_archived_job_reports_as_succeeded() -> None:
    archived = ArchivedJob(**RECORD, finished_at=NOON, duration_ms=12.5, result=None, result_note=None)  # type: ignore[arg-type]
    assert archived.status is Status.SUCCEEDED
