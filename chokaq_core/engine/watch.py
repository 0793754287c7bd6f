"""
The watch: one thread that ends runs when their timeout has passed, whatever their handlers do meanwhile.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from chokaq_core.engine.ledger import Ledger
    from chokaq_core.ports import Events


class Watch:
    """
    The body of the watch thread. It sleeps until the nearest deadline it knows of.
    """

    def __init__(self, ledger: Ledger, events: Events) -> None:
        self._ledger = ledger
        self._events = events
        self._look_again = threading.Event()

    def look_again(self) -> None:
        """
        Tells the watch that a nearer deadline has come into the book.
        """
        self._look_again.set()

    def run(self) -> None:
        """
        Watches until the engine stops and nothing is live.
        """
        while not (self._ledger.is_stopping and not self._ledger.live()):
            expired, seconds = self._ledger.expire()
            if expired:
                self._events.publish([Event(EventName.JOB_ABANDONED, run.ref) for run in expired])
            self._look_again.wait(seconds)
            self._look_again.clear()
