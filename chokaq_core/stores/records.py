"""
Jobs out of a store's rows. Their columns stand in one order in every database; only times are written differently.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, AttemptError, DeadJob, HotJob, JobRecord, Status, status_of_dead
from chokaq_core.domain.listing import JobSummary, Pillar, last_line
from chokaq_core.domain.value import field_names
from chokaq_core.ports import ErrorGroup

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_SHARED = field_names(JobRecord)
_TIMES = ("due_at", "created_at", "started_at", "last_updated_at", "lifetime_start_at")


class Records:
    """
    Reads rows of one database.

    Args:
        moment: makes a moment in UTC of a time as a column has it.
        moment_in_json: the same for a time in the JSON of AttemptErrors.
    """

    def __init__(self, moment: Callable[[Any], datetime], moment_in_json: Callable[[Any], datetime]) -> None:
        self._moment = moment
        self._moment_in_json = moment_in_json

    def hot_job(self, row: tuple[Any, ...]) -> HotJob:
        """
        A row of JobsHot.
        """
        status, heartbeat, cancel_at, cancel_by, progress, note, is_ready = row[20:]
        return HotJob(
            **self._record(row),
            status=Status(status),
            heartbeat_at=self._or_none(heartbeat),
            cancel_requested_at=self._or_none(cancel_at),
            cancel_requested_by=cancel_by,
            progress=progress,
            progress_note=note,
            is_ready=bool(is_ready),
        )

    def archived_job(self, row: tuple[Any, ...]) -> ArchivedJob:
        """
        A row of JobsArchive.
        """
        finished, duration_ms, result, result_note = row[20:]
        return ArchivedJob(
            **self._record(row),
            finished_at=self._moment(finished),
            duration_ms=duration_ms,
            result=result,
            result_note=result_note,
        )

    def dead_job(self, row: tuple[Any, ...]) -> DeadJob:
        """
        A row of JobsDLQ.
        """
        reason, error_type, details, failed = row[20:]
        return DeadJob(
            **self._record(row),
            reason=FailureReason(reason),
            error_type=error_type,
            error_details=details,
            failed_at=self._moment(failed),
        )

    def summary(self, pillar: Pillar, row: tuple[Any, ...]) -> JobSummary:
        """
        A row of a list.
        """
        (job_id, queue, type_key, status, priority, attempt, lease, interruptions, tags, key, worker, by, *rest) = row
        (created, due, started, updated, ended, cancel, progress, note, duration_ms, reason, error_type, tail) = rest
        failure = None if reason is None else FailureReason(reason)
        return JobSummary(
            id=job_id,
            pillar=pillar,
            queue=queue,
            type_key=type_key,
            status=Status(status) if failure is None else status_of_dead(failure),
            priority=priority,
            attempt=attempt,
            lease_number=lease,
            interruptions=interruptions,
            tags=tags,
            idempotency_key=key,
            worker_id=worker,
            created_by=by,
            created_at=self._moment(created),
            due_at=self._moment(due),
            started_at=self._or_none(started),
            last_updated_at=self._moment(updated),
            ended_at=self._or_none(ended),
            cancel_requested_at=self._or_none(cancel),
            progress=progress,
            progress_note=note,
            duration_ms=duration_ms,
            reason=failure,
            error_type=error_type,
            error_line=last_line(tail),
        )

    def error_group(self, row: tuple[Any, ...]) -> ErrorGroup:
        """
        A row of the groups of dead jobs.
        """
        type_key, error_type, reason, jobs, first, last, job_id, tail = row
        return ErrorGroup(
            type_key=type_key,
            error_type=error_type,
            reason=FailureReason(reason),
            jobs=jobs,
            first_failed_at=self._moment(first),
            last_failed_at=self._moment(last),
            newest_job_id=job_id,
            error_line=last_line(tail),
        )

    def _record(self, row: tuple[Any, ...]) -> dict[str, Any]:
        """
        The columns that all pillars share, by the names of JobRecord.
        """
        values = dict(zip(_SHARED, row, strict=False))
        for name in _TIMES:
            values[name] = self._or_none(values[name])
        values["attempt_errors"] = self._attempt_errors(values["attempt_errors"])
        return values

    def _attempt_errors(self, text: str | None) -> tuple[AttemptError, ...]:
        # The name of a person who cancelled may stand in an entry with its control characters as they are.
        entries = json.loads(text, strict=False) if text else []
        return tuple(
            AttemptError(e["attempt"], self._moment_in_json(e["at"]), e["type"], e["message"]) for e in entries
        )

    def _or_none(self, value: object) -> datetime | None:
        return None if value is None else self._moment(value)
