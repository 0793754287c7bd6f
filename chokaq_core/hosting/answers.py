"""
Answers as JSON, and the guard around every route: what cannot work now answers 503 and says why.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.errors import ConfigurationError, StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.hosting.problems import NO_SNIFF, unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from http import HTTPStatus

    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.runtime import Runtime


def answer(status: HTTPStatus, body: object, *, headers: Mapping[str, str] | None = None) -> func.HttpResponse:
    """
    A JSON answer that no browser takes for anything else.
    """
    return func.HttpResponse(
        json.dumps(body, ensure_ascii=True, allow_nan=False),
        status_code=int(status),
        headers={**NO_SNIFF, **(headers or {})},
        mimetype="application/json",
    )


def guarded(core: Core, act: Callable[[Runtime], func.HttpResponse]) -> func.HttpResponse:
    """
    Runs a route with the runtime; invalid settings and a store that is away become 503.
    """
    try:
        return act(core.runtime())
    except ConfigurationError as error:
        return unavailable(error)
    except StoreError as error:
        core.events.publish([Event(EventName.INVOCATION_SKIPPED, facts={"function": "http"}, error=error)])
        return unavailable(error)
