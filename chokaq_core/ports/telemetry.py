"""
Where what happened is told: events, and spans around what takes time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from chokaq_core.domain.events import Event, JobRef
    from chokaq_core.domain.job import NewJob


class Events(Protocol):
    """
    Takes what happened. Must not raise and must return at once.
    """

    def publish(self, events: Sequence[Event]) -> None:
        """
        Takes a batch of events.
        """


class Tracing(Protocol):
    """
    Makes spans around what takes time, where anybody wants them. Must not raise of its own.
    """

    def enqueuing(self, jobs: Sequence[NewJob]) -> AbstractContextManager[str | None]:
        """
        A span around storing these jobs; gives the W3C traceparent to store with them, or None.
        """

    def running(self, job: JobRef, trace_parent: str | None) -> AbstractContextManager[None]:
        """
        A span around one run of a handler, on the thread or in the task that runs it.
        """
