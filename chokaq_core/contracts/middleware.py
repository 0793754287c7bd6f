"""
Code around every handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.contracts.context import JobContext
    from chokaq_core.contracts.job import Job


class Middleware(Protocol):
    """
    A callable around the handler; registered first means outermost.

    Either `def` or `async def`, for handlers of both kinds: a `def` middleware runs on a thread and gets a `call_next`
    that blocks, an `async def` one runs on the event loop and awaits it. What it returns is the job's result; it may
    leave `call_next` out and return a result of its own, and what it raises counts as raised by the handler.

    In pipe mode `job` is the payload's text.
    """

    def __call__(self, job: Job | str, ctx: JobContext, call_next: Callable[[], Any]) -> Any:  # noqa: ANN401
        """
        Runs around one attempt.
        """
