"""
The commands of `python -m chokaq_core`, one row each.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from chokaq_core.config.check import run_check
from chokaq_core.console import arguments, dlq, doctor, enqueueing, jobs, queues, schema, watching
from chokaq_core.console.opening import enter, settle
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CODES = "Exit codes: 0 done, 1 refused or failed, 2 not understood, 3 some jobs were left alone, 4 no such job."


class Command(Value):
    """
    One command: its words, what it does, its arguments, and the function that carries it out.

    Attributes:
        words: `doctor`, or two such as `jobs list`, of which the first groups commands.
        arguments: adds the command's own arguments to its parser.
        run: takes the parsed arguments, answers the exit code.
    """

    words: str
    summary: str
    arguments: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]


COMMANDS: tuple[Command, ...] = (
    Command(
        "config check",
        "print the effective settings, or every problem with them",
        arguments.app_folder,
        lambda given: run_check(enter(given.app), os.environ, print),
    ),
    Command("jobs list", "list jobs of one pillar", jobs.list_arguments, jobs.run_list),
    Command("jobs show", "print everything about one job", jobs.show_arguments, jobs.run_show),
    Command("jobs cancel", "cancel jobs that wait or run", jobs.command_arguments, jobs.run_cancel),
    Command("jobs resurrect", "bring dead jobs back", jobs.command_arguments, jobs.run_resurrect),
    Command("jobs edit", "change pending or dead jobs", jobs.edit_arguments, jobs.run_edit),
    Command("jobs purge", "delete ended jobs for good", jobs.command_arguments, jobs.run_purge),
    Command("queues list", "list queues with controls, lag and counters", arguments.answer, queues.run_list),
    Command(
        "queues pause", "stop claims from a queue; running work goes on", queues.change_arguments, queues.run_pause
    ),
    Command("queues resume", "let a queue go on", queues.change_arguments, queues.run_resume),
    Command("queues set", "set limits of a queue", queues.set_arguments, queues.run_set),
    Command("circuits list", "list circuits: types that are held back", arguments.answer, watching.run_circuits),
    Command("workers list", "list workers with their last heartbeats", arguments.answer, watching.run_workers),
    Command("timers list", "list timers with their last runs", arguments.answer, watching.run_timers),
    Command("dlq summary", "group the newest dead jobs by their errors", dlq.summary_arguments, dlq.run_summary),
    Command("dlq export", "write dead jobs to a file", dlq.export_arguments, dlq.run_export),
    Command("enqueue", "store one job", enqueueing.enqueue_arguments, enqueueing.run_enqueue),
    Command("schema apply", "bring the schema up to date", arguments.answer, schema.run_apply),
    Command("schema status", "print the schema's version and what is missing", arguments.answer, schema.run_status),
    Command("schema script", "print the SQL of all migrations", arguments.app_folder, schema.run_script),
    Command("doctor", "check whether the app can work here", arguments.answer, doctor.run_doctor),
)


def main(given_arguments: Sequence[str] | None = None) -> int:
    """
    Runs the command that the arguments name; without arguments, those of the process.

    Returns:
        The exit code.
    """
    given = command_line().parse_args(given_arguments)
    command: Command = given.command
    return settle(lambda: command.run(given))


def command_line() -> argparse.ArgumentParser:
    """
    What reads the arguments: every command of `COMMANDS` with its own.
    """
    parser = argparse.ArgumentParser(prog="python -m chokaq_core", epilog=EXIT_CODES)
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    verbs: dict[str, argparse._SubParsersAction[argparse.ArgumentParser]] = {}
    for command in COMMANDS:
        group, _, verb = command.words.partition(" ")
        if verb and group not in verbs:
            own = groups.add_parser(group, help=_verbs(group), epilog=EXIT_CODES)
            verbs[group] = own.add_subparsers(required=True, metavar="COMMAND")
        place = verbs[group] if verb else groups
        own = place.add_parser(verb or group, help=command.summary, description=command.summary, epilog=EXIT_CODES)
        command.arguments(own)
        own.set_defaults(command=command)
    return parser


def _verbs(group: str) -> str:
    return ", ".join(
        verb for first, _, verb in (command.words.partition(" ") for command in COMMANDS) if first == group
    )
