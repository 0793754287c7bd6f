"""
What people did, as it is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from chokaq_core.domain.value import Value


class LogNote(Value):
    """
    What to write down of a command, in the transaction that carries it out.

    Attributes:
        actor: who, at most 100 characters.
        command: such as `resurrect`, at most 50 characters.
        target: the ids, the filter or the queue, as JSON text.
    """

    actor: str
    command: str
    target: str


class LogEntry(Value):
    """
    One line of the operator log. Numbers rise with time.

    Attributes:
        affected: how many jobs or queues were changed.
        outcome: in words: `2 resurrected, 1 key_held`.
    """

    number: int
    at: datetime
    actor: str
    command: str
    target: str
    affected: int
    outcome: str


def tally(outcomes: Iterable[str]) -> str:
    """
    How often each outcome came, most frequent first: `2 resurrected, 1 key_held`; `nothing` for none.
    """
    counts = Counter(outcomes).most_common()
    return ", ".join(f"{count} {outcome}" for outcome, count in counts) or "nothing"
