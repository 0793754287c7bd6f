"""
The Storage queue of a simulated platform.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple, Protocol

WAKE_LIFE_SECONDS = 120.0
"""How long an immediate wake waits to be taken; delayed ones never expire."""


class Platform(Protocol):
    """
    What the queue asks of the simulation around it: the time, and that idle instances are offered what is visible.
    """

    now: float

    def after(self, seconds: float, act: Callable[[], object], /) -> None:
        """
        Plans something for so many seconds from now.
        """

    def hand_out(self) -> None:
        """
        Gives visible wakes to idle instances.
        """


class _Message(NamedTuple):
    visible_at: float
    expires_at: float


class WakeQueue:
    """
    Wakes that are visible, delayed, or in the hands of an instance.

    Attributes:
        in_hand: taken, and not deleted yet.
        sent: since the beginning.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._messages: list[_Message] = []
        self.in_hand = 0
        self.sent = 0

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Leaves a wake.
        """
        self.sent += 1
        now = self._platform.now
        seconds = delay.total_seconds() if delay is not None else 0.0
        life = float("inf") if delay is not None else WAKE_LIFE_SECONDS
        self._messages.append(_Message(now + seconds, now + life))
        self._platform.after(seconds, self._platform.hand_out)

    def waiting(self) -> int:
        """
        Visible wakes.
        """
        now = self._platform.now
        self._messages = [message for message in self._messages if now < message.expires_at]
        return sum(message.visible_at <= now for message in self._messages)

    def count(self) -> int:
        """
        All messages, as the platform counts them: hidden ones and those in hand included; none when none is visible.
        """
        return self.waiting() and len(self._messages) + self.in_hand

    def take(self) -> bool:
        """
        Takes the oldest visible wake, if there is one.
        """
        if not self.waiting():
            return False
        self._messages.remove(min(self._messages, key=lambda message: message.visible_at))
        self.in_hand += 1
        return True
