"""
What people do to jobs and queues.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.ports import (
    MAX_BATCH,
    MAX_LOOK,
    CancelOutcome,
    Edit,
    MetricBucket,
    PillarCounts,
    QueueChange,
    QueueRow,
    ResurrectOutcome,
    Totals,
)
from chokaq_core.stores.sqlserver.rows import circuit, is_possible_id, moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.domain.operator_log import LogNote
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.pool import Row

OPERATOR_SHARD = "operator"
"""Shard of counters for jobs that a person ended."""


def cancel(
    database: Database, job_ids: Sequence[str], by: str, note: LogNote | None, rules: CircuitRules
) -> Sequence[CancelOutcome]:
    """
    Move cancel, each job by its own state; a fetched probe that is cancelled gives its permit back.
    """
    values: Values = {"worker": OPERATOR_SHARD, "actor": by, "has_circuits": rules.is_enabled}
    return [CancelOutcome(outcome) for outcome in _command(database, "cancel", job_ids, note, values)]


def resurrect(
    database: Database, job_ids: Sequence[str], by: str, edit: Edit | None, note: LogNote | None
) -> Sequence[ResurrectOutcome]:
    """
    Move resurrect, each job by its own guard.
    """
    values: Values = {"actor": by, **_edit_values(edit or Edit())}
    return [ResurrectOutcome(outcome) for outcome in _command(database, "resurrect_all", job_ids, note, values)]


def edit(database: Database, job_ids: Sequence[str], edit: Edit, by: str, note: LogNote | None) -> Sequence[bool]:
    """
    Move edit of pending and dead jobs.
    """
    values: Values = {"actor": by, **_edit_values(edit)}
    return [outcome == "edited" for outcome in _command(database, "edit", job_ids, note, values)]


def purge(database: Database, job_ids: Sequence[str], note: LogNote | None) -> Sequence[bool]:
    """
    Move purge of archived and dead jobs.
    """
    return [outcome == "purged" for outcome in _command(database, "purge", job_ids, note, {})]


def queues(database: Database, rules: CircuitRules) -> Sequence[QueueRow]:
    """
    All queues by name.
    """
    return _queue_rows(database.run("queues_all", _look_values(rules)))


def change_queue(
    database: Database, name: str, change: QueueChange, note: LogNote | None, rules: CircuitRules
) -> QueueRow:
    """
    Sets controls; a queue that is closed by it gives its fetched jobs back.
    """
    timeout = change.zombie_timeout
    values: Values = {
        "name": name,
        "is_paused": change.is_paused,
        "is_active": change.is_active,
        "max_workers": change.max_workers,
        "clear_max_workers": "max_workers" in change.clear,
        "zombie_timeout": None if timeout is None else int(timeout.total_seconds()),
        "clear_zombie_timeout": "zombie_timeout" in change.clear,
        **_look_values(rules),
        **_note_values(note),
    }
    return next(row for row in _queue_rows(database.run("change_queue", values)) if row.name == name)


def circuits(database: Database) -> Sequence[Circuit]:
    """
    All circuits that have a row, by type.
    """
    return [circuit(row) for row in database.run("circuits")[0]]


def totals(database: Database) -> Mapping[str, Totals]:
    """
    Counters by queue, all shards together.
    """
    return {queue: Totals(*counts) for queue, *counts in database.run("totals")[0]}


def buckets(database: Database, since: datetime) -> Sequence[MetricBucket]:
    """
    Metric buckets from a time on, oldest first.
    """
    return [MetricBucket(moment(at), *rest) for at, *rest in database.run("buckets", {"since": since})[0]]


def counts(database: Database) -> PillarCounts:
    """
    Rows in each pillar.
    """
    ((row,),) = database.run("counts")
    return PillarCounts(*row)


def _command(database: Database, name: str, job_ids: Sequence[str], note: LogNote | None, values: Values) -> list[str]:
    """
    Carries out a command on jobs; says what became of each, in order.
    """
    common: Values = {"ids": _named(job_ids), **_note_values(note)}
    return [outcome for (outcome,) in database.run(name, {**common, **values})[0]]


def _named(job_ids: Sequence[str]) -> str:
    """
    The ids in order, each with whether it is named for the first time; one that no job can bear is empty.
    """
    seen: set[str] = set()
    rows = []
    for number, job_id in enumerate(job_ids):
        rows.append({"ord": number, "id": job_id if is_possible_id(job_id) else None, "first": int(job_id not in seen)})
        seen.add(job_id)
    return json.dumps(rows)


def _edit_values(edit: Edit) -> Values:
    return {
        "has_payload": edit.payload is not None,
        "payload": edit.payload or "",
        "has_tags": edit.tags is not None,
        "tags": edit.tags or "",
        "priority": edit.priority,
    }


def _note_values(note: LogNote | None) -> Values:
    if note is None:
        return {"note_actor": "", "command": "", "target": ""}
    return {"note_actor": note.actor, "command": note.command, "target": note.target}


def _look_values(rules: CircuitRules) -> Values:
    return {"look": MAX_LOOK, "most": MAX_BATCH + 1, "has_circuits": rules.is_enabled}


def _queue_rows(results: Sequence[Sequence[Row]]) -> list[QueueRow]:
    """
    Queues, from their ready jobs, the oldest ready one of each, and the jobs that came due since the last claim.
    """
    queues, ready, due = results
    oldest = dict(tuple(row) for row in ready)
    for queue, _, at in due:
        if at is not None:
            oldest[queue] = min(at, oldest.get(queue, at))
    came_due = {queue: jobs for queue, jobs, _ in due}
    is_complete = sum(came_due.values()) <= MAX_BATCH
    return [_queue_row(row, oldest.get(row[1]), came_due.get(row[1], 0), is_complete=is_complete) for row in queues]


def _queue_row(row: Row, oldest: datetime | None, came_due: int, *, is_complete: bool) -> QueueRow:
    now, name, is_paused, is_active, max_workers, zombie_seconds, running, share, ready = row
    is_waiting = oldest is not None and is_active and not is_paused
    return QueueRow(
        name=name,
        is_paused=bool(is_paused),
        is_active=bool(is_active),
        max_workers=max_workers,
        zombie_timeout=None if zombie_seconds is None else timedelta(seconds=zombie_seconds),
        pending=min(ready, share) + came_due,
        is_pending_complete=ready <= share and is_complete,
        running=running,
        lag=max(timedelta(0), now - oldest) if is_waiting and oldest is not None else timedelta(0),
    )
