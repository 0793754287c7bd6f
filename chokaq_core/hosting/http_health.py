"""
Whether the app can work, for probes and for the person who is called.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError
from chokaq_core.hosting.answers import answer

if TYPE_CHECKING:
    import azure.functions as func

    from chokaq_core.hosting.core import Core


def health(core: Core) -> func.HttpResponse:
    """
    200 when settings are valid and the store answers with the right schema; else 503 with what is wrong.
    """
    checks = {"chokaq_configuration": _configuration(core)}
    if not core.problems:
        checks["chokaq_store"] = _store(core)
    is_healthy = all(check["status"] == "Healthy" for check in checks.values())
    status = HTTPStatus.OK if is_healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return answer(status, {"status": "Healthy" if is_healthy else "Unhealthy", "checks": checks})


def live() -> func.HttpResponse:
    """
    200 as long as the process can answer.
    """
    return answer(HTTPStatus.OK, {"status": "Healthy"})


def _configuration(core: Core) -> dict[str, object]:
    if core.problems:
        return {"status": "Unhealthy", "problems": list(core.problems)}
    return {"status": "Healthy"}


def _store(core: Core) -> dict[str, object]:
    try:
        state = core.runtime().store.prepare()
    except StoreError as error:
        return {"status": "Unhealthy", "problem": type(error).__name__}
    return {"status": "Healthy" if state.is_ready else "Unhealthy", "schema_version": state.version}
