"""
What the Deck's routes answer. Times are RFC 3339 in UTC; a `further` that is null means the end.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import Pillar
from chokaq_core.hosting.http_models import Attempt, Moment
from chokaq_core.operations.commands import Verb

StatusName = Annotated[str, WithJsonSchema({"enum": [*dict.fromkeys(status.label for status in Status)]})]
ReasonName = Annotated[str, WithJsonSchema({"enum": [reason.label for reason in FailureReason]})]


class Me(BaseModel):
    """
    Who the caller is to the Deck.
    """

    name: str
    role: Literal["read", "operate"]


class Count(BaseModel):
    """
    How many, up to 10 000; with a filter, among the newest 2 000.
    """

    count: int
    is_complete: bool = Field(description="False when there is more than was looked at.")
    text: str = Field(description="For people: `12`, `10 000+`.")


class PillarTotals(BaseModel):
    """
    Jobs in each pillar.
    """

    hot: Count
    archive: Count
    dlq: Count


class LifetimeTotals(BaseModel):
    """
    Counters over all times and queues.
    """

    succeeded: int
    failed: int
    retried: int


class RateView(BaseModel):
    """
    What ended lately.
    """

    seconds: int
    succeeded: int
    failed: int
    per_second: float
    failure_rate: float | None = Field(description="0 to 1; null when nothing ended.")


class SeriesView(BaseModel):
    """
    What ended in each second, oldest first.
    """

    start_at: Moment
    succeeded: list[int]
    failed: list[int]


class Overview(BaseModel):
    """
    How things stand.
    """

    now: Moment
    pillars: PillarTotals
    totals: LifetimeTotals
    last_minute: RateView
    last_five_minutes: RateView
    series: SeriesView = Field(description="The last five minutes, second by second.")


class QueueView(BaseModel):
    """
    A queue's controls, and what waits and runs in it.
    """

    name: str
    is_paused: bool
    is_active: bool
    max_workers: int | None = Field(description="Null: no limit.")
    zombie_timeout: str | None = Field(description="`[d.]hh:mm:ss`; null: `Recovery.ProcessingZombieTimeout`.")
    pending: int = Field(description="Waiting jobs; of deep queues the first are counted.")
    is_pending_complete: bool = Field(description="False when more jobs wait than were counted.")
    running: int
    lag_seconds: float
    lag_status: Literal["Healthy", "Degraded", "Unhealthy"] = Field(description="By the `Health` thresholds.")
    succeeded: int
    failed: int
    retried: int


class QueueList(BaseModel):
    """
    All queues by name.
    """

    queues: list[QueueView]


class CircuitView(BaseModel):
    """
    A type's circuit.
    """

    type: str
    state: Literal["closed", "open", "half_open"]
    failures: int = Field(description="In the window, while closed.")
    generation: int
    opened_at: Moment | None
    reset_at: Moment | None = Field(description="When the next job of the type may probe.")
    probe_job_id: str | None
    probe_worker_id: str | None
    probe_until: Moment | None


class CircuitList(BaseModel):
    """
    Circuits that have a row; a type without one is closed.
    """

    circuits: list[CircuitView]


class WorkerView(BaseModel):
    """
    A worker, as it last told of itself.
    """

    worker_id: str
    host: str
    state: Literal["running", "draining", "stopped"]
    is_alive: bool = Field(description="Not stopped, and beat within `Health.WorkerHeartbeatTimeout`.")
    capacity: int
    active: int
    abandoned: int = Field(description="Slots held by handlers that ignore their timeout.")
    started_at: Moment | None
    heartbeat_at: Moment | None
    heartbeat_age_seconds: float | None


class TimerView(BaseModel):
    """
    A timer of the app.
    """

    name: str
    last_started_at: Moment | None
    last_succeeded_at: Moment | None
    last_outcome: str | None


class WorkerList(BaseModel):
    """
    Workers, the latest heartbeat first, and timers by name.
    """

    now: Moment
    workers: list[WorkerView]
    timers: list[TimerView]


class JobRow(BaseModel):
    """
    A job as a list shows it.
    """

    id: str
    pillar: Pillar
    type: str
    queue: str
    status: StatusName
    reason: ReasonName | None
    error_type: str | None
    error_line: str | None = Field(description="The last line of the error.")
    attempts: int
    priority: int
    tags: str | None
    idempotency_key: str | None
    created_by: str | None
    created_at: Moment
    due_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    last_updated_at: Moment
    duration_ms: float | None
    worker_id: str | None
    interruptions: int
    progress: int | None = Field(description="Percent.")
    progress_note: str | None
    cancel_requested_at: Moment | None


class JobList(BaseModel):
    """
    A page of a list.
    """

    now: Moment
    jobs: list[JobRow]
    further: str | None = Field(
        description="The next page's `cursor`. A page may be short, even empty, and yet not the last."
    )


class JobDetail(JobRow):
    """
    Everything about one job.
    """

    payload: str = Field(description="JSON text exactly as it is stored.")
    result: str | None = Field(description="JSON text exactly as it is stored.")
    result_note: str | None
    error_details: str | None = Field(description="Message and traceback.")
    attempt_errors: list[Attempt] = Field(description="The last ten failed attempts, oldest first.")
    lifetime_start_at: Moment
    heartbeat_at: Moment | None
    cancel_requested_by: str | None
    last_modified_by: str | None
    trace_parent: str | None
    lease_number: int
    commands: list[Verb] = Field(description="What can be done to it as it is now.")


class EffectView(BaseModel):
    """
    What would happen to some of the jobs.
    """

    effect: str
    jobs: int


class RefusalView(BaseModel):
    """
    Jobs that would be left alone, and why.
    """

    why: str
    jobs: int
    sample_ids: list[str]


class PreviewView(BaseModel):
    """
    What a command would do now.
    """

    command: Verb
    at: Moment
    touched: int = Field(description="Jobs that would be changed.")
    samples: list[JobRow] = Field(description="Up to ten of them.")
    effects: list[EffectView]
    refusals: list[RefusalView]
    further: str | None = Field(description="The `cursor` for the rest of a filter's jobs.")
    token: str = Field(description="To be sent along with the command, within 15 minutes.")


class ResultView(BaseModel):
    """
    What a command came to for one job.
    """

    id: str
    outcome: Literal["dead_lettered", "marked", "resurrected", "key_held", "edited", "purged", "stale"]
    is_done: bool
    why: str | None = Field(description="Why nothing was done.")
    holder_id: str | None = Field(description="The active job that holds its idempotency key.")


class CommandAnswer(BaseModel):
    """
    What a command came to, job by job in order.
    """

    command: Verb
    done: int
    skipped: int
    has_set_changed: bool = Field(description="The jobs were not the ones of the preview any more.")
    results: list[ResultView]
    further: str | None = Field(description="The `cursor` for the rest of a filter's jobs.")


class CommandRefused(BaseModel):
    """
    A problem, RFC 9457: nothing was done. With `preview`, the set had changed; with `result`, the one job was not fit.
    """

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    preview: PreviewView | None = None
    result: ResultView | None = None


class ErrorGroupView(BaseModel):
    """
    Dead jobs of one type, error type and reason.
    """

    type: str
    error_type: str | None
    reason: ReasonName
    jobs: int
    first_failed_at: Moment
    last_failed_at: Moment
    newest_job_id: str
    error_line: str | None


class ErrorGroups(BaseModel):
    """
    The largest groups among the newest dead jobs.
    """

    looked_at: int = Field(description="At most so many of the newest dead jobs were looked at.")
    is_complete: bool = Field(description="Whether these are all.")
    groups: list[ErrorGroupView]


class LogEntryView(BaseModel):
    """
    What somebody did.
    """

    number: int
    at: Moment
    actor: str
    command: str
    target: str = Field(description="Ids, filter or queue as JSON text, cut when long.")
    affected: int
    outcome: str


class LogPage(BaseModel):
    """
    Entries, newest first.
    """

    entries: list[LogEntryView]
    further: int | None = Field(description="The next page's `before`.")


class EventView(BaseModel):
    """
    Something that happened in this process.
    """

    number: int
    at: Moment
    level: Literal["info", "warning", "error"]
    text: str
    fields: dict[str, Any]


class EventList(BaseModel):
    """
    Recent events of the process that answered, oldest first; in Azure other instances have events of their own.
    """

    process: str = Field(description="Another one than before: begin with `after` 0 again.")
    last: int = Field(description="The next call's `after`.")
    events: list[EventView]
