"""
Tasks that take their first step when they are made: the same ones as any others, only sooner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from chokaq_core.engine.eager_start import start_now

PLACE: ContextVar[str] = ContextVar("PLACE", default="outside")

Work = Callable[[], Coroutine[Any, Any, None]]


def _started(
    *works: Work, check: Callable[[list[asyncio.Task[None]]], object], is_debug: bool = False
) -> list[asyncio.Task[None]]:
    """
    Starts the works in a callback of a loop, checks at once what came of them, and lets the loop end them.
    """
    tasks: list[asyncio.Task[None]] = []

    def start() -> None:
        tasks.extend(start_now([(str(n), work()) for n, work in enumerate(works)], asyncio.get_running_loop()))
        check(tasks)

    async def end() -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        faults: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: faults.append(context))
        loop.call_soon(start)
        loop.call_soon(begun.set)
        await begun.wait()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [fault["exception"] for fault in faults] == []
        assert len(tasks) == len(works)

    asyncio.run(end(), debug=is_debug)
    return tasks


@pytest.mark.parametrize("is_debug", [False, True])
def test_work_that_never_waits_is_over_when_its_task_is_made(*, is_debug: bool) -> None:
    seen: list[tuple[int, asyncio.Task[Any] | None]] = []

    def work(number: int) -> Work:
        async def note() -> None:
            seen.append((number, asyncio.current_task()))

        return note

    def check(tasks: list[asyncio.Task[None]]) -> None:
        assert [task.done() for task in tasks] == [True, True]
        assert seen == [(1, tasks[0]), (2, tasks[1])]
        assert [task.get_name() for task in tasks] == ["0", "1"]

    _started(work(1), work(2), check=check, is_debug=is_debug)


def test_work_that_waits_goes_on_in_the_same_task_once_the_loop_comes_to_it() -> None:
    steps: list[tuple[str, asyncio.Task[Any] | None]] = []

    async def work() -> None:
        steps.append(("before", asyncio.current_task()))
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await asyncio.sleep(0)
        steps.append(("after", asyncio.current_task()))

    def check(tasks: list[asyncio.Task[None]]) -> None:
        assert steps == [("before", tasks[0])]
        assert not tasks[0].done()

    tasks = _started(work, check=check)
    assert steps == [("before", tasks[0]), ("after", tasks[0])]


def test_each_task_has_a_context_of_its_own() -> None:
    seen: list[str] = []

    async def work() -> None:
        seen.append(PLACE.get())
        PLACE.set("inside")
        await asyncio.sleep(0)
        seen.append(PLACE.get())

    def check(_: list[asyncio.Task[None]]) -> None:
        assert PLACE.get() == "outside"

    _started(work, work, check=check)
    assert seen == ["outside", "outside", "inside", "inside"]


def test_a_timeout_of_the_works_own_interrupts_it() -> None:
    ends: list[str] = []

    async def work() -> None:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            ends.append("timed out")

    _started(work, check=lambda _: None)
    assert ends == ["timed out"]


def test_a_task_that_waits_can_be_cancelled() -> None:
    ends: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    _started(work, check=lambda tasks: tasks[0].cancel())
    assert ends == ["cancelled"]


def test_an_error_stays_with_its_task() -> None:
    seen: list[str] = []

    async def fail() -> None:
        raise ValueError("broken")

    async def note() -> None:
        seen.append("ran")

    def check(tasks: list[asyncio.Task[None]]) -> None:
        assert repr(tasks[0].exception()) == "ValueError('broken')"
        assert tasks[1].exception() is None

    _started(fail, note, check=check)
    assert seen == ["ran"]


def test_the_loop_calls_what_the_first_step_asks_it_to() -> None:
    seen: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(seen.append, "called")
        asyncio.get_running_loop().call_soon_threadsafe(seen.append, "called from afar")
        await asyncio.create_task(_note(seen))

    _started(work, check=lambda _: None)
    assert seen == ["called", "called from afar", "another task"]


async def _note(seen: list[str]) -> None:
    seen.append("another task")


def test_a_task_factory_that_somebody_gave_the_loop_makes_the_tasks() -> None:
    made: list[asyncio.Future[Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def factory(of: asyncio.AbstractEventLoop, coroutine: Any, **_: object) -> asyncio.Future[Any]:  # noqa: ANN401
            made.append(asyncio.Task(coroutine, loop=of))
            return made[-1]

        loop.set_task_factory(factory)
        tasks = start_now([("job-1", asyncio.sleep(0))], loop)
        loop.set_task_factory(None)
        assert tasks == made
        assert [task.get_name() for task in tasks] == ["job-1"]
        await tasks[0]

    asyncio.run(main())
    assert len(made) == 1
