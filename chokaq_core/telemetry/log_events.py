"""
Events as log lines: a sentence for people and one JSON object for machines.

The Functions host passes on a line's text and nothing else of a record, so the fields travel inside the message. The
same fields are attributes of the record, for handlers that keep them, such as OpenTelemetry's.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from chokaq_core.telemetry.text import error_fields, one_line_json, plain, shown
from chokaq_core.telemetry.wording import WORDING, Wording, wording_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.domain.events import Event

LOGGER_NAME = "chokaq"
PREFIX = "chokaq."
"""Set before a field's name on the record, where plain names such as `name` are taken."""

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
# By identity: an Enum's own hash runs in Python, and this is looked up for every event of every job.
_FIXED_LEVELS = {id(name): entry.level for name, entry in WORDING.items() if isinstance(entry, Wording)}


class LogEvents:
    """
    Writes each event as one line on the logger `chokaq`; an event whose level is off costs one look-up.

    Args:
        mark_thread: called on a thread before a line is written there.
    """

    def __init__(
        self, logger: logging.Logger | None = None, *, mark_thread: Callable[[], object] | None = None
    ) -> None:
        self._mark_thread = mark_thread
        self._logger = logger if logger is not None else logging.getLogger(LOGGER_NAME)

    def publish(self, events: Sequence[Event]) -> None:
        """
        Writes the events whose level is on.
        """
        is_on = {level: self._logger.isEnabledFor(level) for level in _LEVELS}
        for event in events:
            level = _FIXED_LEVELS.get(id(event.name))
            if level is None or is_on[level]:
                self._write_safely(event)

    def _write_safely(self, event: Event) -> None:
        try:
            self._write(event)
        except Exception as fault:  # noqa: BLE001 - a broken handler of the host must not stop the job's thread
            with suppress(Exception):
                sys.stderr.write(f"chokaq: the line of event {event.name.id} was lost: {type(fault).__qualname__}\n")

    def _write(self, event: Event) -> None:
        wording = wording_of(event.name, event.facts)
        if not self._logger.isEnabledFor(wording.level):
            return
        fields = {key: plain(value) for key, value in fields_of(event).items()}
        extra = {PREFIX + key: _attribute(value) for key, value in fields.items()}
        line = f"{wording.text} {one_line_json(fields)}"
        if self._mark_thread is not None:
            self._mark_thread()
        self._logger.log(wording.level, line, extra=extra)


def fields_of(event: Event) -> dict[str, object]:
    """
    The fields of an event's line: id and name, the job, the facts, the error. Facts never replace the first ones.
    """
    fields: dict[str, object] = {"event_id": event.name.id, "event": event.name.title}
    if (job := event.job) is not None:
        fields |= {"job_id": job.id, "type": job.type_key, "queue": job.queue}
        fields |= {"attempt": job.attempt} if job.attempt is not None else {}
        fields |= {"worker_id": job.worker_id} if job.worker_id is not None else {}
    fields |= {shown(key): value for key, value in event.facts.items() if key not in fields}
    if event.error is not None:
        fields |= error_fields(event.error)
    return fields


def _attribute(value: object) -> str | bool | int | float:
    """
    A plain value as an attribute of a log record takes it.
    """
    return value if isinstance(value, str | bool | int | float) else one_line_json(value)
