"""
The span of the request as the parent of what a function does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.telemetry import attach_parent

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import azure.functions as func


def parent_of(context: func.Context) -> AbstractContextManager[None]:
    """
    Attaches the invocation's trace: the platform does so for `async def` functions only, and ours are `def`.
    """
    trace = context.trace_context
    return attach_parent(getattr(trace, "trace_parent", None), getattr(trace, "trace_state", None))
