"""
Between SQLite's rows and the domain's values.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from chokaq_core.domain.job import ClaimedJob, Lease, Status
from chokaq_core.stores.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATUSES = tuple(Status)
LONG_TEXT = 10_000
"""Characters from which on a text is not put into JSON with others."""


def json_text(values: object) -> str:
    """
    JSON for a statement that takes many values as one parameter.
    """
    return msgspec.json.encode(values).decode()


def json_values(text: str) -> Any:  # noqa: ANN401 - whatever the statement has put together
    """
    What a statement answers as one row of JSON.
    """
    return msgspec.json.decode(text)


def micros(at: datetime) -> int:
    """
    A moment as whole microseconds since 1970.
    """
    return (at - _EPOCH) // _MICROSECOND


def span_micros(span: timedelta) -> int:
    """
    A duration as whole microseconds.
    """
    return span // _MICROSECOND


def moment(value: int) -> datetime:
    """
    Microseconds since 1970 as a moment in UTC.
    """
    return _EPOCH + timedelta(microseconds=value)


def moment_or_none(value: int | None) -> datetime | None:
    """
    The same for a column that may be empty.
    """
    return None if value is None else moment(value)


def claimed_jobs(rows: Iterable[Sequence[Any]], worker_id: str, now: int) -> Iterator[ClaimedJob]:
    """
    Rows of the claim's answer, each behind its place in it.
    """
    moments, claimed_at = _Moments(), moment(now)
    for _, job_id, lease, queue, type_key, payload, status, attempt, breaks, due, lifetime, by, trace, mark in rows:
        yield ClaimedJob(
            lease=Lease(job_id, worker_id, lease),
            queue=queue,
            type_key=type_key,
            payload=payload,
            status=_STATUSES[status],
            attempt=attempt,
            interruptions=breaks,
            due_at=moments[due],
            lifetime_start_at=moments[lifetime],
            claimed_at=claimed_at,
            created_by=by,
            trace_parent=trace,
            is_cancel_requested=mark is not None,
        )


class _Moments(dict[int, datetime]):
    """
    Moments by their microseconds, each made once: jobs of one claim share many.
    """

    def __missing__(self, value: int) -> datetime:
        at = self[value] = moment(value)
        return at


RECORDS = Records(moment, moment)
"""Reads rows of jobs."""
