"""
Whether the app can work, for probes and for the person who is called.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from chokaq_core.hosting.answers import answer
from chokaq_core.policy.health import Check, HealthStatus, worst

if TYPE_CHECKING:
    import azure.functions as func

    from chokaq_core.hosting.core import Core

CONFIGURATION_CHECK = "chokaq_configuration"


def health(core: Core) -> func.HttpResponse:
    """
    All checks: 200 for Healthy and Degraded, 503 for Unhealthy, with what each check was judged by.
    """
    shown = report(core)
    is_bad = shown["status"] == HealthStatus.UNHEALTHY
    return answer(HTTPStatus.SERVICE_UNAVAILABLE if is_bad else HTTPStatus.OK, shown)


def report(core: Core) -> dict[str, object]:
    """
    The overall status and all checks, as JSON takes them.
    """
    checks = {CONFIGURATION_CHECK: _configuration(core)}
    if not core.problems:
        checks.update(core.health().check())
    overall = worst([check.status for check in checks.values()])
    return {"status": str(overall), "checks": {name: _shown(check) for name, check in checks.items()}}


def live() -> func.HttpResponse:
    """
    200 as long as the process can answer.
    """
    return answer(HTTPStatus.OK, {"status": str(HealthStatus.HEALTHY)})


def _configuration(core: Core) -> Check:
    if core.problems:
        data = {"problems": list(core.problems)}
        return Check(HealthStatus.UNHEALTHY, f"{len(core.problems)} invalid setting(s); correct them and restart", data)
    return Check(HealthStatus.HEALTHY, "every setting is valid")


def _shown(check: Check) -> dict[str, object]:
    return {"status": str(check.status), "description": check.description, "data": dict(check.data)}
