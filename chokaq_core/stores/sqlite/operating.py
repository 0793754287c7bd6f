"""
What people do to jobs and queues.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.ports import (
    CancelOutcome,
    MetricBucket,
    PillarCounts,
    QueueChange,
    QueueRow,
    ResurrectOutcome,
    Totals,
)
from chokaq_core.stores.sqlite.circuits import release_probes
from chokaq_core.stores.sqlite.listing import write_note
from chokaq_core.stores.sqlite.rows import micros, moment
from chokaq_core.stores.sqlite.settling import Ending, count_endings, dead_letter, no_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from chokaq_core.domain.operator_log import LogNote
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Edit
    from chokaq_core.stores.sqlite.database import Transaction

OPERATOR_SHARD = "operator"
"""Shard of counters for jobs that a person ended."""

_PROCESSING = 2


def cancel(
    transaction: Transaction, job_ids: Sequence[str], by: str, note: LogNote | None, circuit_rules: CircuitRules
) -> Sequence[CancelOutcome]:
    """
    Move cancel, each job by its own state; a fetched probe that is cancelled gives its permit back.
    """
    outcomes = [_cancel(transaction, job_id, by) for job_id in job_ids]
    ended = [i for i, outcome in zip(job_ids, outcomes, strict=True) if outcome is CancelOutcome.DEAD_LETTERED]
    release_probes(transaction, ended, circuit_rules)
    write_note(transaction, note, outcomes, len(outcomes) - outcomes.count(CancelOutcome.STALE))
    return outcomes


def resurrect(
    transaction: Transaction, job_ids: Sequence[str], by: str, edit: Edit | None, note: LogNote | None
) -> Sequence[ResurrectOutcome]:
    """
    Move resurrect, each job by its own guard.
    """
    outcomes = [_resurrect(transaction, job_id, by, edit) for job_id in job_ids]
    write_note(transaction, note, outcomes, outcomes.count(ResurrectOutcome.RESURRECTED))
    return outcomes


def edit(transaction: Transaction, job_ids: Sequence[str], edit: Edit, by: str, note: LogNote | None) -> Sequence[bool]:
    """
    Move edit of pending and dead jobs.
    """
    outcomes = [_edit(transaction, job_id, edit, by) for job_id in job_ids]
    write_note(transaction, note, ["edited" if is_done else "stale" for is_done in outcomes], sum(outcomes))
    return outcomes


def purge(transaction: Transaction, job_ids: Sequence[str], note: LogNote | None) -> Sequence[bool]:
    """
    Move purge of archived and dead jobs.
    """
    outcomes = [
        transaction.change("leave_archive", id=job_id) + transaction.change("leave_dlq", id=job_id) > 0
        for job_id in job_ids
    ]
    write_note(transaction, note, ["purged" if is_done else "stale" for is_done in outcomes], sum(outcomes))
    return outcomes


def queues(transaction: Transaction, circuit_rules: CircuitRules) -> Sequence[QueueRow]:
    """
    All queues by name.
    """
    rows = transaction.rows("queues", has_circuits=circuit_rules.is_enabled)
    return [_queue_row(row, transaction.now) for row in rows]


def change_queue(
    transaction: Transaction, name: str, change: QueueChange, note: LogNote | None, circuit_rules: CircuitRules
) -> QueueRow:
    """
    Sets controls; a queue that is closed by it gives its fetched jobs back.
    """
    transaction.change("enqueue_queue", queue=name)
    old = _one_queue(transaction, name, circuit_rules)
    new = _changed(old, change)
    transaction.change(
        "change_queue",
        name=name,
        is_paused=new.is_paused,
        is_active=new.is_active,
        max_workers=new.max_workers,
        zombie_timeout=None if new.zombie_timeout is None else int(new.zombie_timeout.total_seconds()),
    )
    if new.is_paused or not new.is_active:
        fetched = [job_id for (job_id,) in transaction.rows("change_queue_fetched", name=name)]
        transaction.change_each("turn_release", [{"id": job_id, "now": transaction.now} for job_id in fetched])
        release_probes(transaction, fetched, circuit_rules)
    write_note(transaction, note, ["changed"], 1)
    return _one_queue(transaction, name, circuit_rules)


def totals(transaction: Transaction) -> Mapping[str, Totals]:
    """
    Counters by queue, all shards together.
    """
    return {queue: Totals(*counts) for queue, *counts in transaction.rows("totals")}


def buckets(transaction: Transaction, since: datetime) -> Sequence[MetricBucket]:
    """
    Metric buckets from a time on, oldest first.
    """
    return [MetricBucket(moment(at), *rest) for at, *rest in transaction.rows("buckets", since=micros(since))]


def counts(transaction: Transaction) -> PillarCounts:
    """
    Rows in each pillar.
    """
    return PillarCounts(*transaction.rows("counts")[0])


def _cancel(transaction: Transaction, job_id: str, by: str) -> CancelOutcome:
    found = transaction.row("cancel_found", id=job_id)
    if found is None:
        return CancelOutcome.STALE
    queue, status = found
    if status == _PROCESSING:
        transaction.change("cancel_mark", id=job_id, actor=by)
        return CancelOutcome.MARKED
    dead_letter(transaction, job_id, FailureReason.CANCELLED, no_error(f"cancelled by {by}"), by)
    count_endings(transaction, OPERATOR_SHARD, [Ending(queue, Move.DEAD_LETTER, FailureReason.CANCELLED)])
    return CancelOutcome.DEAD_LETTERED


def _edit(transaction: Transaction, job_id: str, edit: Edit, by: str) -> bool:
    values = {"id": job_id, "actor": by, "payload": edit.payload, "tags": edit.tags, "priority": edit.priority}
    return transaction.change("edit_hot", **values) + transaction.change("edit_dlq", **values) > 0


def _resurrect(transaction: Transaction, job_id: str, by: str, edit: Edit | None) -> ResurrectOutcome:
    found = transaction.row("resurrect_found", id=job_id)
    if found is None:
        return ResurrectOutcome.STALE
    key, queue, type_key = found
    if key is not None and transaction.value("resurrect_key_held", held_key=key):
        return ResurrectOutcome.KEY_HELD
    if edit is not None:
        _edit(transaction, job_id, edit, by)
    transaction.change("resurrect", id=job_id, actor=by)
    transaction.change("leave_dlq", id=job_id)
    transaction.change("enqueue_queue", queue=queue)
    transaction.change("enqueue_lane", queue=queue, type_key=type_key)
    return ResurrectOutcome.RESURRECTED


def _one_queue(transaction: Transaction, name: str, circuit_rules: CircuitRules) -> QueueRow:
    return next(row for row in queues(transaction, circuit_rules) if row.name == name)


def _queue_row(row: tuple[str, int, int, int | None, int | None, int, int, int | None], now: int) -> QueueRow:
    name, is_paused, is_active, max_workers, zombie_seconds, pending, running, oldest = row
    is_waiting = oldest is not None and is_active and not is_paused
    return QueueRow(
        name=name,
        is_paused=bool(is_paused),
        is_active=bool(is_active),
        max_workers=max_workers,
        zombie_timeout=None if zombie_seconds is None else timedelta(seconds=zombie_seconds),
        pending=pending,
        running=running,
        lag=timedelta(microseconds=max(0, now - oldest)) if is_waiting and oldest is not None else timedelta(0),
    )


def _changed(old: QueueRow, change: QueueChange) -> QueueRow:
    max_workers = change.max_workers if change.max_workers is not None else old.max_workers
    zombie_timeout = change.zombie_timeout if change.zombie_timeout is not None else old.zombie_timeout
    return QueueRow(
        name=old.name,
        is_paused=old.is_paused if change.is_paused is None else change.is_paused,
        is_active=old.is_active if change.is_active is None else change.is_active,
        max_workers=None if "max_workers" in change.clear else max_workers,
        zombie_timeout=None if "zombie_timeout" in change.clear else zombie_timeout,
    )
