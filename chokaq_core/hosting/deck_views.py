"""
From the values of the core to what the Deck's routes answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from chokaq_core.domain.circuit import CircuitState
from chokaq_core.domain.durations import format_duration
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob
from chokaq_core.hosting.deck_models import (
    CircuitView,
    CommandAnswer,
    Count,
    EffectView,
    ErrorGroupView,
    EventView,
    JobDetail,
    JobRow,
    LogEntryView,
    PreviewView,
    QueueView,
    RateView,
    RefusalView,
    ResultView,
    TimerView,
    WorkerView,
)
from chokaq_core.hosting.http_models import attempt_view, rfc3339
from chokaq_core.operations.commands import Verb
from chokaq_core.operations.eligibility import candidates
from chokaq_core.policy.health import lag_status
from chokaq_core.ports import WorkerState

if TYPE_CHECKING:
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.domain.listing import JobSummary
    from chokaq_core.domain.operator_log import LogEntry
    from chokaq_core.operations.cursors import Walk
    from chokaq_core.operations.overview import Rate
    from chokaq_core.operations.results import CommandResult, JobResult, Preview
    from chokaq_core.policy.health import HealthRules
    from chokaq_core.ports import ErrorGroup, JobCount, QueueRow, TimerRow, Totals, WorkerFacts
    from chokaq_core.telemetry.recent import RecentEvent

MAX_TARGET_CHARACTERS = 2_000


_CIRCUIT_STATES: dict[CircuitState, Literal["closed", "open", "half_open"]] = {
    CircuitState.CLOSED: "closed",
    CircuitState.OPEN: "open",
    CircuitState.HALF_OPEN: "half_open",
}


def moment_or_none(at: datetime | None) -> str | None:
    """
    A moment as text.
    """
    return None if at is None else rfc3339(at)


def count_view(count: JobCount) -> Count:
    """
    A count with its text for people.
    """
    digits = f"{count.count:,}".replace(",", " ")
    return Count(count=count.count, is_complete=count.is_complete, text=digits + ("" if count.is_complete else "+"))


def rate_view(rate: Rate) -> RateView:
    """
    A rate.
    """
    return RateView(
        seconds=rate.seconds,
        succeeded=rate.succeeded,
        failed=rate.failed,
        per_second=rate.per_second,
        failure_rate=rate.failure_rate,
    )


def queue_view(row: QueueRow, totals: Totals, rules: HealthRules) -> QueueView:
    """
    A queue with its counters.
    """
    return QueueView(
        name=row.name,
        is_paused=row.is_paused,
        is_active=row.is_active,
        max_workers=row.max_workers,
        zombie_timeout=None if row.zombie_timeout is None else format_duration(row.zombie_timeout),
        pending=row.pending,
        is_pending_complete=row.is_pending_complete,
        running=row.running,
        lag_seconds=row.lag.total_seconds(),
        lag_status=lag_status(row.lag, rules).value,
        succeeded=totals.succeeded,
        failed=totals.failed,
        retried=totals.retried,
    )


def circuit_view(circuit: Circuit) -> CircuitView:
    """
    A circuit.
    """
    return CircuitView(
        type=circuit.type_key,
        state=_CIRCUIT_STATES[circuit.state],
        failures=len(circuit.failure_times),
        generation=circuit.generation,
        opened_at=moment_or_none(circuit.opened_at),
        reset_at=moment_or_none(circuit.reset_at),
        probe_job_id=circuit.probe_job_id,
        probe_worker_id=circuit.probe_worker_id,
        probe_until=moment_or_none(circuit.probe_until),
    )


def worker_view(worker: WorkerFacts, now: datetime, rules: HealthRules) -> WorkerView:
    """
    A worker, judged alive or not as the health check does.
    """
    age = None if worker.heartbeat_at is None else now - worker.heartbeat_at
    is_there = worker.state is not WorkerState.STOPPED
    return WorkerView(
        worker_id=worker.worker_id,
        host=worker.host,
        state=worker.state.value,
        is_alive=is_there and age is not None and age <= rules.worker_heartbeat_timeout,
        capacity=worker.capacity,
        active=worker.active,
        abandoned=worker.abandoned,
        started_at=moment_or_none(worker.started_at),
        heartbeat_at=moment_or_none(worker.heartbeat_at),
        heartbeat_age_seconds=None if age is None else age.total_seconds(),
    )


def timer_view(name: str, row: TimerRow) -> TimerView:
    """
    A timer.
    """
    return TimerView(
        name=name,
        last_started_at=moment_or_none(row.last_started_at),
        last_succeeded_at=moment_or_none(row.last_succeeded_at),
        last_outcome=row.last_outcome,
    )


def job_row(job: JobSummary) -> JobRow:
    """
    A job of a list.
    """
    return JobRow(
        id=job.id,
        pillar=job.pillar,
        type=job.type_key,
        queue=job.queue,
        status=job.status.label,
        reason=None if job.reason is None else job.reason.label,
        error_type=job.error_type,
        error_line=job.error_line,
        attempts=job.attempt,
        priority=job.priority,
        tags=job.tags,
        idempotency_key=job.idempotency_key,
        created_by=job.created_by,
        created_at=rfc3339(job.created_at),
        due_at=rfc3339(job.due_at),
        started_at=moment_or_none(job.started_at),
        ended_at=moment_or_none(job.ended_at),
        last_updated_at=rfc3339(job.last_updated_at),
        duration_ms=job.duration_ms,
        worker_id=job.worker_id,
        interruptions=job.interruptions,
        progress=job.progress,
        progress_note=job.progress_note,
        cancel_requested_at=moment_or_none(job.cancel_requested_at),
    )


def job_detail(job: HotJob | ArchivedJob | DeadJob, summary: JobSummary) -> JobDetail:
    """
    Everything about one job, given whole and as a list shows it.
    """
    hot = job if isinstance(job, HotJob) else None
    archived = job if isinstance(job, ArchivedJob) else None
    return JobDetail(
        **job_row(summary).model_dump(),
        payload=job.payload,
        result=archived.result if archived is not None else None,
        result_note=archived.result_note if archived is not None else None,
        error_details=job.error_details if isinstance(job, DeadJob) else None,
        attempt_errors=[attempt_view(error) for error in job.attempt_errors],
        lifetime_start_at=rfc3339(job.lifetime_start_at),
        heartbeat_at=moment_or_none(hot.heartbeat_at) if hot is not None else None,
        cancel_requested_by=hot.cancel_requested_by if hot is not None else None,
        last_modified_by=job.last_modified_by,
        trace_parent=job.trace_parent,
        lease_number=job.lease_number,
        commands=[verb for verb in Verb if candidates(verb, [job.id], {job.id: summary}, {})[0].why_not is None],
    )


def preview_view(preview: Preview, walk: Walk | None) -> PreviewView:
    """
    A preview; with the list that a filter means, also where to go on in it.
    """
    return PreviewView(
        command=preview.verb,
        at=rfc3339(preview.at),
        touched=preview.touched,
        samples=[job_row(job) for job in preview.samples],
        effects=[EffectView(effect=effect, jobs=jobs) for effect, jobs in preview.effects.items()],
        refusals=[RefusalView(why=r.why, jobs=r.jobs, sample_ids=list(r.sample_ids)) for r in preview.refusals],
        further=walk.cursor(preview.further, preview.at) if walk is not None else None,
        token=preview.token,
    )


def command_answer(result: CommandResult, walk: Walk | None) -> CommandAnswer:
    """
    What a command came to; with the list that a filter means, also where to go on in it.
    """
    return CommandAnswer(
        command=result.verb,
        done=result.done,
        skipped=len(result.results) - result.done,
        has_set_changed=result.has_set_changed,
        results=[result_view(job) for job in result.results],
        further=walk.cursor(result.further, result.at) if walk is not None else None,
    )


def result_view(result: JobResult) -> ResultView:
    """
    What a command came to for one job.
    """
    return ResultView.model_validate(
        {
            "id": result.job_id,
            "outcome": str(result.outcome),
            "is_done": result.is_done,
            "why": result.why,
            "holder_id": result.holder_id,
        }
    )


def error_group_view(group: ErrorGroup) -> ErrorGroupView:
    """
    A group of errors.
    """
    return ErrorGroupView(
        type=group.type_key,
        error_type=group.error_type,
        reason=group.reason.label,
        jobs=group.jobs,
        first_failed_at=rfc3339(group.first_failed_at),
        last_failed_at=rfc3339(group.last_failed_at),
        newest_job_id=group.newest_job_id,
        error_line=group.error_line,
    )


def log_entry_view(entry: LogEntry) -> LogEntryView:
    """
    An entry of the operator log.
    """
    is_long = len(entry.target) > MAX_TARGET_CHARACTERS
    return LogEntryView(
        number=entry.number,
        at=rfc3339(entry.at),
        actor=entry.actor,
        command=entry.command,
        target=entry.target[:MAX_TARGET_CHARACTERS] + ("…" if is_long else ""),
        affected=entry.affected,
        outcome=entry.outcome,
    )


def event_view(event: RecentEvent) -> EventView:
    """
    An event of this process.
    """
    return EventView.model_validate(
        {
            "number": event.number,
            "at": rfc3339(event.at),
            "level": event.level,
            "text": event.text,
            "fields": dict(event.fields),
        }
    )
