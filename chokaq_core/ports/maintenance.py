"""
The part of a store that deletes and folds what is old.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.domain.job import Place


class MaintenanceStore(Protocol):
    """
    What keeps the database small. Each call is one short transaction, safe to repeat and to run twice at once.

    The answer is what this call removed; a batch that was not full says that nothing is left for now.
    """

    def purge_expired(self, pillar: Place, older_than: timedelta, limit: int) -> int:
        """
        Deletes up to `limit` jobs of the archive or the DLQ that ended so long ago, oldest first.
        """

    def prune_buckets(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes metric buckets of so long ago, oldest first. Those of one second go together, so it may be a few more.
        """

    def prune_operator_log(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes up to `limit` entries of the operator log of so long ago, oldest first.
        """

    def prune_lanes(self, empty_for: timedelta) -> int:
        """
        Forgets lanes without an active job that earlier calls have found empty for so long; may skip its turn.

        A job stored later brings its lane back: no enqueue or resurrection may trust that a lane is there still.
        """

    def fold_counters(self, limit: int) -> int:
        """
        Adds up to `limit` rows each of totals and buckets of single workers to rows for all of them.

        Totals only of workers without a row; buckets that are minutes old. No sum of `totals` or `buckets` changes.
        """
