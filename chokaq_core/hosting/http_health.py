"""
Whether the app can work, for probes and for the person who is called.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.errors import StoreError
from chokaq_core.hosting.answers import answer

if TYPE_CHECKING:
    from chokaq_core.hosting.app import ChokaQ


def register(app: func.FunctionApp, chokaq: ChokaQ) -> None:
    """
    Adds the routes to an app.
    """

    @app.function_name("chokaq_health")
    @app.route(route="health", methods=["GET", "HEAD"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_health(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001 - the platform passes it by this name
        return health(chokaq)

    @app.function_name("chokaq_live")
    @app.route(route="health/live", methods=["GET", "HEAD"], auth_level=func.AuthLevel.FUNCTION)
    def chokaq_live(req: func.HttpRequest) -> func.HttpResponse:  # noqa: ARG001
        return answer(HTTPStatus.OK, {"status": "Healthy"})


def health(chokaq: ChokaQ) -> func.HttpResponse:
    """
    200 when settings are valid and the store answers with the right schema; else 503 with what is wrong.
    """
    checks = {"chokaq_configuration": _configuration(chokaq)}
    if not chokaq.problems:
        checks["chokaq_store"] = _store(chokaq)
    is_healthy = all(check["status"] == "Healthy" for check in checks.values())
    status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return answer(status, {"status": "Healthy" if is_healthy else "Unhealthy", "checks": checks})


def _configuration(chokaq: ChokaQ) -> dict[str, object]:
    if chokaq.problems:
        return {"status": "Unhealthy", "problems": list(chokaq.problems)}
    return {"status": "Healthy"}


def _store(chokaq: ChokaQ) -> dict[str, object]:
    try:
        state = chokaq.runtime().store.prepare()
    except StoreError as error:
        return {"status": "Unhealthy", "problem": type(error).__name__}
    return {"status": "Healthy" if state.is_ready else "Unhealthy", "schema_version": state.version}
