"""
How long to wait before a call is repeated.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.stores.sqlserver.errors import FaultKind

if TYPE_CHECKING:
    from chokaq_core.policy.sqlserver import SqlServerSettings

LONGEST_PAUSE = timedelta(seconds=30)
AWAY_FACTOR = 5
"""A server that is away is asked again this much later than one that is busy."""

_MOST_DOUBLINGS = 20


def pause_before_repeat(
    kind: FaultKind, repetitions: int, settings: SqlServerSettings, roll: float
) -> timedelta | None:
    """
    The pause before the next repetition, or None when the call is given up.

    A busy server is asked again after the base delay, with jitter from half to one and a half of it, so that rivals
    part. One that is away is asked after five times that, doubled with each repetition. The loops above a call go on
    by themselves, so a call's own patience is short.

    Args:
        kind: what the fault was.
        repetitions: how often the call was repeated already.
        settings: how often it may be, and the base delay.
        roll: a random number from 0 to 1.
    """
    if kind is FaultKind.REFUSED or repetitions >= settings.max_transient_retries:
        return None
    factor = 1 if kind is FaultKind.BUSY else AWAY_FACTOR << min(repetitions, _MOST_DOUBLINGS)
    return min(settings.transient_retry_base_delay * (0.5 + roll) * factor, LONGEST_PAUSE)
