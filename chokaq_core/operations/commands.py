"""
Commands to jobs: what to do, to which jobs, and the rules that hold before any job is looked at.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import FieldProblem
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.domain.value import Value, asdict, field
from chokaq_core.policy.envelope import is_job_id, revision_problems
from chokaq_core.ports import MAX_BATCH, Edit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.domain.listing import JobFilter


class Verb(StrEnum):
    """
    What can be done to jobs.
    """

    CANCEL = "cancel"
    RESURRECT = "resurrect"
    EDIT = "edit"
    EDIT_AND_RESURRECT = "edit_and_resurrect"
    SET_PRIORITY = "set_priority"
    PURGE = "purge"


PILLARS: dict[Verb, frozenset[Pillar]] = {
    Verb.CANCEL: frozenset({Pillar.HOT}),
    Verb.RESURRECT: frozenset({Pillar.DLQ}),
    Verb.EDIT: frozenset({Pillar.HOT, Pillar.DLQ}),
    Verb.EDIT_AND_RESURRECT: frozenset({Pillar.DLQ}),
    Verb.SET_PRIORITY: frozenset({Pillar.HOT, Pillar.DLQ}),
    Verb.PURGE: frozenset({Pillar.ARCHIVE, Pillar.DLQ}),
}
"""Where jobs may be for a command to do anything to them."""

RESURRECTING = frozenset({Verb.RESURRECT, Verb.EDIT_AND_RESURRECT})

_EDITING = {
    Verb.EDIT: frozenset({"payload", "tags", "priority"}),
    Verb.EDIT_AND_RESURRECT: frozenset({"payload", "tags", "priority"}),
    Verb.SET_PRIORITY: frozenset({"priority"}),
}


class Ids(Value):
    """
    Jobs by their ids, up to 1000.
    """

    ids: tuple[str, ...]


class Matching(Value):
    """
    The jobs that a list shows, from where it begins: the first 1000 of them within one look.
    """

    query: JobQuery


class JobCommand(Value):
    """
    One command. Only edits and priorities take new values.
    """

    verb: Verb
    target: Ids | Matching
    edit: Edit = field(default_factory=Edit)


def problems_of(command: JobCommand) -> Iterator[FieldProblem]:
    """
    What is wrong with a command in itself.
    """
    if isinstance(command.target, Ids):
        yield from _id_problems(command.target.ids)
    else:
        yield from _pillar_problems(command.verb, command.target.query.pillar)
        yield from filter_problems(command.target.query.pillar, command.target.query.filter)
    yield from _edit_problems(command)


def filter_problems(pillar: Pillar, job_filter: JobFilter) -> Iterator[FieldProblem]:
    """
    What a filter asks for that jobs of its pillar do not have.
    """
    if job_filter.status is not None and pillar is not Pillar.HOT:
        yield FieldProblem("status", "only active jobs (pillar hot) have a status to choose by")
    if job_filter.reason is not None and pillar is not Pillar.DLQ:
        yield FieldProblem("reason", "only dead jobs (pillar dlq) have a reason")
    if job_filter.error_text is not None and pillar is not Pillar.DLQ:
        yield FieldProblem("error_text", "only dead jobs (pillar dlq) have an error to search in")


def target_text(target: Ids | Matching) -> str:
    """
    A target as the operator log keeps it: compact JSON, whole.
    """
    if isinstance(target, Ids):
        return _compact({"ids": list(target.ids)})
    query = target.query
    given = {name: _word(value) for name, value in asdict(query.filter).items() if value is not None}
    order = {"order": "oldest"} if query.is_oldest_first else {}
    after = {"after": [query.after.at, query.after.job_id]} if query.after is not None else {}
    return _compact({"pillar": query.pillar, **given, **order, **after})


def _id_problems(ids: tuple[str, ...]) -> Iterator[FieldProblem]:
    if not 1 <= len(ids) <= MAX_BATCH:
        yield FieldProblem("ids", f"1 to {MAX_BATCH} ids in one call; got {len(ids)}")
    elif (wrong := next((job_id for job_id in ids if not is_job_id(job_id)), None)) is not None:
        yield FieldProblem("ids", f"{wrong[:60]!a} is no job id")


def _pillar_problems(verb: Verb, pillar: Pillar) -> Iterator[FieldProblem]:
    if pillar not in PILLARS[verb]:
        names = " or ".join(sorted(PILLARS[verb]))
        yield FieldProblem("pillar", f"{verb} does nothing to jobs in {pillar}; choose {names}")


def _edit_problems(command: JobCommand) -> Iterator[FieldProblem]:
    edit = command.edit
    given = {name for name, value in asdict(edit).items() if value is not None}
    allowed = _EDITING.get(command.verb, frozenset())
    for name in sorted(given - allowed):
        yield FieldProblem(name, f"{command.verb} takes no {name}")
    if allowed and not given:
        yield FieldProblem("edit", f"{command.verb} needs a new value: {', '.join(sorted(allowed))}")
    yield from revision_problems(edit.tags, edit.priority)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _word(value: object) -> object:
    """
    A status or a reason by its name, since people read it; anything else as it is.
    """
    return value.label if isinstance(value, (Status, FailureReason)) else value
