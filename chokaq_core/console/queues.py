"""
`queues list|pause|resume|set`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.console import arguments
from chokaq_core.console.exits import Exit
from chokaq_core.console.models import checked
from chokaq_core.console.opening import opened
from chokaq_core.console.printing import write_json, write_table
from chokaq_core.hosting.deck_requests import QueueBody
from chokaq_core.hosting.deck_views import queue_view
from chokaq_core.policy.health import HealthRules
from chokaq_core.ports import QueueChange, Totals

if TYPE_CHECKING:
    import argparse

    from chokaq_core.hosting.deck_models import QueueView

_COLUMNS = (
    "name",
    "is_paused",
    "is_active",
    "pending",
    "running",
    "lag_seconds",
    "max_workers",
    "zombie_timeout",
    "succeeded",
    "failed",
    "retried",
)
_NONE = "none"


def change_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `queues pause` and `queues resume`.
    """
    arguments.answer(parser)
    arguments.actor(parser)
    parser.add_argument("name", help="the queue")


def set_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `queues set`.
    """
    change_arguments(parser)
    parser.add_argument("--max-workers", help="1 to 10000 jobs at once over all instances, or none")
    parser.add_argument("--zombie-timeout", help="[d.]hh:mm:ss, or none for the app's own")
    parser.add_argument("--active", choices=("yes", "no"), help="no also hides the queue from health")


def run_list(given: argparse.Namespace) -> int:
    """
    Prints all queues.
    """
    with opened(given.app) as runtime:
        totals = runtime.store.totals()
        views = [queue_view(row, totals.get(row.name, Totals()), HealthRules()) for row in runtime.store.queues()]
    _show(views, is_json=given.json)
    return Exit.DONE


def run_pause(given: argparse.Namespace) -> int:
    """
    Pauses a queue.
    """
    return _change(given, QueueChange(is_paused=True))


def run_resume(given: argparse.Namespace) -> int:
    """
    Lets a queue go on.
    """
    return _change(given, QueueChange(is_paused=False))


def run_set(given: argparse.Namespace) -> int:
    """
    Sets limits of a queue, or whether it is active.
    """
    values: dict[str, object] = {}
    if given.max_workers is not None:
        values["max_workers"] = None if given.max_workers == _NONE else _number(given.max_workers)
    if given.zombie_timeout is not None:
        values["zombie_timeout"] = None if given.zombie_timeout == _NONE else given.zombie_timeout
    if given.active is not None:
        values["is_active"] = given.active == "yes"
    return _change(given, checked(QueueBody, values).to_change())


def _change(given: argparse.Namespace, change: QueueChange) -> int:
    with opened(given.app) as runtime:
        row = runtime.queues.change(given.name, change, arguments.actor_of(given))
        totals = runtime.store.totals().get(row.name, Totals())
    _show([queue_view(row, totals, HealthRules())], is_json=given.json)
    return Exit.DONE


def _show(views: list[QueueView], *, is_json: bool) -> None:
    rows = [view.model_dump(mode="json", exclude={"lag_status"}) for view in views]
    if is_json:
        write_json(rows)
    else:
        write_table(_COLUMNS, [{**row, "pending": _pending_text(view)} for row, view in zip(rows, views, strict=True)])


def _pending_text(view: QueueView) -> str:
    return f"{view.pending}" if view.is_pending_complete else f"{view.pending}+"


def _number(text: str) -> object:
    """
    A whole number; anything else stays text, which the model refuses by name.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text  # noqa: PLR2004 - enough for 10000
