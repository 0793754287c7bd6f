"""
Arguments that several commands share.
"""

from __future__ import annotations

import argparse
import getpass
from pathlib import Path

from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.errors import FieldProblem, InvalidJobError

MAX_ACTOR_CHARACTERS = 100

_FILTER = {
    "queue": "the queue's whole name",
    "type": "the whole type key",
    "status": "Pending, Fetched or Processing; of active jobs only",
    "reason": "such as Zombie or FatalError; of dead jobs only",
    "error_text": "a part of the error's type, message or traceback; of dead jobs only",
    "search": "a part of id, type, tags or idempotency key, taken literally",
    "from": "created (hot), finished (archive) or failed (dlq) then or later, such as 2030-05-10T12:00:00Z",
    "to": "the same, then or earlier",
}


def app_folder(parser: argparse.ArgumentParser) -> None:
    """
    Which app is meant.
    """
    parser.add_argument(
        "--app",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder of function_app.py (default: the current one)",
    )


def answer(parser: argparse.ArgumentParser) -> None:
    """
    Which app is meant, and how the answer is written.
    """
    app_folder(parser)
    parser.add_argument("--json", action="store_true", help="answer with one JSON value")


def actor(parser: argparse.ArgumentParser) -> None:
    """
    Who is written down for a command.
    """
    parser.add_argument("--actor", help="who is written down (default: the user of this session)")


def job_filter(parser: argparse.ArgumentParser, *, has_pillar: bool = True) -> None:
    """
    Which jobs are meant, by what they are like.
    """
    group = parser.add_argument_group("which jobs")
    if has_pillar:
        group.add_argument("--pillar", choices=("hot", "archive", "dlq"), help="active, succeeded, or ended badly")
    for name, words in _FILTER.items():
        group.add_argument(f"--{name.replace('_', '-')}", metavar="TEXT", dest=f"filter_{name}", help=words)
    group.add_argument("--order", choices=("newest", "oldest"), default="newest", help="by that time")
    group.add_argument("--cursor", metavar="TEXT", help="go on where an earlier answer ended")


def filter_values(given: argparse.Namespace, pillar: str | None = None) -> dict[str, object]:
    """
    The filter of the arguments by its fields, those left out absent.

    Raises:
        InvalidJobError: no pillar is named.
    """
    named = pillar if pillar is not None else given.pillar
    if named is None:
        raise InvalidJobError([FieldProblem("pillar", "name one: --pillar hot, archive or dlq")])
    values = {name: getattr(given, f"filter_{name}") for name in _FILTER}
    return {"pillar": named, "order": given.order, **{name: v for name, v in values.items() if v is not None}}


def actor_of(given: argparse.Namespace) -> Actor:
    """
    Whoever is written down: as an operator, since who holds the database's credentials may do anything to it.
    """
    name = given.actor if given.actor is not None else f"cli:{_user()}"
    return Actor(name[:MAX_ACTOR_CHARACTERS], Role.OPERATE)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
