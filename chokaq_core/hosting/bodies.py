"""
Bodies of requests: type and size are looked at before anything is parsed.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.contracts.serializer import path_of, rule_of
from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.hosting import json_text
from chokaq_core.hosting.problems import problem

if TYPE_CHECKING:
    from pydantic import ValidationError

_MAX_DIGITS = 20


def json_object(req: func.HttpRequest, limit: int, limit_words: str) -> dict[str, object] | func.HttpResponse:
    """
    The body as an object, or the answer that refuses it.

    Args:
        limit_words: where the limit comes from, for people.
    """
    content_type = (req.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        got = f"got {content_type[:100]!a}" if content_type else "the request has none"
        detail = f"send Content-Type: application/json; {got}"
        return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    encoding = (req.headers.get("Content-Encoding") or "identity").strip().lower()
    if encoding != "identity":
        detail = f"send the body as it is, without Content-Encoding; got {encoding[:100]!a}"
        return problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    body = req.get_body()
    size = max(len(body), _announced(req))
    if size > limit:
        detail = f"the body is {size} bytes; the limit is {limit} ({limit_words})"
        return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, errors=(FieldProblem("body", detail, "too_large"),))
    return _parsed(body)


def refusal_of(error: ValidationError) -> InvalidJobError:
    """
    What a model has against its input, field by field.
    """
    return InvalidJobError(
        FieldProblem(path_of(e) or "body", rule_of(e))
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _parsed(body: bytes) -> dict[str, object] | func.HttpResponse:
    if not body.strip():
        detail = "the body is empty; send a JSON object"
        return problem(HTTPStatus.BAD_REQUEST, detail, errors=(FieldProblem("body", detail),))
    try:
        value = json_text.parse(body)
    except ValueError as error:
        detail = (
            f"the body {error}"
            if str(error).startswith(("is ", "has ", "holds "))
            else f"the body is not JSON: {error}"
        )
        return problem(HTTPStatus.BAD_REQUEST, detail, errors=(FieldProblem("body", detail),))
    if not isinstance(value, dict):
        detail = "the body must be a JSON object"
        return problem(HTTPStatus.BAD_REQUEST, detail, errors=(FieldProblem("body", detail),))
    return value


def _announced(req: func.HttpRequest) -> int:
    """
    What the request says of its own size; the host may not have passed on all of it.
    """
    text = req.headers.get("Content-Length") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS else 0
