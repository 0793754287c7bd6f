from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import Job, JobContext, Middleware
from chokaq_core.domain.errors import JobPostponedError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from tests.engine.conftest import OpenRig
from tests.support.engine import MILLISECOND, Gates, Note, Rig, join, profile_of, wait
from tests.support.polling import wait_until

Next = Callable[[], Any]
COLOURS = [
    pytest.param(False, False, id="def-around-def"),
    pytest.param(False, True, id="def-around-async"),
    pytest.param(True, False, id="async-around-def"),
    pytest.param(True, True, id="async-around-async"),
]


def middleware(
    is_async: bool, before: Callable[[], object] = bool, after: Callable[[Any], Any] = lambda result: result
) -> Middleware:
    """
    A middleware of either colour that does something before the rest, and makes its own result of the rest's.
    """

    def blocking(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        before()
        return after(call_next())

    async def cooperative(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        before()
        return after(await call_next())

    return cooperative if is_async else blocking


def handler(is_async: bool, work: Callable[[Note, JobContext], Any]) -> Callable[..., Any]:
    """
    A handler of either colour; an async one does the same work between two looks at the loop.
    """

    async def cooperative(job: Note, ctx: JobContext) -> Any:  # noqa: ANN401
        await asyncio.sleep(0)
        return work(job, ctx)

    return cooperative if is_async else work


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_middleware_registered_first_is_outermost(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    order: list[str] = []

    def step(name: str, is_async: bool) -> Middleware:
        def after(result: list[str]) -> list[str]:
            order.append(f"leave {name}")
            return [*result, name]

        return middleware(is_async, lambda: order.append(f"enter {name}"), after)

    def work(job: Note, ctx: JobContext) -> list[str]:
        order.append("handler")
        return ["handler"]

    rig = open_rig(profile_of(handler(inner, work)), middleware=(step("1", outer), step("2", inner), step("3", outer)))

    job = rig.archived(rig.run())

    assert order == ["enter 1", "enter 2", "enter 3", "handler", "leave 3", "leave 2", "leave 1"]
    assert job.result == '["handler","3","2","1"]'


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_middleware_sees_the_job_and_its_context(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    seen: list[tuple[object, str]] = []

    def blocking(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        seen.append((job, ctx.job_id))
        return call_next()

    async def cooperative(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        seen.append((job, ctx.job_id))
        return await call_next()

    rig = open_rig(profile_of(handler(inner, lambda job, ctx: 1)), middleware=(cooperative if outer else blocking,))

    job_id = rig.run(Note(text="hello"))

    assert seen == [(Note(text="hello"), job_id)]


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_middleware_that_leaves_the_handler_out_gives_the_result(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    runs: list[str] = []

    def blocking(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        return "not needed"

    async def cooperative(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        return "not needed"

    rig = open_rig(
        profile_of(handler(inner, lambda job, ctx: runs.append(ctx.job_id))),
        middleware=(cooperative if outer else blocking,),
    )

    job = rig.archived(rig.run())

    assert job.result == '"not needed"'
    assert runs == []


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_what_middleware_raises_counts_as_raised_by_the_handler(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    runs: list[int] = []

    def refuse() -> None:
        raise LookupError("no tenant")

    rig = open_rig(
        profile_of(handler(inner, lambda job, ctx: runs.append(ctx.attempt)), max_attempts=2),
        middleware=(middleware(outer, refuse),),
    )

    job = rig.dead(rig.run())

    assert (job.reason, job.error_type, job.attempt) == (FailureReason.MAX_RETRIES_EXCEEDED, "LookupError", 2)
    assert runs == []


class Boom(BaseException):
    """
    Not even an Exception.
    """


@pytest.mark.parametrize("outer,inner", COLOURS)
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("nope"),
        SystemExit(0),
        KeyboardInterrupt(),
        Boom("boom"),
        asyncio.CancelledError("nobody asked"),
        StopIteration("the end"),
        StopAsyncIteration("the end"),
        GeneratorExit("the end"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_handler_raises_comes_through_middleware_of_either_colour(
    open_rig: OpenRig, outer: bool, inner: bool, error: BaseException
) -> None:
    runs: list[int] = []

    def work(job: Note, ctx: JobContext) -> None:
        runs.append(ctx.attempt)
        if job.text == "bad":
            raise error

    rig = open_rig(profile_of(handler(inner, work), max_attempts=2), middleware=(middleware(outer),))
    bad, good = rig.enqueue(Note(text="bad")), rig.enqueue(Note(text="good"))

    rig.visit()

    assert rig.dead(bad).reason is FailureReason.MAX_RETRIES_EXCEEDED
    assert rig.dead(bad).attempt == 2
    assert rig.archived(good).attempt == 1
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_middleware_may_call_the_rest_again(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    tries: list[str] = []

    def work(job: Note, ctx: JobContext) -> str:
        tries.append(ctx.job_id)
        if len(tries) < 3:
            raise OSError("flaky")
        return "third time lucky"

    def blocking(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        try:
            return call_next()
        except OSError:
            return blocking(job, ctx, call_next)

    async def cooperative(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        try:
            return await call_next()
        except OSError:
            return await cooperative(job, ctx, call_next)

    rig = open_rig(profile_of(handler(inner, work)), middleware=(cooperative if outer else blocking,))

    job = rig.archived(rig.run())

    assert (job.result, job.attempt, len(tries)) == ('"third time lucky"', 1, 3)


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_middleware_may_swallow_a_failure(open_rig: OpenRig, outer: bool, inner: bool) -> None:
    def work(job: Note, ctx: JobContext) -> None:
        raise OSError("not so bad")

    def blocking(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        try:
            call_next()
        except OSError as error:
            return str(error)

    async def cooperative(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        try:
            await call_next()
        except OSError as error:
            return str(error)

    rig = open_rig(profile_of(handler(inner, work)), middleware=(cooperative if outer else blocking,))

    assert rig.archived(rig.run()).result == '"not so bad"'


def test_middleware_that_forgets_to_await_the_rest_is_no_success(open_rig: OpenRig) -> None:
    async def forgetful(job: Job | str, ctx: JobContext, call_next: Next) -> Any:  # noqa: ANN401
        return call_next()

    rig = open_rig(profile_of(handler(True, lambda job, ctx: 1)), middleware=(forgetful,))

    assert rig.dead(rig.run()).reason is FailureReason.FATAL_ERROR


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
def test_middleware_may_put_a_job_off_without_counting_the_attempt(open_rig: OpenRig, is_async: bool) -> None:
    def not_now() -> None:
        raise JobPostponedError("somebody else is at it", timedelta(minutes=5))

    rig = open_rig(profile_of(lambda job: None), middleware=(middleware(is_async, not_now),))

    job = rig.hot(rig.run())

    assert (job.status, job.attempt, job.lease_number, job.attempt_errors) == (Status.PENDING, 0, 1, ())
    assert timedelta(minutes=4) < job.due_at - job.created_at < timedelta(minutes=6)
    assert rig.events.names(job.id) == ["JobEnqueued", "JobStarted", "JobPostponed"]


class Interrupted:
    """
    A handler of either colour that waits to be told to stop, and then does something.
    """

    def __init__(self, is_async: bool, gates: Gates, then: Callable[[JobContext], Any]) -> None:
        self.is_running, self.may_stop, self.has_ended = gates.new(), gates.new(), gates.new()
        self.handler = self._cooperative if is_async else self._blocking
        self._then = then

    def _blocking(self, job: Note, ctx: JobContext) -> Any:  # noqa: ANN401
        self.is_running.set()
        wait_until(lambda: ctx.cancelled)
        return self._end(ctx)

    async def _cooperative(self, job: Note, ctx: JobContext) -> Any:  # noqa: ANN401
        self.is_running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # A handler that still has to put things in order after it was told.
            await asyncio.to_thread(wait, self.may_stop)
            return self._end(ctx)

    def _end(self, ctx: JobContext) -> Any:  # noqa: ANN401
        wait(self.may_stop)
        self.has_ended.set()
        return self._then(ctx)


def cancel(rig: Rig, job_id: str, told: Callable[[], object]) -> threading.Thread:
    """
    Cancels the running job, and returns once it was told.
    """
    thread = threading.Thread(target=rig.engine.attend, daemon=True)
    thread.start()
    rig.events.wait_for(EventName.JOB_STARTED)
    told()
    rig.store.cancel([job_id], "ann")
    rig.events.wait_for(EventName.JOB_CANCELLATION_REQUESTED)
    return thread


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_a_cancel_through_a_bridge_waits_for_the_handler_to_end(
    open_rig: OpenRig, gates: Gates, outer: bool, inner: bool
) -> None:
    work = Interrupted(inner, gates, JobContext.raise_if_cancelled)
    rig = open_rig(profile_of(work.handler), middleware=(middleware(outer),))
    job_id = rig.enqueue()

    visit = cancel(rig, job_id, lambda: wait(work.is_running))

    assert rig.hot(job_id).status is Status.PROCESSING
    assert not work.has_ended.is_set()
    work.may_stop.set()
    join(visit)
    assert work.has_ended.is_set()
    assert (rig.dead(job_id).reason, rig.dead(job_id).last_modified_by) == (FailureReason.CANCELLED, "ann")


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_a_handler_that_finishes_all_the_same_after_a_cancel_is_archived(
    open_rig: OpenRig, gates: Gates, outer: bool, inner: bool
) -> None:
    work = Interrupted(inner, gates, lambda ctx: "done all the same")
    rig = open_rig(profile_of(work.handler), middleware=(middleware(outer),))
    job_id = rig.enqueue()

    visit = cancel(rig, job_id, lambda: wait(work.is_running))
    work.may_stop.set()
    join(visit)

    assert rig.archived(job_id).result == '"done all the same"'


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_a_slot_stays_taken_until_a_timed_out_handler_behind_a_bridge_has_ended(
    open_rig: OpenRig, gates: Gates, outer: bool, inner: bool
) -> None:
    work = Interrupted(inner, gates, lambda ctx: "too late")
    rig = open_rig(profile_of(work.handler, timeout=200 * MILLISECOND), middleware=(middleware(outer),))
    job_id = rig.run()

    assert rig.dead(job_id).reason is FailureReason.TIMEOUT
    assert not work.has_ended.is_set()
    assert _abandoned(rig) == 1
    work.may_stop.set()
    wait_until(lambda: _abandoned(rig) == 0)
    assert rig.dead(job_id).reason is FailureReason.TIMEOUT


@pytest.mark.parametrize("outer,inner", COLOURS)
def test_a_handler_behind_a_bridge_that_stops_for_the_shutdown_is_handed_back(
    open_rig: OpenRig, gates: Gates, outer: bool, inner: bool
) -> None:
    def stop(ctx: JobContext) -> None:
        if inner:
            raise asyncio.CancelledError
        ctx.raise_if_cancelled()

    work = Interrupted(inner, gates, stop)
    work.may_stop.set()
    rig = open_rig(profile_of(work.handler), middleware=(middleware(outer),))
    job_id = rig.enqueue()

    with rig.visiting():
        wait(work.is_running)
        assert rig.engine.stop() is True

    job = rig.hot(job_id)
    assert (job.status, job.attempt, job.interruptions) == (Status.PENDING, 0, 1)


def _abandoned(rig: Rig) -> int:
    return len(rig.engine._ledger.abandoned())  # noqa: SLF001 - shown nowhere else between heartbeats
