"""
What a queue's row starts with.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class QueueRules:
    """
    The first values of a queue's row (section `Queues`); the row, changed at run time, wins from then on.

    Attributes:
        max_workers: hard limit on its fetched and processing jobs over all instances; None means no limit.
        zombie_timeout: its own heartbeat age that makes a zombie; None means `Recovery.ProcessingZombieTimeout`.
    """

    max_workers: int | None = None
    zombie_timeout: timedelta | None = None
