"""
What people do to jobs and queues.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value, replace
from chokaq_core.ports import (
    MAX_BATCH,
    MAX_LOOK,
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
from chokaq_core.stores.sqlite.vitals import oldest_ready

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


class _CameDue(Value):
    """
    Jobs of each queue that came due since the last claim; not complete when there are others.

    Attributes:
        oldest: since when the longest waiting one has been due, those left out that circuits hold back.
    """

    jobs: Mapping[str, int]
    oldest: Mapping[str, int]
    is_complete: bool


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
    due = _came_due(transaction, circuit_rules)
    ready = oldest_ready(transaction, circuit_rules)
    return [
        _queue_row(row, transaction.now, due, ready.get(row[0])) for row in transaction.rows("queues", look=MAX_LOOK)
    ]


def change_queue(
    transaction: Transaction, name: str, change: QueueChange, note: LogNote | None, circuit_rules: CircuitRules
) -> QueueRow:
    """
    Sets controls; a queue that is closed by it gives its fetched jobs back.
    """
    transaction.change("enqueue_queue", queue=name)
    new = _changed(_controls_of(*transaction.rows("queue_controls", name=name)[0]), change)
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
    return next(row for row in queues(transaction, circuit_rules) if row.name == name)


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


def _came_due(transaction: Transaction, circuit_rules: CircuitRules) -> _CameDue:
    rows = transaction.rows("queues_due", has_circuits=circuit_rules.is_enabled, most=MAX_BATCH + 1)
    jobs = {queue: count for queue, count, _ in rows}
    oldest = {queue: at for queue, _, at in rows if at is not None}
    return _CameDue(jobs, oldest, is_complete=sum(jobs.values()) <= MAX_BATCH)


def _queue_row(row: tuple[Any, ...], now: int, due: _CameDue, oldest_ready: int | None) -> QueueRow:
    *controls, running, share, ready = row
    queue = _controls_of(*controls)
    waiting = [at for at in (oldest_ready, due.oldest.get(queue.name)) if at is not None]
    is_waiting = bool(waiting) and queue.is_active and not queue.is_paused
    return replace(
        queue,
        pending=min(ready, share) + due.jobs.get(queue.name, 0),
        is_pending_complete=ready <= share and due.is_complete,
        running=running,
        lag=timedelta(microseconds=max(0, now - min(waiting))) if is_waiting else timedelta(0),
    )


def _controls_of(
    name: str, is_paused: int, is_active: int, max_workers: int | None, zombie_seconds: int | None
) -> QueueRow:
    """
    A queue's controls, before anything is counted.
    """
    zombie_timeout = None if zombie_seconds is None else timedelta(seconds=zombie_seconds)
    return QueueRow(name, bool(is_paused), bool(is_active), max_workers, zombie_timeout)


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
