"""
Hints that there may be work.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

WAKE_HORIZON = timedelta(minutes=15)
"""Due times further off get no delayed wake; the poll finds them."""


class WakeSender(Protocol):
    """
    Sends hints that there may be work. Losing, doubling or delaying a wake changes latency only.
    """

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Sends one wake, visible after `delay`.

        Raises:
            OSError: it could not be sent; the caller logs that and goes on.
        """

    def waiting(self) -> int:
        """
        Counts, roughly, the wakes that a worker could take now; delayed ones and those being handled do not count.

        Raises:
            OSError: they cannot be counted; the caller takes none to be there.
        """
