"""
The bound of a database in memory: beyond it the oldest archived jobs go first, then dead ones, active ones never.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.job import Place
from chokaq_core.stores.sqlite.maintaining import purge_expired

if TYPE_CHECKING:
    from chokaq_core.stores.sqlite.database import Transaction

LOOK_EVERY = 1_000
"""Rows are counted after so many jobs at most; counting is cheap, and not free."""


class Capacity:
    """
    Counts what may have filled the database and evicts what is too much. Used under the write lock only.

    Args:
        jobs: rows of all pillars together that are kept.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._look_every = max(1, min(LOOK_EVERY, jobs // 100))
        self._uncounted = 0

    def keep(self, transaction: Transaction, added: int) -> None:
        """
        Notes that so many jobs were stored or ended, and evicts when it is time to.
        """
        self._uncounted += added
        if self._uncounted < self._look_every:
            return
        self._uncounted = 0
        excess = sum(transaction.rows("counts")[0]) - self._jobs
        for pillar in (Place.ARCHIVE, Place.DLQ):
            if excess > 0:
                excess -= purge_expired(transaction, pillar, timedelta(0), excess)
