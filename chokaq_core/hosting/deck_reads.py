"""
The Deck's routes that look: each function answers one route of `deck_routes`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import azure.functions as func
from pydantic import BaseModel, ValidationError

from chokaq_core.domain.access import Role
from chokaq_core.domain.listing import JobFilter, Pillar
from chokaq_core.hosting import http_health
from chokaq_core.hosting.answers import answer
from chokaq_core.hosting.bodies import refusal_of
from chokaq_core.hosting.deck_models import (
    CircuitList,
    Count,
    ErrorGroups,
    EventList,
    JobDetail,
    JobList,
    LifetimeTotals,
    LogPage,
    Me,
    Overview,
    PillarTotals,
    QueueList,
    SeriesView,
    WorkerList,
)
from chokaq_core.hosting.deck_requests import (
    ErrorsParams,
    EventsParams,
    ExportParams,
    FilterBody,
    ListParams,
    LogParams,
)
from chokaq_core.hosting.deck_views import (
    circuit_view,
    count_view,
    error_group_view,
    event_view,
    job_detail,
    job_row,
    log_entry_view,
    queue_view,
    rate_view,
    timer_view,
    worker_view,
)
from chokaq_core.hosting.http_models import rfc3339
from chokaq_core.hosting.problems import NO_SNIFF, no_such_job
from chokaq_core.operations.cursors import Walk
from chokaq_core.operations.export import as_csv, as_json_lines
from chokaq_core.operations.overview import series, window_start
from chokaq_core.policy.envelope import is_job_id
from chokaq_core.ports import MAX_LOOK, Totals

if TYPE_CHECKING:
    from chokaq_core.hosting.deck_call import Call

ERRORS_LOOK = 2_000
"""So many of the newest dead jobs are grouped: enough to see what fails now, and as quick with a full DLQ."""
SEARCH_LOOK = 2_000
"""
After so many rows a page answers, matches or not, and says where to go on: a search without a match in a million rows
takes about as long as in a few thousand.
"""
FILE_ROWS = 2_000
"""A file holds what so many rows have to give, for the same reason; a long list is saved as several of them."""
FURTHER_HEADER = "X-ChokaQ-Further"

Params = TypeVar("Params", bound=BaseModel)


def me(call: Call) -> Me:
    """
    Who the caller is to the Deck.
    """
    return Me(name=call.actor.name, role="operate" if call.actor.role >= Role.OPERATE else "read")


def overview(call: Call) -> Overview:
    """
    Totals, rates and a chart's points; flat in the number of ended jobs.
    """
    store = call.runtime.store
    now = store.vitals().now
    seconds = series(store.buckets(window_start(now)), now)
    totals = store.totals().values()
    return Overview(
        now=rfc3339(now),
        pillars=PillarTotals(
            hot=count_view(store.count_jobs(Pillar.HOT, JobFilter())),
            archive=count_view(store.count_jobs(Pillar.ARCHIVE, JobFilter())),
            dlq=count_view(store.count_jobs(Pillar.DLQ, JobFilter())),
        ),
        totals=LifetimeTotals(
            succeeded=sum(t.succeeded for t in totals),
            failed=sum(t.failed for t in totals),
            retried=sum(t.retried for t in totals),
        ),
        last_minute=rate_view(seconds.last(60)),
        last_five_minutes=rate_view(seconds.last(300)),
        series=SeriesView(
            start_at=rfc3339(seconds.start_at), succeeded=list(seconds.succeeded), failed=list(seconds.failed)
        ),
    )


def health(call: Call) -> func.HttpResponse:
    """
    All health checks, as `/api/health` shows them, and 200 whatever they say: the question was answered.
    """
    return answer(HTTPStatus.OK, http_health.report(call.core))


def queues(call: Call) -> QueueList:
    """
    Queues with controls, lag and counters.
    """
    totals, rules = call.runtime.store.totals(), call.settings.health
    rows = call.runtime.store.queues()
    return QueueList(queues=[queue_view(row, totals.get(row.name, Totals()), rules) for row in rows])


def circuits(call: Call) -> CircuitList:
    """
    Circuits by type.
    """
    return CircuitList(circuits=[circuit_view(circuit) for circuit in call.runtime.store.circuits()])


def workers(call: Call) -> WorkerList:
    """
    Workers and timers.
    """
    vitals = call.runtime.store.vitals()
    views = [worker_view(worker, vitals.now, call.settings.health) for worker in vitals.workers]
    return WorkerList(
        now=rfc3339(vitals.now),
        workers=sorted(views, key=lambda view: view.heartbeat_at or "", reverse=True),
        timers=[timer_view(name, row) for name, row in sorted(vitals.timers.items())],
    )


def jobs(call: Call) -> JobList:
    """
    A page of a pillar's list.
    """
    params = _params(call.req, ListParams)
    walk = Walk.resume(params.to_query(), params.cursor)
    page = call.runtime.store.list_jobs(walk.query, params.limit, SEARCH_LOOK)
    return JobList(
        now=rfc3339(page.now),
        jobs=[job_row(job) for job in page.jobs],
        further=walk.cursor(page.further, page.now),
    )


def count(call: Call) -> Count:
    """
    How many jobs a filter finds.
    """
    query = _params(call.req, FilterBody).to_query()
    look = MAX_LOOK if query.filter == JobFilter() else SEARCH_LOOK
    return count_view(call.runtime.store.count_jobs(query.pillar, query.filter, look))


def export(call: Call) -> func.HttpResponse:
    """
    A list as a file: what so many rows have to give, and in a header where to go on.
    """
    params = _params(call.req, ExportParams)
    walk = Walk.resume(params.to_query(), params.cursor)
    page = call.runtime.store.list_jobs(walk.query, FILE_ROWS, FILE_ROWS)
    further = walk.cursor(page.further, page.now)
    name = f"chokaq-{params.pillar}.{params.format}"
    headers = {
        **NO_SNIFF,
        "Content-Disposition": f'attachment; filename="{name}"',
        **({FURTHER_HEADER: further} if further is not None else {}),
    }
    is_csv = params.format == "csv"
    text = as_csv(page.jobs) if is_csv else as_json_lines(page.jobs)
    return func.HttpResponse(text, headers=headers, mimetype="text/csv" if is_csv else "application/json")


def job(call: Call) -> JobDetail | func.HttpResponse:
    """
    Everything about one job.
    """
    job_id = call.req.route_params["id"]
    store = call.runtime.store
    found = store.find(job_id) if is_job_id(job_id) else None
    summary = store.look_up([job_id]).get(job_id) if found is not None else None
    if found is None or summary is None:
        return no_such_job(job_id)
    return job_detail(found, summary)


def errors(call: Call) -> ErrorGroups:
    """
    What fails most.
    """
    top = call.runtime.store.top_errors(ERRORS_LOOK, _params(call.req, ErrorsParams).limit)
    return ErrorGroups(
        looked_at=ERRORS_LOOK, is_complete=top.is_complete, groups=[error_group_view(group) for group in top.groups]
    )


def log(call: Call) -> LogPage:
    """
    A page of the operator log.
    """
    params = _params(call.req, LogParams)
    entries = call.runtime.store.operator_log(params.before, params.limit + 1)
    page = entries[: params.limit]
    return LogPage(
        entries=[log_entry_view(entry) for entry in page],
        further=page[-1].number if len(entries) > params.limit else None,
    )


def events(call: Call) -> EventList:
    """
    Recent events of this process.
    """
    params = _params(call.req, EventsParams)
    recent = call.core.telemetry.recent
    found = recent.since(params.after)
    return EventList(
        process=recent.process,
        last=found[-1].number if found else params.after,
        events=[event_view(event) for event in found],
    )


def _params(req: func.HttpRequest, model: type[Params]) -> Params:
    """
    The query's parameters, checked.

    Raises:
        InvalidJobError: one is unknown or breaks a rule.
    """
    try:
        return model.model_validate({name: value for name, value in req.params.items() if name != "code"})
    except ValidationError as error:
        raise refusal_of(error) from error
