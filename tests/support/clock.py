"""
A clock that moves only when a test says so.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class SteppedClock:
    """
    Stands still until it is advanced. Give `clock.now` to whatever asks for the time.
    """

    def __init__(self, at: datetime = NOON) -> None:
        self._at = at

    def now(self) -> datetime:
        """
        The time it stands at.
        """
        return self._at

    def advance(self, by: timedelta) -> datetime:
        """
        Moves it forward; answers the new time.
        """
        self._at += by
        return self._at
