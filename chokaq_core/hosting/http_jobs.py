"""
The producers' routes: enqueue one job or many, look at a job, cancel it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func
from pydantic import ValidationError

from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.hosting.answers import answer, guarded
from chokaq_core.hosting.bodies import json_object, refusal_of
from chokaq_core.hosting.http_models import (
    MAX_JOBS_IN_A_BATCH,
    Accepted,
    Cancelled,
    CancelRequested,
    EnqueueBody,
    job_view,
)
from chokaq_core.hosting.principal import who
from chokaq_core.hosting.problems import no_such_job, problem, refused_job, status_of
from chokaq_core.operations.eligibility import NO_SUCH_JOB
from chokaq_core.operations.results import JobResult
from chokaq_core.policy.envelope import is_job_id
from chokaq_core.ports import CancelOutcome

if TYPE_CHECKING:
    from chokaq_core.contracts.request import RawRequest
    from chokaq_core.domain.job import EnqueueResult
    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.runtime import Runtime

ENVELOPE_BYTES = 64 * 1024
"""What a body may hold besides its payload."""
LIMIT_WORDS = "Serialization.MaxPayloadBytes + 64 KiB"
CANCELLED_BY_KEY = "function-key"


def enqueue(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    One job: 202 when it was stored, 200 when an active job already holds its key.
    """
    return guarded(core, lambda runtime: _enqueue(req, runtime, _body_limit(core)))


def enqueue_batch(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    Up to 1000 jobs: 207 with one entry for each, in order; a bad one does not spoil the rest.
    """
    return guarded(core, lambda runtime: _enqueue_batch(req, runtime, _body_limit(core)))


def show(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    A job from any pillar.
    """
    return guarded(core, lambda runtime: _show(req.route_params["id"], runtime))


def cancel(req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    Cancels a job: 200 when it waited and is dead now, 202 when it runs and was told to stop, 409 when it has ended.
    """
    return guarded(core, lambda runtime: _cancel(req.route_params["id"], runtime, _actor(req, core)))


def _enqueue(req: func.HttpRequest, runtime: Runtime, limit: int) -> func.HttpResponse:
    body = json_object(req, limit, LIMIT_WORDS)
    if isinstance(body, func.HttpResponse):
        return body
    try:
        result = runtime.producer.enqueue_raw(_request(body))
    except InvalidJobError as error:
        return refused_job(error)
    status = HTTPStatus.OK if result.is_duplicate else HTTPStatus.ACCEPTED
    return answer(status, _accepted(result), headers={"Location": f"/api/jobs/{result.job_id}"})


def _enqueue_batch(req: func.HttpRequest, runtime: Runtime, limit: int) -> func.HttpResponse:
    body = json_object(req, limit, LIMIT_WORDS)
    if isinstance(body, func.HttpResponse):
        return body
    jobs = body.get("jobs")
    if set(body) != {"jobs"} or not isinstance(jobs, list):
        rule = "the body is an object with the one member jobs, a list"
        return problem(HTTPStatus.BAD_REQUEST, rule, errors=(FieldProblem("jobs", rule),))
    if len(jobs) > MAX_JOBS_IN_A_BATCH:
        rule = f"at most {MAX_JOBS_IN_A_BATCH} jobs in one call; got {len(jobs)}"
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, rule, errors=(FieldProblem("jobs", rule, "too_large"),))
    return answer(HTTPStatus.MULTI_STATUS, {"jobs": _store_each(jobs, runtime)})


def _show(job_id: str, runtime: Runtime) -> func.HttpResponse:
    job = runtime.store.find(job_id) if is_job_id(job_id) else None
    if job is None:
        return no_such_job(job_id)
    return answer(HTTPStatus.OK, job_view(job).model_dump(mode="json", exclude_none=False))


def _cancel(job_id: str, runtime: Runtime, actor: str) -> func.HttpResponse:
    if not is_job_id(job_id):
        return no_such_job(job_id)
    match runtime.jobs.cancel(job_id, actor):
        case JobResult(outcome=CancelOutcome.DEAD_LETTERED):
            return answer(HTTPStatus.OK, Cancelled(id=job_id).model_dump())
        case JobResult(outcome=CancelOutcome.MARKED):
            return answer(HTTPStatus.ACCEPTED, CancelRequested(id=job_id).model_dump())
        case JobResult(why=why) if why == NO_SUCH_JOB:
            return no_such_job(job_id)
        case _:
            return problem(HTTPStatus.CONFLICT, "the job has ended already and cannot be cancelled")


def _store_each(jobs: list[object], runtime: Runtime) -> list[dict[str, object]]:
    """
    One entry for each job of a batch: what became of it.
    """
    entries: list[dict[str, object]] = [{}] * len(jobs)
    requests: list[tuple[int, RawRequest]] = []
    for index, job in enumerate(jobs):
        try:
            requests.append((index, _request(job)))
        except InvalidJobError as error:
            entries[index] = _refused(error)
    results = runtime.producer.enqueue_many(request for _, request in requests)
    for (index, _), result in zip(requests, results, strict=True):
        entries[index] = _refused(result) if isinstance(result, InvalidJobError) else _stored(result)
    return entries


def _request(body: object) -> RawRequest:
    try:
        return EnqueueBody.model_validate(body).to_request()
    except ValidationError as error:
        raise refusal_of(error) from error


def _actor(req: func.HttpRequest, core: Core) -> str:
    """
    Who is written down for what this request does: the person, else the kind of key that opened the route.
    """
    settings = core.settings
    caller = who(req, settings.deck, core.environ) if settings is not None else None
    return caller.name if caller is not None and caller.name is not None else CANCELLED_BY_KEY


def _body_limit(core: Core) -> int:
    settings = core.settings
    return ENVELOPE_BYTES + (settings.envelope.max_payload_bytes if settings is not None else 0)


def _accepted(result: EnqueueResult) -> dict[str, object]:
    return Accepted(id=result.job_id, duplicate=result.is_duplicate).model_dump()


def _stored(result: EnqueueResult) -> dict[str, object]:
    status = HTTPStatus.OK if result.is_duplicate else HTTPStatus.ACCEPTED
    return {"status": int(status), **_accepted(result)}


def _refused(error: InvalidJobError) -> dict[str, object]:
    errors = [{"field": p.field, "rule": p.rule, "code": p.code} for p in error.problems]
    return {"status": int(status_of(error)), "errors": errors}
