"""
Keeping the database small: old rows go in batches, counters of gone workers are folded into one row.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.job import Place
from chokaq_core.stores.sqlite.rows import span_micros

if TYPE_CHECKING:
    from chokaq_core.stores.sqlite.database import Transaction

FOLDED_SHARD = ""
"""Where counts of all workers end up."""
FOLD_AFTER = timedelta(minutes=2)
"""Younger counts may still be added to, by a worker that holds on to its second."""
MAX_ASLEEP = 10_000
"""With more jobs that wait for their due time, lanes are not looked at: a lane more costs little, a long look much."""

_EXPIRE = {Place.ARCHIVE: "expire_archive", Place.DLQ: "expire_dlq"}


def purge_expired(transaction: Transaction, pillar: Place, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest jobs of a pillar that ended so long ago.
    """
    return transaction.change(_EXPIRE[pillar], older_than=_before(transaction, older_than), most=limit)


def prune_buckets(transaction: Transaction, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest counts, whole seconds of them.
    """
    until = transaction.value("buckets_oldest", older_than=_before(transaction, older_than), most=limit)
    return 0 if until is None else transaction.change("prune_buckets", until=until)


def prune_operator_log(transaction: Transaction, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest entries of the operator log.
    """
    return transaction.change("prune_log", older_than=_before(transaction, older_than), most=limit)


def prune_lanes(transaction: Transaction, empty_for: timedelta) -> int:
    """
    Forgets lanes that have been seen empty for so long. Under the write lock none of them is filled meanwhile.
    """
    if transaction.value("lanes_asleep", most=MAX_ASLEEP) >= MAX_ASLEEP:
        return 0
    transaction.change("lanes_mark")
    return transaction.change("lanes_prune", older_than=_before(transaction, empty_for))


def fold_counters(transaction: Transaction, limit: int) -> int:
    """
    Folds counts of single workers into one row; says how many rows went.
    """
    return _fold_buckets(transaction, limit) + _fold_stats(transaction, limit)


def _fold_buckets(transaction: Transaction, limit: int) -> int:
    names = ("bucket", "queue", "outcome", "reason", "shard", "completed", "duration_count", "total_ms", "max_ms")
    found = transaction.rows("fold_found", older_than=_before(transaction, FOLD_AFTER), most=limit)
    rows = [dict(zip(names, row, strict=True)) for row in found]
    transaction.change_each("fold_leave", rows)
    transaction.change_each("turn_bucket", [{**row, "shard": FOLDED_SHARD} for row in rows])
    return len(rows)


def _fold_stats(transaction: Transaction, limit: int) -> int:
    names = ("queue", "shard", "succeeded", "failed", "retried", "active_at")
    rows = [dict(zip(names, row, strict=True)) for row in transaction.rows("fold_stats_found", most=limit)]
    transaction.change_each("fold_stats_leave", rows)
    transaction.change_each("fold_stats", rows)
    return len(rows)


def _before(transaction: Transaction, age: timedelta) -> int:
    return transaction.now - span_micros(age)
