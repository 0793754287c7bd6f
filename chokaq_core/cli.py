"""
The commands of `python -m chokaq_core`, one row each.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.config.check import run_check

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Command:
    """
    One command: its words, what it does, its arguments, and the function that carries it out.

    Attributes:
        words: such as `config check`; the first groups commands, the second names one.
        arguments: adds the command's own arguments to its parser.
        run: takes the parsed arguments, answers the exit code.
    """

    words: tuple[str, str]
    summary: str
    arguments: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]


def _app_folder(parser: argparse.ArgumentParser) -> object:
    return parser.add_argument(
        "--app",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder of function_app.py (default: the current one)",
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        ("config", "check"),
        "print the effective settings, or every problem with them",
        _app_folder,
        lambda given: run_check(given.app, os.environ, print),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Runs the command that the arguments name; without arguments, those of the process.

    Returns:
        The exit code.
    """
    given = _parser().parse_args(arguments)
    command: Command = given.command
    return command.run(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chokaq_core")
    groups = parser.add_subparsers(required=True, metavar="GROUP")
    verbs: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for command in COMMANDS:
        group, verb = command.words
        if group not in verbs:
            verbs[group] = groups.add_parser(group).add_subparsers(required=True, metavar="COMMAND")
        own = verbs[group].add_parser(verb, help=command.summary, description=command.summary)
        command.arguments(own)
        own.set_defaults(command=command)
    return parser
