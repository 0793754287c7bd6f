"""
The guard around the Deck's data routes: who calls, whether they may, whether a browser was tricked; then the handler.

The host leaves these routes open: people sign in by role or with the Deck's own keys, and all of that is checked here.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import azure.functions as func

from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import (
    CommandRefusedError,
    ConfigurationError,
    InvalidJobError,
    StoreError,
    UnknownQueueError,
)
from chokaq_core.domain.events import Event, EventName
from chokaq_core.hosting import deck_reads, deck_writes
from chokaq_core.hosting.answers import answer
from chokaq_core.hosting.deck_call import Call
from chokaq_core.hosting.deck_routes import WRITE_HEADER
from chokaq_core.hosting.principal import KEY_HEADER, who
from chokaq_core.hosting.problems import problem, status_of, unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from chokaq_core.config import Settings
    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.deck_routes import DeckRoute

    Handler = Callable[[Call], BaseModel | func.HttpResponse]

UNNAMED = "unnamed"
_CHALLENGE = {"WWW-Authenticate": f'ChokaQ-Key header="{KEY_HEADER}"'}


def serve(route: DeckRoute, req: func.HttpRequest, core: Core) -> func.HttpResponse:
    """
    Answers a request of a data route.
    """
    if core.settings is None or core.problems:
        # Nobody can be told apart without settings, so nobody is told which of them are wrong.
        return unavailable(ConfigurationError([]))
    actor = _admitted(route, req, core, core.settings)
    if isinstance(actor, func.HttpResponse):
        return actor
    try:
        return _answer(_handler(route)(Call(req, core, core.settings, core.runtime(), actor)))
    except StoreError as error:
        core.events.publish([Event(EventName.INVOCATION_SKIPPED, facts={"function": "http"}, error=error)])
        return unavailable(error)
    except (InvalidJobError, CommandRefusedError) as error:
        return _refusal(error)


def _refusal(error: InvalidJobError | CommandRefusedError) -> func.HttpResponse:
    match error:
        case InvalidJobError():
            return problem(status_of(error), "the request was refused and nothing was changed", errors=error.problems)
        case UnknownQueueError():
            return problem(HTTPStatus.NOT_FOUND, str(error))
        case _:
            return problem(HTTPStatus.FORBIDDEN, str(error))


def _admitted(route: DeckRoute, req: func.HttpRequest, core: Core, settings: Settings) -> Actor | func.HttpResponse:
    """
    The caller as an actor, or the answer that turns them away: 401 for a stranger, 403 for too small a role.
    """
    caller = who(req, settings.deck, core.environ)
    if caller.role is Role.NONE and caller.name is None:
        return problem(HTTPStatus.UNAUTHORIZED, _how_to_sign_in(settings), headers=_CHALLENGE)
    if caller.role < route.role:
        needed = "operate" if route.role is Role.OPERATE else "read"
        return _forbidden(core, route, caller.name, f"this needs the role {needed}")
    if route.is_write and req.headers.get(WRITE_HEADER) != "1":
        return _forbidden(core, route, caller.name, f"send the header {WRITE_HEADER}: 1, which no other site can")
    return Actor(caller.name or UNNAMED, caller.role)


def _how_to_sign_in(settings: Settings) -> str:
    if not settings.deck.is_configured:
        return "the Deck is closed: set Deck.OperateKey, or let the platform authenticate people"
    return f"sign in, or send a key of the Deck in the header {KEY_HEADER}"


def _forbidden(core: Core, route: DeckRoute, name: str | None, why: str) -> func.HttpResponse:
    """
    The answer to a caller who may not; told as a refused command where it was to change something.
    """
    if route.is_write:
        facts = {"command": route.name, "actor": name or UNNAMED, "why": why}
        core.events.publish([Event(EventName.ADMIN_COMMAND_REJECTED, facts=facts)])
    return problem(HTTPStatus.FORBIDDEN, why)


def _handler(route: DeckRoute) -> Handler:
    handler: Handler = getattr(deck_writes if route.is_write else deck_reads, route.name)
    return handler


def _answer(result: BaseModel | func.HttpResponse) -> func.HttpResponse:
    return result if isinstance(result, func.HttpResponse) else answer(HTTPStatus.OK, result.model_dump(mode="json"))
