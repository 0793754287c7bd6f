"""
No spans: what an engine goes by that nobody traces.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from chokaq_core.domain.events import JobRef
    from chokaq_core.domain.job import NewJob

_NOTHING: AbstractContextManager[None] = nullcontext()


class Untraced:
    """
    Tracing that does nothing.
    """

    def enqueuing(self, jobs: Sequence[NewJob]) -> AbstractContextManager[str | None]:  # noqa: ARG002 - the port's names
        """
        No span, and no traceparent to store.
        """
        return _NOTHING

    def running(self, job: JobRef, trace_parent: str | None) -> AbstractContextManager[None]:  # noqa: ARG002
        """
        No span.
        """
        return _NOTHING
