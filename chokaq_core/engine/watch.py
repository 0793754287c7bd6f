"""
The watch: one thread that ends runs when their timeout has passed, whatever their handlers do meanwhile.

It also tells of handlers that go on after they were told to stop.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    from chokaq_core.engine.holdings import Holdings
    from chokaq_core.engine.run import Run
    from chokaq_core.ports import Events


class Watch:
    """
    The body of the watch thread. It sleeps until the nearest moment it knows of.
    """

    def __init__(self, ledger: Holdings, events: Events) -> None:
        self._ledger = ledger
        self._events = events
        self._look_again = threading.Event()

    def look_again(self) -> None:
        """
        Tells the watch that a deadline has come into the book, or a run was given up.
        """
        self._look_again.set()

    def run(self) -> None:
        """
        Watches until the engine stops and nothing is live.
        """
        while not (self._ledger.is_stopping and not self._ledger.live()):
            _, to_deadline = self._ledger.expire()
            overstayed, to_next = self._ledger.take_overstayed()
            self._events.publish([_abandoned(run) for run in overstayed])
            self._look_again.wait(min((s for s in (to_deadline, to_next) if s is not None), default=None))
            self._look_again.clear()


def _abandoned(run: Run) -> Event:
    """
    That a handler holds its slot though nobody waits for it.
    """
    why = run.stop_order.reason if run.stop_order is not None else None
    return Event(EventName.JOB_ABANDONED, run.ref, {"told_because": str(why)})
