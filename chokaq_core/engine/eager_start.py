"""
Tasks whose first step is taken when they are made, and not on the loop's next pass.

A handler that never waits has then ended before its loop looks at anything else.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from contextvars import Context


def start_now(
    coroutines: Iterable[tuple[str, Coroutine[Any, Any, None]]], loop: asyncio.AbstractEventLoop
) -> list[asyncio.Task[None]]:
    """
    Makes a task of each coroutine and takes its first step, as `asyncio.eager_task_factory` does from Python 3.12 on.

    Each is given with the name of its task.

    To be called on the loop, outside of any task. A task factory that somebody gave the loop is obeyed instead.
    """
    if loop.get_task_factory() is not None:
        return [loop.create_task(coroutine, name=name) for name, coroutine in coroutines]
    if sys.version_info >= (3, 12):
        return [asyncio.Task(coroutine, loop=loop, name=name, eager_start=True) for name, coroutine in coroutines]
    steps: list[tuple[Callable[[], object], Context]] = []

    def keep(step: Callable[[], object], *, context: Context) -> None:
        steps.append((step, context))

    # A new task asks its loop for one thing: to call its first step soon.
    loop.call_soon = keep  # type: ignore[method-assign, assignment]
    try:
        tasks = [asyncio.Task(coroutine, loop=loop, name=name) for name, coroutine in coroutines]
    finally:
        del loop.call_soon
    for step, context in steps:
        context.run(step)
    return tasks
