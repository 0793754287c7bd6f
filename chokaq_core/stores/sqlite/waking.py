"""
From when on jobs could be claimed, and which delayed wakes are worth sending for that.

Only one is sent for a time earlier than the one already under way.
"""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from chokaq_core.ports import WAKE_HORIZON
from chokaq_core.stores.sqlite.rows import span_micros

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.stores.sqlite.circuits import Board
    from chokaq_core.stores.sqlite.database import Transaction

Waiting = tuple[str, str, int]
"""A waiting job's queue, type and due time."""


class Outlook:
    """
    From when on waiting jobs could be claimed, as far as is known now.

    Nobody knows when a queue opens that is closed or at its limit: who opens it, or ends a job of it, looks for work.

    Args:
        board: the circuits; None where neither a circuit nor a queue holds anything back.
    """

    def __init__(self, transaction: Transaction, board: Board | None) -> None:
        self._transaction = transaction
        self._board = board

    def opens_at(self, job: Waiting) -> int | None:
        """
        When the job may be claimed: when it is due and its type not held back; None where nobody knows.
        """
        queue, type_key, due = job
        if queue in self._closed:
            return None
        until = self._board.held_until(type_key) if self._board is not None else None
        return due if until is None else max(due, until)

    def first_of(self, jobs: Iterable[Waiting]) -> int | None:
        """
        When the first of the jobs may be claimed.
        """
        if self._board is None:
            return min([due for _, _, due in jobs], default=None)
        return min((at for job in jobs if (at := self.opens_at(job)) is not None), default=None)

    def next_due(self) -> int | None:
        """
        When the first job may be claimed that may not be claimed now, out of the thousand that are due next.
        """
        due: int | None
        due, queue = self._transaction.row("wake_next_due") or (None, None)
        held = self._board.held() if self._board is not None else {}
        if not held and (queue is None or queue not in self._closed):
            return due
        values = {"closed": json.dumps(list(self._closed)), "held": json.dumps(list(held.items()))}
        opens_at: int | None = self._transaction.value("wake_next_open", **values)
        return opens_at

    @cached_property
    def _closed(self) -> frozenset[str]:
        names = self._transaction.rows("wake_closed") if self._board is not None else ()
        return frozenset(name for (name,) in names)


def ask_for_wake(transaction: Transaction, due: int | None) -> timedelta | None:
    """
    How long a delayed wake for this due time should wait; None when none is wanted.

    Remembers what it grants, for all processes; a time that has passed is forgotten, so a lost wake blocks nothing.
    """
    if due is None or not 0 < due - transaction.now <= span_micros(WAKE_HORIZON):
        return None
    known = transaction.value("wake_due")
    if known is not None and transaction.now < known <= due:
        return None
    transaction.change("wake_ask", due=due)
    return timedelta(microseconds=due - transaction.now)
