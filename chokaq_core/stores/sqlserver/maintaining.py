"""
Keeping the database small: old rows go in batches, counters of gone workers are folded into one row.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.job import Place
from chokaq_core.ports import MAX_BATCH

if TYPE_CHECKING:
    from chokaq_core.stores.sqlserver.database import Database

FOLD_AFTER = timedelta(minutes=2)
"""Younger counts may still be added to, by a worker that holds on to its second."""

_EXPIRE = {Place.ARCHIVE: "expire_archive", Place.DLQ: "expire_dlq"}


def purge_expired(database: Database, pillar: Place, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest jobs of a pillar that ended so long ago.
    """
    return _in_batches(database, _EXPIRE[pillar], older_than, limit)


def prune_buckets(database: Database, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest counts, whole seconds of them.
    """
    return _in_batches(database, "prune_buckets", older_than, limit)


def prune_operator_log(database: Database, older_than: timedelta, limit: int) -> int:
    """
    Deletes the oldest entries of the operator log.
    """
    return _in_batches(database, "prune_log", older_than, limit)


def prune_lanes(database: Database, empty_for: timedelta) -> int:
    """
    Forgets lanes that have been seen empty for so long.
    """
    (((gone,),),) = database.run("prune_lanes", {"older_than": -empty_for})
    return int(gone)


def fold_counters(database: Database, limit: int) -> int:
    """
    Folds counts of single workers into one row; says how many rows went.
    """
    values: dict[str, object] = {"older_than": -FOLD_AFTER, "most": min(limit, MAX_BATCH)}
    (((gone,),),) = database.run("fold_counters", values)
    return int(gone)


def _in_batches(database: Database, name: str, older_than: timedelta, limit: int) -> int:
    """
    Deletes in transactions of at most a thousand rows each, until the limit is reached or one was not full.
    """
    total = 0
    while total < limit:
        most = min(MAX_BATCH, limit - total)
        (((gone,),),) = database.run(name, {"older_than": -older_than, "most": most})
        total += gone
        if gone < most:
            break
    return total
