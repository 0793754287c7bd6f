"""
Which delayed wakes are worth sending: only one for a time earlier than the one already under way.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.ports import WAKE_HORIZON
from chokaq_core.stores.sqlite.rows import span_micros

if TYPE_CHECKING:
    from chokaq_core.stores.sqlite.database import Transaction


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
