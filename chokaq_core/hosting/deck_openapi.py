"""
The Deck's data routes in the OpenAPI document, from the models that check requests and make answers.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import JsonSchemaMode, models_json_schema

from chokaq_core.domain.value import Value
from chokaq_core.hosting import deck_models, deck_requests, http_models
from chokaq_core.hosting.deck_reads import FURTHER_HEADER
from chokaq_core.hosting.deck_routes import DECK_ROUTES, WRITE_HEADER
from chokaq_core.hosting.principal import KEY_HEADER
from chokaq_core.hosting.problems import PROBLEM_JSON

if TYPE_CHECKING:
    from pydantic import BaseModel

    from chokaq_core.hosting.deck_routes import DeckRoute

JSON = "application/json"
REF = "#/components/schemas/{model}"
SECURITY_SCHEMES = {
    "deckKey": {
        "type": "apiKey",
        "in": "header",
        "name": KEY_HEADER,
        "description": "A key of the Deck; where the platform authenticates people, their app role does instead.",
    }
}

_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}}}
_CHALLENGE = {"WWW-Authenticate": {"description": "How to sign in.", "schema": {"type": "string"}}}


class _Description(Value):
    """
    What the document says of a route besides what its table says.

    Attributes:
        takes: the model of its query, or of its body where it writes.
        refusals: statuses besides those of every route.
    """

    summary: str
    answers: type[BaseModel] | None
    takes: type[BaseModel] | None = None
    refusals: tuple[int, ...] = ()


_COMMAND_REFUSALS = (400, 404, 409, 412, 413, 415, 428)
_DESCRIPTIONS = {
    "me": _Description("Who the caller is to the Deck.", deck_models.Me),
    "overview": _Description("Totals, rates, and a chart's points.", deck_models.Overview),
    "health": _Description("All health checks; 200 whatever they say.", http_models.Health),
    "queues": _Description("Queues with controls, lag and counters.", deck_models.QueueList),
    "circuits": _Description("Circuits by type.", deck_models.CircuitList),
    "workers": _Description("Workers and timers.", deck_models.WorkerList),
    "jobs": _Description("A page of a pillar's list.", deck_models.JobList, deck_requests.ListParams, (400,)),
    "count": _Description(
        "How many jobs a filter finds, up to 10 000.", deck_models.Count, deck_requests.FilterBody, (400,)
    ),
    "export": _Description("A list as a file, up to 2 000 rows looked at.", None, deck_requests.ExportParams, (400,)),
    "job": _Description("Everything about one job.", deck_models.JobDetail, refusals=(404,)),
    "errors": _Description(
        "What fails most among the newest dead jobs.", deck_models.ErrorGroups, deck_requests.ErrorsParams, (400,)
    ),
    "log": _Description("What operators did.", deck_models.LogPage, deck_requests.LogParams, (400,)),
    "events": _Description(
        "Recent events of the process that answers.", deck_models.EventList, deck_requests.EventsParams, (400,)
    ),
    "preview": _Description(
        "What a command would do; changes nothing.",
        deck_models.PreviewView,
        deck_requests.PreviewBody,
        (400, 413, 415),
    ),
    "command": _Description(
        "Carries a command out.", deck_models.CommandAnswer, deck_requests.CommandBody, _COMMAND_REFUSALS
    ),
    "change_queue": _Description(
        "Sets controls of a queue.", deck_models.QueueView, deck_requests.QueueBody, (400, 404, 413, 415)
    ),
}


def deck_paths() -> dict[str, Any]:
    """
    The paths of all data routes.
    """
    paths: dict[str, Any] = {}
    for route in DECK_ROUTES:
        paths.setdefault(f"/{route.route}", {})[route.method.lower()] = _operation(route, _DESCRIPTIONS[route.name])
    return paths


def deck_schemas() -> dict[str, Any]:
    """
    The schemas that the paths name.
    """
    made = [d.answers for d in _DESCRIPTIONS.values() if d.answers is not None]
    taken = [d.takes for d in _DESCRIPTIONS.values() if d.takes is not None]
    modes: tuple[tuple[JsonSchemaMode, list[type[BaseModel]]], ...] = (
        ("serialization", [*made, deck_models.CommandRefused]),
        ("validation", taken),
    )
    models = [(model, mode) for mode, group in modes for model in group]
    _, schemas = models_json_schema(models, ref_template=REF)
    definitions: dict[str, Any] = schemas["$defs"]
    return definitions


def _operation(route: DeckRoute, description: _Description) -> dict[str, Any]:
    refusals = {401, 403, 503, *description.refusals}
    operation: dict[str, Any] = {
        "operationId": "deck" + "".join(word.capitalize() for word in route.name.split("_")),
        "summary": description.summary,
        "tags": ["deck"],
        "security": [{"deckKey": []}],
        "parameters": _parameters(route, description),
        "responses": {"200": _success(description), **{str(s): _refusal(route, s) for s in sorted(refusals)}},
    }
    if route.is_write and description.takes is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _ref(description.takes)}}}
    return operation


def _parameters(route: DeckRoute, description: _Description) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]
    if route.is_write:
        schema = {"type": "string", "const": "1"}
        parameters.append({"name": WRITE_HEADER, "in": "header", "required": True, "schema": schema})
    elif description.takes is not None:
        parameters += _query(description.takes)
    return parameters


def _query(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema(ref_template=REF)
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": field.get("description", ""),
            "schema": _without_null({key: value for key, value in field.items() if key != "description"}),
        }
        for name, field in schema["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """
    A query has no null: what may be left out is left out.
    """
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if not choices:
        return schema
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _success(description: _Description) -> dict[str, Any]:
    if description.answers is not None:
        return {"description": "Done.", "content": {JSON: {"schema": _ref(description.answers)}}}
    row = {"type": "object", "additionalProperties": True}
    further = {"description": "The next file's `cursor`; absent at the end.", "schema": {"type": "string"}}
    return {
        "description": "The file.",
        "headers": {FURTHER_HEADER: further},
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            JSON: {"schema": {"type": "array", "items": row}},
        },
    }


def _refusal(route: DeckRoute, status: int) -> dict[str, Any]:
    is_of_command = route.name == "command" and status == HTTPStatus.CONFLICT
    model = deck_models.CommandRefused if is_of_command else http_models.Problem
    described: dict[str, Any] = {
        "description": HTTPStatus(status).phrase + ".",
        "content": {PROBLEM_JSON: {"schema": _ref(model)}},
    }
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        described["headers"] = _RETRY_AFTER
    if status == HTTPStatus.UNAUTHORIZED:
        described["headers"] = _CHALLENGE
    return described


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}
