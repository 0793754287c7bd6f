"""
What a queue trigger's listener asks of its queue: the seam between the local host and where wakes come from.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from chokaq_core.domain.value import Value


class ReceivedMessage(Value):
    """
    A message that one listener holds; `delivery` counts how often it has been handed out, this time included.
    """

    id: str
    body: str
    delivery: int
    inserted_at: datetime
    expires_at: datetime | None = None
    next_visible_at: datetime | None = None
    receipt: str | None = None


class WakeSource(Protocol):
    """
    One listener's view of a queue. Its methods may block and are called from one thread, `close` from any.
    """

    def receive(self) -> ReceivedMessage | None:
        """
        Waits for a message and takes it, hidden from other listeners; None means that the source was closed.
        """

    def delete(self, message: ReceivedMessage) -> None:
        """
        Ends a message that was handled.
        """

    def put_back(self, message: ReceivedMessage) -> None:
        """
        Makes a message whose handler failed visible again.
        """

    def bury(self, message: ReceivedMessage) -> None:
        """
        Puts a poisoned message where no listener sees it.
        """

    def close(self) -> None:
        """
        Ends the waiting of `receive`, now and later.
        """
