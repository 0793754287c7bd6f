"""
Between T-SQL's rows and the domain's values.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from chokaq_core.domain.circuit import Circuit, CircuitState
from chokaq_core.domain.failures import ErrorFacts
from chokaq_core.domain.job import ClaimedJob, Lease, Status
from chokaq_core.stores.records import Records

MAX_ID_CHARACTERS = 50
LONGEST_SPAN = timedelta(days=366 * 1_000)
"""Longer durations are cut to this one, so that no moment computed from them leaves the calendar."""

LONGEST_DELAY = timedelta(days=366 * 10_000)
"""Longer delays end in year 9999 all the same."""

_MICROSECOND = timedelta(microseconds=1)


def moment(value: datetime) -> datetime:
    """
    A moment as the driver gives it, told to be in UTC.
    """
    return value.replace(tzinfo=UTC)


def moment_or_none(value: datetime | None) -> datetime | None:
    """
    The same for a column that may be empty.
    """
    return None if value is None else moment(value)


def moment_text(at: datetime) -> str:
    """
    A moment as the server reads it whatever its language: 2030-05-10T12:00:00.000000.
    """
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


def span_micros(span: timedelta) -> int:
    """
    A duration as whole microseconds.
    """
    return max(-LONGEST_SPAN, min(span, LONGEST_SPAN)) // _MICROSECOND


def delay_parts(delay: timedelta | None) -> dict[str, int]:
    """
    A delay as days, seconds and microseconds, since T-SQL adds no more than an int of each.
    """
    bounded = min(delay, LONGEST_DELAY) if delay is not None else timedelta(0)
    return {"days": bounded.days, "seconds": bounded.seconds, "micros": bounded.microseconds}


def is_possible_id(job_id: str) -> bool:
    """
    Whether a job can bear this id. `=` pads with blanks and casts cut: others could meet a job that they do not mean.
    """
    return 0 < len(job_id) <= MAX_ID_CHARACTERS and all("!" <= character <= "~" for character in job_id)


def error_entry(error: ErrorFacts) -> str:
    """
    An error's part of an entry of AttemptErrors: JSON members without braces, free of line breaks.
    """
    return json.dumps({"type": error.type, "message": error.message})[1:-1] + "}"


def claimed_job(row: tuple[Any, ...], worker_id: str, now: datetime) -> ClaimedJob:
    """
    A row of the claim's answer.
    """
    (job_id, lease, queue, type_key, payload, status, attempt, interruptions, due, lifetime, by, trace, *rest) = row
    cancel_at, generation, is_probe = rest
    return ClaimedJob(
        lease=Lease(job_id, worker_id, lease),
        queue=queue,
        type_key=type_key,
        payload=payload,
        status=Status(status),
        attempt=attempt,
        interruptions=interruptions,
        due_at=moment(due),
        lifetime_start_at=moment(lifetime),
        claimed_at=now,
        created_by=by,
        trace_parent=trace,
        is_cancel_requested=cancel_at is not None,
        circuit_generation=generation,
        is_probe=bool(is_probe),
    )


def circuit(row: tuple[Any, ...]) -> Circuit:
    """
    A row of Circuits.
    """
    type_key, state, times, opened, reset, generation, job_id, worker_id, until = row
    return Circuit(
        type_key=type_key,
        state=CircuitState(state),
        failure_times=tuple(_iso_moment(at) for at in (times or "").split()),
        opened_at=moment_or_none(opened),
        reset_at=moment_or_none(reset),
        generation=generation,
        probe_job_id=job_id,
        probe_worker_id=worker_id,
        probe_until=moment_or_none(until),
    )


def _iso_moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def wake_span(micros: int | None) -> timedelta | None:
    """
    How long a delayed wake should wait, as the store granted it.
    """
    return None if micros is None else timedelta(microseconds=micros)


RECORDS = Records(moment, _iso_moment)
"""Reads rows of jobs."""
