"""
Errors as `application/problem+json` (RFC 9457), one entry for each field.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.errors import (
    ConfigurationError,
    FieldProblem,
    InvalidJobError,
    KeyConflictError,
    StoreError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBLEM_JSON = "application/problem+json"
NO_SNIFF = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
RETRY_AFTER_SECONDS = 5
RETRY_AFTER_REFUSED_SECONDS = 60

_TITLES = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Content Too Large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Unprocessable Content",
}
"""The names of RFC 9110, where older Pythons know others: an answer does not depend on the interpreter."""

_STATUS_BY_CODE = {
    "key_conflict": HTTPStatus.UNPROCESSABLE_ENTITY,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "exists": HTTPStatus.CONFLICT,
}


def problem(
    status: HTTPStatus,
    detail: str,
    *,
    errors: tuple[FieldProblem, ...] = (),
    headers: Mapping[str, str] | None = None,
    **members: object,
) -> func.HttpResponse:
    """
    An error answer.
    """
    body: dict[str, object] = {
        "type": "about:blank",
        "title": _TITLES.get(status, status.phrase),
        "status": int(status),
        "detail": detail,
        **members,
    }
    if errors:
        body["errors"] = [{"field": e.field, "rule": e.rule, "code": e.code} for e in errors]
    return func.HttpResponse(
        json.dumps(body, ensure_ascii=True),
        status_code=int(status),
        headers={**NO_SNIFF, **(headers or {})},
        mimetype=PROBLEM_JSON,
    )


def refused_job(error: InvalidJobError) -> func.HttpResponse:
    """
    The answer for a job that was refused; nothing was written.
    """
    detail = "the job was refused and nothing was written"
    if isinstance(error, KeyConflictError):
        return problem(status_of(error), detail, errors=error.problems, first_id=error.first_id)
    return problem(status_of(error), detail, errors=error.problems)


def status_of(error: InvalidJobError) -> HTTPStatus:
    """
    422 for a key conflict, 413 for what is too large, 409 for a taken id, else 400.
    """
    codes = {p.code for p in error.problems}
    return next((status for code, status in _STATUS_BY_CODE.items() if codes == {code}), HTTPStatus.BAD_REQUEST)


def no_such_job(job_id: str) -> func.HttpResponse:
    """
    The answer where no job bears the id.
    """
    return problem(HTTPStatus.NOT_FOUND, f"there is no job with id {job_id[:60]!a}")


def unavailable(error: StoreError | ConfigurationError) -> func.HttpResponse:
    """
    The answer while the app cannot work: invalid settings by name, or a database that is away. No server names.
    """
    if isinstance(error, ConfigurationError):
        return problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "the app's settings are invalid; an operator must correct them",
            headers={"Retry-After": str(RETRY_AFTER_REFUSED_SECONDS)},
            problems=list(error.problems),
        )
    is_passing = isinstance(error, StoreUnavailableError)
    seconds = RETRY_AFTER_SECONDS if is_passing else RETRY_AFTER_REFUSED_SECONDS
    detail = "the database does not answer" if is_passing else "the database refuses; an operator must look at it"
    return problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"{detail}; it is not known whether anything was written, so repeat with the same id",
        headers={"Retry-After": str(seconds)},
    )
