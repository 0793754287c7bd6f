"""
The last events of this process, for whoever looks at it through the Deck.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value
from chokaq_core.telemetry.log_events import fields_of
from chokaq_core.telemetry.text import plain
from chokaq_core.telemetry.wording import WORDING, Wording, wording_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.domain.events import Event

CAPACITY = 500

# By identity, for the same reason as in the log lines: this is looked up for every event of every job.
_QUIET = {id(name) for name, entry in WORDING.items() if isinstance(entry, Wording) and entry.level < logging.INFO}


class RecentEvent(Value):
    """
    One event as a person reads it. Numbers rise by one with each event of the process.
    """

    number: int
    at: datetime
    level: str
    text: str
    fields: Mapping[str, object]


class RecentEvents:
    """
    Keeps the last events worth reading, those of the ordinary life of jobs left out, in bounded memory.

    Attributes:
        process: differs for each process, so that a reader notices numbers that begin again.
    """

    def __init__(self, capacity: int = CAPACITY, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._lock = threading.Lock()
        self._events: deque[RecentEvent] = deque(maxlen=capacity)
        self._number = 0
        self._now = now
        self.process = uuid.uuid4().hex

    def publish(self, events: Sequence[Event]) -> None:
        """
        Takes a batch of events.
        """
        for event in events:
            if id(event.name) not in _QUIET:
                self._keep(event)

    def since(self, number: int) -> Sequence[RecentEvent]:
        """
        What is kept of the events after a number, oldest first.
        """
        with self._lock:
            return [event for event in self._events if event.number > number]

    def _keep(self, event: Event) -> None:
        wording = wording_of(event.name, event.facts)
        if wording.level < logging.INFO:
            return
        fields = {key: plain(value) for key, value in fields_of(event).items()}
        at = self._now()
        with self._lock:
            self._number += 1
            level = logging.getLevelName(wording.level).lower()
            self._events.append(RecentEvent(self._number, at, level, wording.text, fields))
