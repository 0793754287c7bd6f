"""
The API described by itself: an OpenAPI 3.1 document made from the models that validate requests.
"""

from __future__ import annotations

from copy import deepcopy
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from chokaq_core import __version__
from chokaq_core.domain.value import Value, field
from chokaq_core.hosting.answers import answer, guarded
from chokaq_core.hosting.deck_openapi import SECURITY_SCHEMES, deck_paths, deck_schemas
from chokaq_core.hosting.http_models import (
    MAX_JOBS_IN_A_BATCH,
    Accepted,
    BatchAnswer,
    Cancelled,
    CancelRequested,
    EnqueueBody,
    Health,
    JobView,
    Liveness,
    Problem,
)
from chokaq_core.hosting.problems import PROBLEM_JSON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import azure.functions as func
    from pydantic import BaseModel

    from chokaq_core.contracts.profile import Registration
    from chokaq_core.hosting.core import Core

JSON = "application/json"
_REF = "#/components/schemas/{model}"
_PAYLOAD = "payload."
"""Sets the app's own models apart from ours."""
_ANSWERS: tuple[type[BaseModel], ...] = (
    Accepted,
    BatchAnswer,
    Cancelled,
    CancelRequested,
    Health,
    JobView,
    Liveness,
    Problem,
)
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}}}
_LOCATION = {"Location": {"description": "Where the job can be read.", "required": True, "schema": {"type": "string"}}}
_JOB_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The job's id.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,50}$"},
}


class Operation(Value):
    """
    One method of one route.

    Attributes:
        name: the function that answers, in the camel case of generated clients.
        body: the schema of the request's body.
        answers: what may be answered: description, and schema or None for no content.
        refusals: statuses that come as a problem.
    """

    method: str
    path: str
    name: str
    summary: str
    answers: Mapping[int, tuple[str, str | None]]
    refusals: tuple[int, ...] = ()
    body: str | None = None
    headers: Mapping[int, dict[str, Any]] = field(default_factory=dict)


_HEALTH = {200: ("Healthy or degraded.", "Health"), 503: ("Unhealthy.", "Health")}

OPERATIONS = (
    Operation(
        "post",
        "/jobs",
        "enqueueJob",
        "Stores one job, which then runs at least once.",
        {202: ("Stored.", "Accepted"), 200: ("An active job holds this idempotency key already.", "Accepted")},
        refusals=(400, 409, 413, 415, 422, 503),
        body="EnqueueRequest",
        headers={202: _LOCATION, 200: _LOCATION},
    ),
    Operation(
        "post",
        "/jobs/batch",
        "enqueueJobs",
        "Stores up to 1000 jobs; a bad one does not spoil the rest.",
        {207: ("One entry for each job, in order.", "BatchAnswer")},
        refusals=(400, 413, 415, 503),
        body="BatchRequest",
    ),
    Operation(
        "get",
        "/jobs/{id}",
        "readJob",
        "Reads a job, whether it waits, runs or has ended.",
        {200: ("The job.", "JobView")},
        refusals=(404, 503),
    ),
    Operation(
        "head", "/jobs/{id}", "hasJob", "Tells whether there is such a job.", {200: ("There is.", None)}, (404, 503)
    ),
    Operation(
        "delete",
        "/jobs/{id}",
        "cancelJob",
        "Cancels a job that waits, and tells one that runs to stop.",
        {200: ("It waited and is dead now.", "Cancelled"), 202: ("It was told to stop.", "CancelRequested")},
        refusals=(404, 409, 503),
    ),
    Operation("get", "/health", "readHealth", "Whether the app can work.", _HEALTH),
    Operation(
        "head", "/health", "checkHealth", "The same, by status alone.", {s: (d, None) for s, (d, _) in _HEALTH.items()}
    ),
    Operation("get", "/health/live", "readLiveness", "Whether the process answers.", {200: ("It does.", "Liveness")}),
    Operation("head", "/health/live", "checkLiveness", "The same, by status alone.", {200: ("It does.", None)}),
    Operation("get", "/openapi.json", "readApi", "This document.", {200: ("The document.", "Document")}, (503,)),
)
"""Every operation of the producers' API."""


def openapi(core: Core) -> func.HttpResponse:
    """
    The document for this app: its own types of jobs included.
    """
    return guarded(core, lambda _runtime: answer(HTTPStatus.OK, document(core.catalog)))


def document(registrations: Iterable[Registration]) -> dict[str, Any]:
    """
    The OpenAPI document for an app with these jobs.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ChokaQ",
            "version": __version__,
            "description": "Background jobs: enqueue them, look at them, cancel them.",
        },
        "servers": [{"url": "/api"}],
        "security": [{"functionKey": []}, {"functionKeyInQuery": []}],
        "paths": {**_paths(), **deck_paths()},
        "components": {"schemas": _schemas(list(registrations)), "securitySchemes": _security_schemes()},
    }


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        path = paths.setdefault(operation.path, {})
        if "{id}" in operation.path:
            path["parameters"] = [_JOB_ID]
        path[operation.method] = _described(operation)
    return paths


def _described(operation: Operation) -> dict[str, Any]:
    answers = {
        str(status): _answer(text, schema, operation.headers.get(status))
        for status, (text, schema) in operation.answers.items()
    }
    is_bodiless = operation.method == "head"
    refusals = {str(status): _refusal(status, is_bodiless=is_bodiless) for status in operation.refusals}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {**answers, **refusals},
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(operation.body)}}}
    return described


def _answer(text: str, schema: str | None, headers: dict[str, Any] | None) -> dict[str, Any]:
    described: dict[str, Any] = {"description": text}
    if schema is not None:
        described["content"] = {JSON: {"schema": _ref(schema)}}
    if headers is not None:
        described["headers"] = headers
    return described


def _refusal(status: int, *, is_bodiless: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"description": HTTPStatus(status).phrase + "."}
    if not is_bodiless:
        described["content"] = {PROBLEM_JSON: {"schema": _ref("Problem")}}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        described["headers"] = _RETRY_AFTER
    return described


def _schemas(registrations: list[Registration]) -> dict[str, Any]:
    """
    The schemas of answers, of requests, and of each job's payload.
    """
    _, answers = models_json_schema([(model, "serialization") for model in _ANSWERS], ref_template=_REF)
    models = [(r, r.job_type) for r in registrations if r.job_type is not None]
    refs, payloads = models_json_schema(
        [(model, "validation") for _, model in models],
        ref_template=_REF.format(model=_PAYLOAD + "{model}"),
    )
    variants = [_variant(r.type_key, refs[model, "validation"]) for r, model in models]
    request = EnqueueBody.model_json_schema(ref_template=_REF)
    return {
        **{_PAYLOAD + name: schema for name, schema in payloads.get("$defs", {}).items()},
        **answers["$defs"],
        **deck_schemas(),
        "Document": {"type": "object"},
        "EnqueueRequest": _with_variants(request, variants),
        "BatchRequest": _batch(),
    }


def _variant(type_key: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": {"const": type_key}, "payload": dict(payload)}


def _with_variants(request: dict[str, Any], variants: list[dict[str, Any]]) -> dict[str, Any]:
    """
    The request as one alternative for each type of job, so that its payload is described too.
    """
    if not variants:
        return request
    alternatives = []
    for variant in variants:
        alternative = deepcopy(request)
        alternative["title"] = variant["type"]["const"]
        for name, schema in variant.items():
            description = alternative["properties"][name].get("description")
            alternative["properties"][name] = {**schema, "description": description}
        alternatives.append(alternative)
    return {"description": request["description"], "oneOf": alternatives}


def _batch() -> dict[str, Any]:
    # Entries are judged one by one and answered one by one, so any value may stand there.
    jobs = {"type": "array", "maxItems": MAX_JOBS_IN_A_BATCH, "items": {"anyOf": [_ref("EnqueueRequest"), {}]}}
    return {"type": "object", "properties": {"jobs": jobs}, "required": ["jobs"], "additionalProperties": False}


def _security_schemes() -> dict[str, Any]:
    return {
        "functionKey": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
        "functionKeyInQuery": {"type": "apiKey", "in": "query", "name": "code"},
        **SECURITY_SCHEMES,
    }


def _ref(schema: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=schema)}
