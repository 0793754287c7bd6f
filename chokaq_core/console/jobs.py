"""
`jobs list|show|cancel|resurrect|edit|purge`.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.console import arguments
from chokaq_core.console.enqueueing import payload_text
from chokaq_core.console.exits import Exit
from chokaq_core.console.models import checked
from chokaq_core.console.opening import imported, opened
from chokaq_core.console.printing import tell, write_json, write_table, write_values
from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.hosting.deck_requests import CommandBody, ListParams
from chokaq_core.hosting.deck_views import command_answer, job_detail, job_row, preview_view
from chokaq_core.operations.cursors import Walk
from chokaq_core.operations.results import SetChanged
from chokaq_core.policy.envelope import is_job_id

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from chokaq_core.hosting.deck_models import CommandAnswer, PreviewView
    from chokaq_core.operations.job_commands import JobCommands

_COLUMNS = ("id", "status", "queue", "type", "attempts", "created_at", "error_line")


def list_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `jobs list`.
    """
    arguments.answer(parser)
    arguments.job_filter(parser)
    parser.add_argument("--limit", type=int, default=50, help="jobs at once, up to 200 (default: %(default)s)")


def run_list(given: argparse.Namespace) -> int:
    """
    Prints a page of a pillar's list.
    """
    params = checked(ListParams, {**arguments.filter_values(given), "limit": given.limit, "cursor": given.cursor})
    with opened(given.app) as runtime:
        walk = Walk.resume(params.to_query(), params.cursor)
        page = runtime.store.list_jobs(walk.query, params.limit)
    rows = [job_row(job).model_dump(mode="json") for job in page.jobs]
    further = walk.cursor(page.further, page.now)
    if given.json:
        write_json({"jobs": rows, "further": further})
    else:
        write_table(_COLUMNS, rows)
        if further is not None:
            tell(f"There is more: --cursor {further}")
    return Exit.DONE


def show_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `jobs show`.
    """
    arguments.answer(parser)
    parser.add_argument("id", help="the job")


def run_show(given: argparse.Namespace) -> int:
    """
    Prints everything about one job.
    """
    with opened(given.app) as runtime:
        job = runtime.store.find(given.id) if is_job_id(given.id) else None
        summary = runtime.store.look_up([given.id]).get(given.id) if job is not None else None
    if job is None or summary is None:
        tell(f"error: there is no job with id {given.id[:60]!a}")
        return Exit.NOT_FOUND
    values = job_detail(job, summary).model_dump(mode="json")
    if given.json:
        write_json(values)
    else:
        write_values({name: value for name, value in values.items() if value not in (None, [])})
    return Exit.DONE


def command_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of a command to jobs.
    """
    arguments.answer(parser)
    arguments.actor(parser)
    arguments.job_filter(parser)
    parser.add_argument("ids", nargs="*", metavar="ID", help="jobs by id, up to 1000; or describe them as below")
    parser.add_argument("--token", help="carry out what the preview with this token showed")
    parser.add_argument("--yes", action="store_true", help="carry it out on all that match, without a look before")


def edit_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `jobs edit`.
    """
    command_arguments(parser)
    parser.add_argument("--payload", metavar="JSON", help="new payload; @FILE reads it from a file")
    parser.add_argument("--tags", help="new tags")
    parser.add_argument("--priority", type=int, help="new priority, 0 to 1000000")
    parser.add_argument("--resurrect", action="store_true", help="also bring dead jobs back")


def run_cancel(given: argparse.Namespace) -> int:
    """
    Cancels jobs.
    """
    return _run("cancel", given)


def run_resurrect(given: argparse.Namespace) -> int:
    """
    Brings dead jobs back.
    """
    return _run("resurrect", given)


def run_purge(given: argparse.Namespace) -> int:
    """
    Deletes ended jobs for good.
    """
    return _run("purge", given)


def run_edit(given: argparse.Namespace) -> int:
    """
    Changes jobs, and brings them back if so asked.
    """
    edit = {
        "payload": None if given.payload is None else payload_text(given.payload),
        "tags": given.tags,
        "priority": given.priority,
    }
    return _run("edit_and_resurrect" if given.resurrect else "edit", given, **edit)


def _run(command: str, given: argparse.Namespace, **edit: object) -> int:
    """
    Carries a command out, or shows what it would do: a filter is looked at first.
    """
    body = checked(CommandBody, {"command": command, **_target(given), **edit, "token": given.token})
    actor = arguments.actor_of(given)
    with _commands(given.app, needs_handlers=edit.get("payload") is not None) as commands:
        token = body.token
        if body.ids is None and token is None:
            preview = commands.preview(body.to_command(), actor)
            if not given.yes:
                return _show_preview(preview_view(preview, body.walk()), is_json=given.json)
            token = preview.token
        result = commands.run(body.to_command(), actor, token=token, accepts_changes=given.yes)
    if isinstance(result, SetChanged):
        tell("error: the jobs are not the ones of the preview any more; nothing was done. This is how they are now:")
        _show_preview(preview_view(result.preview, body.walk()), is_json=given.json)
        return Exit.FAILED
    return _show_answer(command_answer(result, body.walk()), is_json=given.json)


def _target(given: argparse.Namespace) -> dict[str, object]:
    if given.ids and given.pillar is not None:
        raise InvalidJobError([FieldProblem("ids", "name jobs either by their ids or by --pillar and what follows it")])
    if given.ids:
        return {"ids": given.ids}
    return {"filter": arguments.filter_values(given), "cursor": given.cursor}


@contextmanager
def _commands(app: Path, *, needs_handlers: bool) -> Iterator[JobCommands]:
    """
    The commands; only a new payload needs the app's handlers, which know what fits.
    """
    if needs_handlers:
        with imported(app) as chokaq:
            yield chokaq.jobs
    else:
        with opened(app) as runtime:
            yield runtime.jobs


def _show_preview(preview: PreviewView, *, is_json: bool) -> int:
    if is_json:
        write_json(preview.model_dump(mode="json"))
        return Exit.DONE
    print(f"{preview.command} would change {preview.touched} job(s):")
    write_table(_COLUMNS, [job.model_dump(mode="json") for job in preview.samples])
    for effect in preview.effects:
        print(f"{effect.jobs} x {effect.effect}")
    for refusal in preview.refusals:
        print(f"{refusal.jobs} x left alone: {refusal.why}")
    if preview.touched:
        tell(f"Nothing was done yet. Repeat the command with --token {preview.token}")
    else:
        tell("There is nothing to do")
    _tell_of_rest(preview.further)
    return Exit.DONE


def _show_answer(answer: CommandAnswer, *, is_json: bool) -> int:
    if is_json:
        write_json(answer.model_dump(mode="json"))
    else:
        write_table(("id", "outcome", "why", "holder_id"), [r.model_dump(mode="json") for r in answer.results])
        print(f"{answer.done} done, {answer.skipped} left alone")
        _tell_of_rest(answer.further)
    return Exit.INCOMPLETE if answer.skipped else Exit.DONE


def _tell_of_rest(further: str | None) -> None:
    if further is not None:
        tell(f"There may be more: --cursor {further}")
