"""
The Deck's routes that change things: each function answers one route of `deck_routes`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import azure.functions as func
from pydantic import BaseModel, ValidationError

from chokaq_core.domain.errors import PreviewRejectedError
from chokaq_core.hosting.bodies import json_object, refusal_of
from chokaq_core.hosting.deck_models import CommandAnswer, PreviewView, QueueView
from chokaq_core.hosting.deck_requests import CommandBody, PreviewBody, QueueBody
from chokaq_core.hosting.deck_views import command_answer, preview_view, queue_view, result_view
from chokaq_core.hosting.problems import no_such_job, problem
from chokaq_core.operations.eligibility import NO_SUCH_JOB
from chokaq_core.operations.results import JobResult, SetChanged
from chokaq_core.ports import Totals

if TYPE_CHECKING:
    from chokaq_core.hosting.deck_call import Call

ENVELOPE_BYTES = 64 * 1024
LIMIT_WORDS = "2 × Serialization.MaxPayloadBytes + 64 KiB"
"""A payload comes as text within JSON, where each quote and backslash of it takes two bytes."""

Body = TypeVar("Body", bound=BaseModel)


def preview(call: Call) -> PreviewView | func.HttpResponse:
    """
    What a command would do now, with the token for doing it.
    """
    body = _body(call, PreviewBody)
    if isinstance(body, func.HttpResponse):
        return body
    return preview_view(call.runtime.jobs.preview(body.to_command(), call.actor), body.walk())


def command(call: Call) -> CommandAnswer | func.HttpResponse:
    """
    Carries a command out.
    """
    body = _body(call, CommandBody)
    if isinstance(body, func.HttpResponse):
        return body
    try:
        result = call.runtime.jobs.run(
            body.to_command(), call.actor, token=body.token, accepts_changes=body.accept_changes
        )
    except PreviewRejectedError as error:
        is_missing = body.token is None
        status = HTTPStatus.PRECONDITION_REQUIRED if is_missing else HTTPStatus.PRECONDITION_FAILED
        return problem(status, str(error))
    if isinstance(result, SetChanged):
        view = preview_view(result.preview, body.walk())
        detail = "the jobs are not the ones of the preview any more; nothing was done"
        return problem(HTTPStatus.CONFLICT, detail, preview=view.model_dump(mode="json"))
    if body.ids is not None and len(body.ids) == 1 and not result.done:
        return _not_done(result.results[0])
    return command_answer(result, body.walk())


def change_queue(call: Call) -> QueueView | func.HttpResponse:
    """
    Sets controls of a queue.
    """
    body = _body(call, QueueBody)
    if isinstance(body, func.HttpResponse):
        return body
    row = call.runtime.queues.change(call.req.route_params["name"], body.to_change(), call.actor)
    return queue_view(row, call.runtime.store.totals().get(row.name, Totals()), call.settings.health)


def _not_done(result: JobResult) -> func.HttpResponse:
    """
    The answer when the one job that was named is not fit: 404 or 409, with the job that holds its key, if one does.
    """
    if result.why == NO_SUCH_JOB:
        return no_such_job(result.job_id)
    detail = f"nothing was done: {result.why}"
    return problem(HTTPStatus.CONFLICT, detail, result=result_view(result).model_dump(mode="json"))


def _body(call: Call, model: type[Body]) -> Body | func.HttpResponse:
    limit = 2 * call.settings.envelope.max_payload_bytes + ENVELOPE_BYTES
    body = json_object(call.req, limit, LIMIT_WORDS)
    if isinstance(body, func.HttpResponse):
        return body
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise refusal_of(error) from error
