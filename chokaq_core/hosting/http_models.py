"""
What comes in and goes out over HTTP, as models that validate and describe it.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)

from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.durations import parse_duration
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, AttemptError, DeadJob, HotJob, Status
from chokaq_core.hosting import json_text
from chokaq_core.policy.envelope import QUEUE_NAME

MAX_JOBS_IN_A_BATCH = 1_000


def _moment(value: object) -> object:
    """
    Only text with a zone is a moment: epoch numbers and naive times could be read in two ways.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError("must be an RFC 3339 text such as 2030-05-10T12:00:00Z")
    if isinstance(value, str) and "T" not in value.upper():
        raise ValueError("must be an RFC 3339 text such as 2030-05-10T12:00:00Z")
    return value


def _duration(value: object) -> object:
    if value is None or isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError("must be a duration text such as 00:15:00")  # noqa: TRY004 - pydantic reports ValueErrors only
    return parse_duration(value)


Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
_MOMENT = WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]})
_DURATION = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string", "pattern": r"^(\d{1,7}\.)?([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,7})?$"},
            {"type": "null"},
        ]
    }
)
MomentIn = Annotated[AwareDatetime | None, BeforeValidator(_moment), _MOMENT]
"""A moment in a request, with its zone, or null."""
DurationIn = Annotated[timedelta | None, BeforeValidator(_duration), _DURATION]
"""A duration in a request, or null."""


class EnqueueBody(BaseModel):
    """
    One job to enqueue.
    """

    # The rules in `json_schema_extra` are only described here. They are judged with the job, as on every other way in.
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    type: StrictStr = Field(description="Registered type key, such as `email.send.v1`.")
    payload: Any = Field(description="The job's payload: JSON that fits the type's model.")
    queue: StrictStr | None = Field(
        None,
        description="The queue; the type's default if left out.",
        json_schema_extra={"pattern": f"^{QUEUE_NAME.pattern}$"},
    )
    priority: StrictInt | None = Field(
        None, description="Higher first.", json_schema_extra={"minimum": 0, "maximum": 1_000_000}
    )
    delay: DurationIn = Field(
        None, description="Wait before the first run, `[d.]hh:mm:ss`; not together with `due_at`."
    )
    due_at: MomentIn = Field(
        None, description="Earliest first run, RFC 3339 with a zone; one in the past counts as now."
    )
    idempotency_key: StrictStr | None = Field(
        None,
        description="Held while the job is active; without blanks around it.",
        json_schema_extra={"minLength": 1, "maxLength": 255},
    )
    tags: StrictStr | None = Field(None, description="Free text for searches.", json_schema_extra={"maxLength": 1000})
    created_by: StrictStr | None = Field(None, description="Who asks.", json_schema_extra={"maxLength": 100})
    id: StrictStr | None = Field(
        None, description="An id of the caller's own.", json_schema_extra={"pattern": "^[A-Za-z0-9._~-]{1,50}$"}
    )

    def to_request(self) -> RawRequest:
        """
        The request for the producer.
        """
        return RawRequest(
            type_key=self.type,
            payload=json_text.write(self.payload),
            queue=self.queue,
            priority=self.priority,
            delay=self.delay,
            due_at=self.due_at,
            idempotency_key=self.idempotency_key,
            tags=self.tags,
            created_by=self.created_by,
            job_id=self.id,
        )


class Accepted(BaseModel):
    """
    A job that was accepted: stored now, or already active under the same idempotency key.
    """

    id: str
    duplicate: bool = False


class Cancelled(BaseModel):
    """
    A job that waited and is dead now.
    """

    id: str
    status: Literal["Cancelled"] = "Cancelled"


class CancelRequested(BaseModel):
    """
    A job that runs and was told to stop.
    """

    id: str
    status: Literal["Processing"] = "Processing"
    cancel_requested: Literal[True] = True


class FieldError(BaseModel):
    """
    One rule that a field breaks.
    """

    field: str
    rule: str
    code: str


class StoredEntry(BaseModel):
    """
    A job of a batch that was accepted.
    """

    status: Literal[200, 202]
    id: str
    duplicate: bool


class RefusedEntry(BaseModel):
    """
    A job of a batch that was refused.
    """

    status: Literal[400, 409, 413, 422]
    errors: list[FieldError]


class BatchAnswer(BaseModel):
    """
    One entry for each job, in order.
    """

    jobs: list[StoredEntry | RefusedEntry]


class Problem(BaseModel):
    """
    An error, RFC 9457.
    """

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = Field(default=[], description="One entry for each field that breaks a rule.")
    first_id: str = Field(default="", description="The job that holds the idempotency key.")
    problems: list[str] = Field(default=[], description="Settings that are invalid, with what to change.")


class HealthCheck(BaseModel):
    """
    One check, with what it was judged by.
    """

    status: Literal["Healthy", "Degraded", "Unhealthy"]
    description: str
    data: dict[str, Any]


class Health(BaseModel):
    """
    The whole is as bad as its worst check.
    """

    status: Literal["Healthy", "Degraded", "Unhealthy"]
    checks: dict[str, HealthCheck]


class Liveness(BaseModel):
    """
    The process answers.
    """

    status: Literal["Healthy"]


class Failure(BaseModel):
    """
    Why a job ended in the DLQ.
    """

    reason: str = Field(json_schema_extra={"enum": [reason.label for reason in FailureReason]})
    error_type: str | None
    details: str | None


class Attempt(BaseModel):
    """
    One failed attempt.
    """

    attempt: int
    at: Moment
    error_type: str
    message: str


class Progress(BaseModel):
    """
    How far a running job says it is.
    """

    percent: int
    note: str | None


class JobView(BaseModel):
    """
    A job from any pillar. Times are RFC 3339 in UTC.
    """

    id: str
    type: str
    queue: str
    status: str = Field(json_schema_extra={"enum": [*dict.fromkeys(status.label for status in Status)]})
    attempts: int
    priority: int
    tags: str | None
    idempotency_key: str | None
    created_by: str | None
    created_at: Moment
    due_at: Moment
    started_at: Moment | None
    finished_at: Moment | None = None
    failed_at: Moment | None = None
    last_updated_at: Moment
    worker_id: str | None
    interruptions: int
    cancel_requested_at: Moment | None = None
    progress: Progress | None = None
    duration_ms: float | None = None
    result: Any = None
    result_note: str | None = None
    failure: Failure | None = None
    attempt_errors: list[Attempt]


def job_view(job: HotJob | ArchivedJob | DeadJob) -> JobView:
    """
    A job as its caller may see it; the payload stays inside.
    """
    view = JobView(
        id=job.id,
        type=job.type_key,
        queue=job.queue,
        status=job.status.label,
        attempts=job.attempt,
        priority=job.priority,
        tags=job.tags,
        idempotency_key=job.idempotency_key,
        created_by=job.created_by,
        created_at=rfc3339(job.created_at),
        due_at=rfc3339(job.due_at),
        started_at=_rfc3339_or_none(job.started_at),
        last_updated_at=rfc3339(job.last_updated_at),
        worker_id=job.worker_id,
        interruptions=job.interruptions,
        attempt_errors=[attempt_view(error) for error in job.attempt_errors],
    )
    return view.model_copy(update=_own_fields(job))


def rfc3339(at: datetime) -> str:
    """
    A UTC moment with Z.
    """
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _own_fields(job: HotJob | ArchivedJob | DeadJob) -> dict[str, object]:
    match job:
        case HotJob():
            progress = None if job.progress is None else Progress(percent=job.progress, note=job.progress_note)
            return {"progress": progress, "cancel_requested_at": _rfc3339_or_none(job.cancel_requested_at)}
        case ArchivedJob():
            return {
                "finished_at": rfc3339(job.finished_at),
                "duration_ms": job.duration_ms,
                "result": None if job.result is None else json.loads(job.result),
                "result_note": job.result_note,
            }
        case DeadJob():
            failure = Failure(reason=job.reason.label, error_type=job.error_type, details=job.error_details)
            return {"failed_at": rfc3339(job.failed_at), "failure": failure}


def attempt_view(error: AttemptError) -> Attempt:
    """
    A failed attempt.
    """
    return Attempt(attempt=error.attempt, at=rfc3339(error.at), error_type=error.type, message=error.message)


def _rfc3339_or_none(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)
