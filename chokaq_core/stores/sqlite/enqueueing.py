"""
Storing new jobs: nearly all are new, and are written without a look; where one is not, each gets an outcome of its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.ports import EnqueueAnswer, EnqueueItem, EnqueueOutcome
from chokaq_core.stores.sqlite.circuits import Board
from chokaq_core.stores.sqlite.rows import micros, span_micros
from chokaq_core.stores.sqlite.waking import Outlook, ask_for_wake

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chokaq_core.domain.job import NewJob
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.stores.sqlite.database import Transaction

_CREATED = EnqueueOutcome.CREATED
_Row = tuple[Any, ...]
"""What `enqueue` binds for one job, in the order of its numbers: the lane, the due time, and all the rest."""

_LANE, _WAITING = slice(2), slice(3)
_NO_LANE = ((None, None),)
_NULL = 0
"""What `enqueue` takes for NULL. To bind None costs twice as much as a text, because Python looks for an adapter."""

_LAST_MICROSECOND = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999Z."""


def enqueue(transaction: Transaction, jobs: Sequence[NewJob], circuit_rules: CircuitRules) -> EnqueueAnswer:
    """
    Writes the jobs, taking them all for new; only where that was wrong each of them is judged.
    """
    now = transaction.now
    rows = created = _rows(jobs, now)
    items = tuple(EnqueueItem(_CREATED, job.id) for job in jobs)
    if not _write(transaction, rows):
        new, items = _judged(transaction, jobs)
        rows = _rows(new, now)
        created = _rows((job for job, item in zip(jobs, items, strict=True) if item.outcome is _CREATED), now)
        if not _write(transaction, rows):
            msg = "jobs that were found to be new could not be written"
            raise StoreRefusedError(msg)
    is_worker_looking, may_be_held = _open_lanes(transaction, rows)
    outlook = Outlook(transaction, Board(transaction, circuit_rules) if may_be_held else None)
    first = outlook.first_of([row[_WAITING] for row in rows])
    first_created = first if created is rows else outlook.first_of([row[_WAITING] for row in created])
    return EnqueueAnswer(
        items=items,
        is_claimable=first_created == now,
        is_worker_looking=bool(is_worker_looking),
        wake_in=ask_for_wake(transaction, first),
    )


def _write(transaction: Transaction, rows: list[_Row]) -> bool:
    """
    Writes all jobs or none: false when an id or a key is taken, in the store or by an earlier job of the batch.
    """
    return transaction.all_or_none(len(rows), lambda: transaction.change_each("enqueue", rows))


def _open_lanes(transaction: Transaction, rows: list[_Row]) -> tuple[int, int]:
    """
    Sees to it that claims look where the jobs are.

    Returns:
        Whether a worker looks for jobs, and whether anything may hold jobs back.
    """
    is_worker_looking = may_be_held = 0
    for queue, type_key in {row[_LANE] for row in rows} or _NO_LANE:
        has_lane, is_worker_looking, may_be_held = transaction.look("enqueue_look", queue, type_key, transaction.now)
        if not has_lane:
            transaction.change("enqueue_lane", queue=queue, type_key=type_key)
            transaction.change("enqueue_queue", queue=queue)
    return is_worker_looking, may_be_held


def _judged(transaction: Transaction, jobs: Sequence[NewJob]) -> tuple[list[NewJob], tuple[EnqueueItem, ...]]:
    """
    The jobs that are new, and the outcome of each, against what is stored and what came before it in the batch.
    """
    known = _Known(transaction, jobs)
    new: list[NewJob] = []
    items: list[EnqueueItem] = []
    for job in jobs:
        item, is_new = known.judge(job)
        items.append(item)
        if is_new:
            new.append(job)
            known.remember(job)
    return new, tuple(items)


class _Known:
    """
    Ids and keys that are taken: in the store, and by earlier jobs of the batch.
    """

    def __init__(self, transaction: Transaction, jobs: Sequence[NewJob]) -> None:
        ids = json.dumps([job.id for job in jobs])
        keys = json.dumps([job.idempotency_key for job in jobs if job.idempotency_key is not None])
        self._ids = {i: (t, p) for i, t, p in transaction.rows("enqueue_existing", ids=ids)}
        self._keys = {k: (i, t, p) for k, i, t, p in transaction.rows("enqueue_key_holders", keys=keys)}

    def judge(self, job: NewJob) -> tuple[EnqueueItem, bool]:
        """
        The job's outcome, and whether it is to be written.
        """
        content = (job.type_key, job.payload)
        if job.id in self._ids:
            is_repeat = self._ids[job.id] == content
            return EnqueueItem(EnqueueOutcome.CREATED if is_repeat else EnqueueOutcome.ID_TAKEN, job.id), False
        if job.idempotency_key in self._keys:
            first_id, *held = self._keys[job.idempotency_key]
            is_same = tuple(held) == content
            return EnqueueItem(EnqueueOutcome.DUPLICATE if is_same else EnqueueOutcome.KEY_CONFLICT, first_id), False
        return EnqueueItem(EnqueueOutcome.CREATED, job.id), True

    def remember(self, job: NewJob) -> None:
        """
        Takes the job's id and key for the rest of the batch.
        """
        self._ids[job.id] = (job.type_key, job.payload)
        if job.idempotency_key is not None:
            self._keys[job.idempotency_key] = (job.id, job.type_key, job.payload)


def _rows(jobs: Iterable[NewJob], now: int) -> list[_Row]:
    return [
        (
            job.queue,
            job.type_key,
            _due(job, now),
            now,
            job.id,
            job.payload,
            job.priority,
            _NULL if job.tags is None else job.tags,
            _NULL if job.idempotency_key is None else job.idempotency_key,
            _NULL if job.trace_parent is None else job.trace_parent,
            _NULL if job.created_by is None else job.created_by,
        )
        for job in jobs
    ]


def _due(job: NewJob, now: int) -> int:
    """
    When the job may first run: a due time in the past counts as now.
    """
    if job.due_at is not None:
        return max(micros(job.due_at), now)
    if job.delay is not None:
        return min(now + span_micros(job.delay), _LAST_MICROSECOND)
    return now
