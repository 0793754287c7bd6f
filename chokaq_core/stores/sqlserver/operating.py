"""
What people do to jobs and queues.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.ports import (
    CancelOutcome,
    MetricBucket,
    PillarCounts,
    QueueChange,
    QueueRow,
    ResurrectOutcome,
    Totals,
)
from chokaq_core.stores.sqlserver.rows import circuit, is_possible_id, moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Edit
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.pool import Row

OPERATOR_SHARD = "operator"
"""Shard of counters for jobs that a person ended."""


def cancel(database: Database, job_ids: Sequence[str], by: str, rules: CircuitRules) -> Sequence[CancelOutcome]:
    """
    Move cancel, each job by its own state; an id given twice finds what its first naming came to.
    """
    values: Values = {"worker": OPERATOR_SHARD, "ids": _ids(job_ids), "actor": by, "has_circuits": rules.is_enabled}
    is_marked = dict(database.run("cancel", values)[0])  # type: ignore[arg-type]
    outcomes = {i: CancelOutcome.MARKED if mark else CancelOutcome.DEAD_LETTERED for i, mark in is_marked.items()}
    return [
        outcomes.get(job_id, CancelOutcome.STALE)
        if is_first or outcomes.get(job_id) is CancelOutcome.MARKED
        else CancelOutcome.STALE
        for job_id, is_first in _with_firsts(job_ids)
    ]


def resurrect(database: Database, job_ids: Sequence[str], by: str) -> Sequence[ResurrectOutcome]:
    """
    Move resurrect, each job by its own guard.
    """
    is_back = dict(database.run("resurrect_all", {"ids": _ids(job_ids), "actor": by})[0])  # type: ignore[arg-type]
    outcomes = {i: ResurrectOutcome.RESURRECTED if back else ResurrectOutcome.KEY_HELD for i, back in is_back.items()}
    return [
        outcomes.get(job_id, ResurrectOutcome.STALE)
        if is_first or outcomes.get(job_id) is ResurrectOutcome.KEY_HELD
        else ResurrectOutcome.STALE
        for job_id, is_first in _with_firsts(job_ids)
    ]


def edit(database: Database, job_id: str, edit: Edit, by: str) -> bool:
    """
    Move edit of a pending or a dead job.
    """
    if not is_possible_id(job_id):
        return False
    values: Values = {
        "id": job_id,
        "actor": by,
        "has_payload": edit.payload is not None,
        "payload": edit.payload or "",
        "has_tags": edit.tags is not None,
        "tags": edit.tags or "",
        "priority": edit.priority,
    }
    (((changed,),),) = database.run("edit", values)
    return bool(changed)


def purge(database: Database, job_ids: Sequence[str]) -> Sequence[bool]:
    """
    Move purge of archived and dead jobs.
    """
    gone = {job_id for (job_id,) in database.run("purge", {"ids": _ids(job_ids)})[0]}
    return [is_first and job_id in gone for job_id, is_first in _with_firsts(job_ids)]


def queues(database: Database) -> Sequence[QueueRow]:
    """
    All queues by name.
    """
    return [_queue_row(row) for row in database.run("queues")[0]]


def change_queue(database: Database, name: str, change: QueueChange) -> QueueRow:
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
    }
    rows = (_queue_row(row) for row in database.run("change_queue", values)[0])
    return next(row for row in rows if row.name == name)


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


def _ids(job_ids: Sequence[str]) -> str:
    """
    Ids that a job can bear, each once, with their order.
    """
    possible = [job_id for job_id in dict.fromkeys(job_ids) if is_possible_id(job_id)]
    return json.dumps([{"id": job_id, "ord": number} for number, job_id in enumerate(possible)])


def _with_firsts(job_ids: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """
    Each id with whether it is named for the first time.
    """
    seen: set[str] = set()
    for job_id in job_ids:
        yield job_id, job_id not in seen
        seen.add(job_id)


def _queue_row(row: Row) -> QueueRow:
    now, name, is_paused, is_active, max_workers, zombie_seconds, pending, running, oldest = row
    is_waiting = oldest is not None and is_active and not is_paused
    return QueueRow(
        name=name,
        is_paused=bool(is_paused),
        is_active=bool(is_active),
        max_workers=max_workers,
        zombie_timeout=None if zombie_seconds is None else timedelta(seconds=zombie_seconds),
        pending=pending,
        running=running,
        lag=max(timedelta(0), now - oldest) if is_waiting else timedelta(0),
    )
