"""
Several takers of events as one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chokaq_core.domain.events import Event
    from chokaq_core.ports import Events


class FanOut:
    """
    Passes every batch on to each sink in turn; one that fails never stops the others or the caller.
    """

    def __init__(self, *sinks: Events) -> None:
        self._sinks = sinks
        self._has_failed: set[int] = set()

    def publish(self, events: Sequence[Event]) -> None:
        """
        Passes the events on.
        """
        if not events:
            return
        for position, sink in enumerate(self._sinks):
            try:
                sink.publish(events)
            except Exception as fault:  # noqa: BLE001 - telemetry must never stop a job
                self._tell_once(position, sink, fault)

    def _tell_once(self, position: int, sink: Events, fault: Exception) -> None:
        """
        Says that a sink fails, the first time it does: its next failures would drown everything else.
        """
        if position in self._has_failed:
            return
        self._has_failed.add(position)
        logging.getLogger("chokaq.telemetry").error(
            "%s failed with %s; its events are lost", type(sink).__qualname__, type(fault).__qualname__
        )
