"""
What operators do to jobs and queues, and how it is answered.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from chokaq_core.domain.value import Value


class CancelOutcome(StrEnum):
    """
    What a cancel came to.
    """

    DEAD_LETTERED = "dead_lettered"
    MARKED = "marked"
    STALE = "stale"


class ResurrectOutcome(StrEnum):
    """
    What a resurrection came to.
    """

    RESURRECTED = "resurrected"
    KEY_HELD = "key_held"
    STALE = "stale"


class Edit(Value):
    """
    New values for a job that is not running; None leaves a value as it is.
    """

    payload: str | None = None
    tags: str | None = None
    priority: int | None = None


class QueueRow(Value):
    """
    A queue's controls, with what waits and runs in it.

    Attributes:
        is_pending_complete: False when more jobs wait than were counted.
    """

    name: str
    is_paused: bool
    is_active: bool
    max_workers: int | None
    zombie_timeout: timedelta | None
    pending: int = 0
    running: int = 0
    lag: timedelta = timedelta(0)
    is_pending_complete: bool = True


class QueueChange(Value):
    """
    New controls for a queue. Fields left at None stay; limits are cleared by name in `clear`.
    """

    is_paused: bool | None = None
    is_active: bool | None = None
    max_workers: int | None = None
    zombie_timeout: timedelta | None = None
    clear: frozenset[str] = frozenset()
