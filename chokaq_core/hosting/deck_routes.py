"""
The Deck's data routes: one table, from which they are registered, guarded, described and tested.
"""

from __future__ import annotations

from chokaq_core.domain.access import Role
from chokaq_core.domain.value import Value

WRITE_HEADER = "X-ChokaQ-Deck"
"""Writes carry it with the value 1: no page of another site can make a browser send it."""


class DeckRoute(Value):
    """
    One method of one route. The handler of the same name stands in `deck_reads` or `deck_writes`.

    Attributes:
        name: what the handler and, with a prefix, the function are called.
        path: below `deck/`.
        is_write: whether it changes anything, and so needs `WRITE_HEADER`.
    """

    name: str
    method: str
    path: str
    role: Role
    is_write: bool = False

    @property
    def function_name(self) -> str:
        """
        What the function is called.
        """
        return f"chokaq_deck_{self.name}"

    @property
    def route(self) -> str:
        """
        The route below the host's prefix.
        """
        return f"deck/{self.path}"


DECK_ROUTES = (
    DeckRoute("me", "GET", "me", Role.READ),
    DeckRoute("overview", "GET", "overview", Role.READ),
    DeckRoute("health", "GET", "health", Role.READ),
    DeckRoute("queues", "GET", "queues", Role.READ),
    DeckRoute("circuits", "GET", "circuits", Role.READ),
    DeckRoute("workers", "GET", "workers", Role.READ),
    DeckRoute("jobs", "GET", "jobs", Role.READ),
    DeckRoute("count", "GET", "count", Role.READ),
    DeckRoute("export", "GET", "export", Role.READ),
    DeckRoute("job", "GET", "jobs/{id}", Role.READ),
    DeckRoute("errors", "GET", "errors", Role.READ),
    DeckRoute("log", "GET", "log", Role.READ),
    DeckRoute("events", "GET", "events", Role.READ),
    DeckRoute("preview", "POST", "previews", Role.OPERATE, is_write=True),
    DeckRoute("command", "POST", "commands", Role.OPERATE, is_write=True),
    DeckRoute("change_queue", "PATCH", "queues/{name}", Role.OPERATE, is_write=True),
)
