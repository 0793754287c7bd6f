from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.policy.envelope import EnvelopeLimits
from tests.engine.conftest import OpenRig
from tests.support.engine import NOTE, ONE_AT_A_TIME, Gates, Note, profile_of, wait
from tests.support.polling import WAIT_SECONDS, wait_until


class Order(Job):
    number: int


def echo(job: Note) -> str:
    return f"got {job.text}"


async def echo_async(job: Note) -> str:
    await asyncio.sleep(0)
    return f"got {job.text}"


def echo_with_context(job: Note, ctx: JobContext) -> str:
    return f"got {job.text} in attempt {ctx.attempt}"


async def echo_async_with_context(job: Note, ctx: JobContext) -> str:
    await asyncio.sleep(0)
    return f"got {job.text} in attempt {ctx.attempt}"


class Echo:
    def __call__(self, job: Note, ctx: JobContext) -> str:
        return f"got {job.text} from an object"


class EchoAsync:
    async def __call__(self, job: Note, ctx: JobContext) -> str:
        await asyncio.sleep(0)
        return f"got {job.text} from an object"


@pytest.mark.parametrize(
    "handler,result",
    [
        pytest.param(echo, '"got it"', id="def"),
        pytest.param(echo_async, '"got it"', id="async-def"),
        pytest.param(echo_with_context, '"got it in attempt 1"', id="def-with-context"),
        pytest.param(echo_async_with_context, '"got it in attempt 1"', id="async-def-with-context"),
        pytest.param(Echo(), '"got it from an object"', id="object"),
        pytest.param(EchoAsync(), '"got it from an object"', id="async-object"),
        pytest.param(functools.partial(echo), '"got it"', id="partial"),
        pytest.param(functools.partial(echo_async), '"got it"', id="async-partial"),
    ],
)
def test_a_job_runs_once_and_is_archived_with_its_result(open_rig: OpenRig, handler: Any, result: str) -> None:  # noqa: ANN401
    rig = open_rig(profile_of(handler))

    job = rig.archived(rig.run(Note(text="it")))

    assert (job.result, job.result_note, job.attempt, job.lease_number) == (result, None, 1, 1)
    assert job.worker_id == rig.engine.worker_id
    assert job.duration_ms >= 0
    assert rig.events.names(job.id) == ["JobEnqueued", "JobStarted", "JobSucceededArchived"]
    assert rig.store.totals()["default"].succeeded == 1


def test_a_handler_that_returns_nothing_leaves_no_result_and_no_note(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None))

    job = rig.archived(rig.run())

    assert (job.result, job.result_note) == (None, None)


def test_sync_and_async_handlers_run_side_by_side(open_rig: OpenRig, gates: Gates) -> None:
    met_on_thread, met_on_loop = gates.new(), gates.new()

    def on_thread(job: Note) -> None:
        met_on_thread.set()
        wait(met_on_loop)

    async def on_loop(job: Order) -> None:
        met_on_loop.set()
        await asyncio.to_thread(wait, met_on_thread)

    rig = open_rig(profile_of(on_thread), profile_of(on_loop, "test.order.v1", job_type=Order))
    ids = [rig.enqueue(), rig.enqueue(Order(number=1))]

    rig.visit()

    assert [rig.archived(job_id).attempt for job_id in ids] == [1, 1]


class Unwritable:
    """
    Not JSON, and not even text.
    """

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def list_in_itself() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def exploding_numbers() -> Iterator[int]:
    yield 1
    raise KeyError("no second number")


@pytest.mark.parametrize(
    "make_value,reason",
    [
        pytest.param(object, "not JSON", id="object"),
        pytest.param(Unwritable, "not JSON", id="object-without-text"),
        pytest.param(lambda: float("nan"), "not JSON", id="nan"),
        pytest.param(lambda: {"ratio": [float("inf")]}, "not JSON", id="inner-infinity"),
        pytest.param(lambda: "half a pair \ud800", "not JSON", id="lone-surrogate"),
        pytest.param(lambda: {"\udfff": 1}, "not JSON", id="lone-surrogate-in-a-key"),
        pytest.param(lambda: b"\xff\xfe", "not JSON", id="bytes"),
        pytest.param(lambda: lambda: None, "not JSON", id="function"),
        pytest.param(exploding_numbers, "not JSON", id="generator-that-raises"),
        pytest.param(list_in_itself, "not JSON", id="holds-itself"),
        pytest.param(lambda: "x" * 200, "202 bytes", id="too-large"),
        pytest.param(lambda: "é" * 60, "122 bytes", id="too-large-in-bytes"),
    ],
)
def test_a_result_that_cannot_be_kept_never_fails_the_finished_job(
    open_rig: OpenRig,
    make_value: Callable[[], object],
    reason: str,
) -> None:
    rig = open_rig(profile_of(lambda job: make_value()), envelope=EnvelopeLimits(max_payload_bytes=100))

    job = rig.archived(rig.run())

    assert job.result is None
    assert job.result_note is not None
    assert reason in job.result_note
    assert job.attempt == 1


def test_a_handler_that_returns_a_coroutine_has_done_nothing_and_is_no_success(open_rig: OpenRig) -> None:
    @functools.wraps(echo_async)
    def wrapper(job: Note) -> Any:  # noqa: ANN401 - a coroutine, by mistake
        return echo_async(job)

    rig = open_rig(profile_of(wrapper))

    job = rig.dead(rig.run())

    assert job.reason is FailureReason.FATAL_ERROR
    assert job.error_details is not None
    assert "never awaited" in job.error_details


def test_progress_is_visible_after_the_next_heartbeat(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        ctx.report_progress(40, "rows 1 to 400")
        wait(may_end)

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        wait_until(lambda: rig.hot(job_id).progress == 40)
        assert rig.hot(job_id).progress_note == "rows 1 to 400"
        may_end.set()


@pytest.mark.parametrize(
    "percent,stored",
    [(-5, 0), (0, 0), (12.4, 12), (99.6, 100), (250, 100)],
    ids=["below", "zero", "12", "99.6", "above"],
)
def test_progress_is_kept_within_0_to_100(open_rig: OpenRig, gates: Gates, percent: float, stored: int) -> None:
    may_end = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        ctx.report_progress(percent)
        wait(may_end)

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        wait_until(lambda: rig.hot(job_id).progress == stored)
        may_end.set()


@pytest.mark.parametrize(
    "note,stored",
    [
        pytest.param("n" * 401, "n" * 400, id="too-long"),
        pytest.param("half \ud83d", "half \ufffd", id="lone-surrogate"),
        pytest.param("nul \x00", "nul ␀", id="nul"),
    ],
)
def test_a_progress_note_that_a_database_would_refuse_costs_no_heartbeat(
    open_rig: OpenRig, gates: Gates, note: str, stored: str
) -> None:
    may_end = gates.new()

    def work(job: Note, ctx: JobContext) -> None:
        ctx.report_progress(10, note)
        wait(may_end)

    rig = open_rig(profile_of(work))
    job_id = rig.enqueue()

    with rig.visiting():
        wait_until(lambda: rig.hot(job_id).progress == 10)
        assert rig.hot(job_id).progress_note == stored
        may_end.set()
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


def test_the_context_tells_the_facts_of_the_job(open_rig: OpenRig) -> None:
    seen: list[JobContext] = []
    rig = open_rig(profile_of(lambda job, ctx: seen.append(ctx), queue="mail", timeout=timedelta(minutes=3)))

    job_id = rig.run(Note(), created_by="ann")

    ctx = seen[0]
    assert (ctx.job_id, ctx.type_key, ctx.queue, ctx.attempt, ctx.created_by) == (job_id, NOTE, "mail", 1, "ann")
    assert ctx.cancelled is False
    assert timedelta(minutes=2) < ctx.remaining <= timedelta(minutes=3)


def test_an_async_def_handler_runs_in_a_task_that_bears_the_id_of_its_job(open_rig: OpenRig) -> None:
    names: list[str] = []

    async def handle(_job: Note) -> None:
        task = asyncio.current_task()
        names.append(task.get_name() if task is not None else "no task")

    rig = open_rig(profile_of(handle))

    job_id = rig.run()

    assert names == [job_id]


@pytest.mark.parametrize("timeout", [timedelta(days=400_000), timedelta.max], ids=["a-millennium", "the-longest"])
def test_a_timeout_beyond_what_a_clock_can_wait_for_is_no_hindrance(open_rig: OpenRig, timeout: timedelta) -> None:
    seen: list[timedelta] = []
    rig = open_rig(profile_of(lambda job, ctx: seen.append(ctx.remaining), timeout=timeout))

    rig.archived(rig.run())

    assert seen[0] > timedelta(days=365)
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
def test_a_handler_enqueues_further_jobs_in_its_own_name(open_rig: OpenRig, is_async: bool) -> None:
    children: list[str] = []
    numbers: list[int] = []

    def split(job: Note, ctx: JobContext) -> None:
        children.extend(ctx.enqueue(Order(number=n), queue="orders", priority=n).job_id for n in (1, 2))

    async def split_async(job: Note, ctx: JobContext) -> None:
        children.extend(
            [(await asyncio.to_thread(ctx.enqueue, Order(number=n), queue="orders")).job_id for n in (1, 2)]
        )

    rig = open_rig(
        profile_of(split_async if is_async else split),
        profile_of(lambda job: numbers.append(job.number), "test.order.v1", job_type=Order),
    )

    parent = rig.run()

    assert sorted(numbers) == [1, 2]
    assert [rig.archived(child).created_by for child in children] == [f"job:{parent}", f"job:{parent}"]
    assert [rig.archived(child).queue for child in children] == ["orders", "orders"]


def test_who_created_a_further_job_can_be_said_otherwise(open_rig: OpenRig) -> None:
    children: list[str] = []

    def split(job: Note, ctx: JobContext) -> None:
        if job.text == "parent":
            children.append(ctx.enqueue(Note(), created_by="ann").job_id)

    rig = open_rig(profile_of(split))
    rig.run(Note(text="parent"))

    assert rig.archived(children[0]).created_by == "ann"


def test_the_jobs_logger_puts_its_ids_into_every_line(open_rig: OpenRig, caplog: pytest.LogCaptureFixture) -> None:
    rig = open_rig(profile_of(lambda job, ctx: ctx.logger.warning("%d rows, 100%%", 7), "odd%d.type.v1"))

    with caplog.at_level(logging.INFO, logger="chokaq.job"):
        job_id = rig.run(Note())

    assert caplog.messages == [f"7 rows, 100% [job_id={job_id} type=odd%d.type.v1 queue=default attempt=1]"]
    assert caplog.records[0].__dict__["job_id"] == job_id


def test_what_a_job_holds_is_fixed_when_it_is_enqueued(open_rig: OpenRig) -> None:
    seen: list[str] = []
    rig = open_rig(profile_of(lambda job: seen.append(job.text)))
    note = Note(text="as enqueued")
    rig.enqueue(note)
    note.text = "changed later"

    rig.visit()

    assert seen == ["as enqueued"]


def test_higher_priority_runs_first(open_rig: OpenRig, gates: Gates) -> None:
    seen: list[str] = []
    rig = open_rig(profile_of(lambda job: seen.append(job.text)), worker=ONE_AT_A_TIME)
    for text, priority in (("low", 1), ("high", 500), ("middle", None)):
        rig.enqueue(Note(text=text), priority=priority)

    rig.visit()

    assert seen == ["high", "middle", "low"]


def test_a_hundred_jobs_run_once_each_and_never_more_than_the_capacity_at_once(open_rig: OpenRig) -> None:
    lock, four = threading.Lock(), threading.Barrier(4)
    running: set[str] = set()
    most: list[int] = [0]
    runs: list[str] = []

    def work(job: Note, ctx: JobContext) -> None:
        with lock:
            running.add(ctx.job_id)
            runs.append(ctx.job_id)
            most[0] = max(most[0], len(running))
        four.wait(WAIT_SECONDS)
        with lock:
            running.discard(ctx.job_id)

    rig = open_rig(profile_of(work))
    ids = rig.enqueue_many(100)

    rig.visit()

    assert sorted(runs) == sorted(ids)
    assert most[0] == 4
    assert (rig.store.counts().hot, rig.store.counts().archive) == (0, 100)


def test_a_job_with_a_due_time_to_come_waits(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(echo))

    job_id = rig.run(Note(), delay=timedelta(hours=1))

    job = rig.hot(job_id)
    assert (job.status, job.attempt, job.is_ready) == (Status.PENDING, 0, False)


def test_a_profile_gives_its_jobs_a_queue_and_a_priority(open_rig: OpenRig) -> None:
    profile = Profile("mailing")

    @profile.handler("mail.send.v1", queue="mail", priority=77)
    def send(job: Note) -> None:
        """
        Does nothing.
        """

    rig = open_rig(profile)

    plain = rig.archived(rig.run())
    changed = rig.archived(rig.run(Note(), queue="other", priority=0))

    assert (plain.queue, plain.priority) == ("mail", 77)
    assert (changed.queue, changed.priority) == ("other", 0)
