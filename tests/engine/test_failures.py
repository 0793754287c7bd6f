from __future__ import annotations

import asyncio
import linecache
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.contracts import FatalJobError, JobContext, ThrottledError, TransientJobError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Status
from chokaq_core.domain.value import replace
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.ports import Store, Totals
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import QUICK_RETRY, SECOND, Note, profile_of

NO_JITTER = RetryRules(jitter_max_delay=timedelta(0))


class Boom(BaseException):
    """
    Not even an Exception.
    """


def failing(error: BaseException, *, is_async: bool = False, runs: list[int] | None = None) -> Callable[..., Any]:
    """
    A handler that raises for notes of the text "bad", and notes the attempts of those.
    """

    def work(job: Note, ctx: JobContext) -> str:
        if job.text != "bad":
            return "fine"
        if runs is not None:
            runs.append(ctx.attempt)
        raise error

    async def work_async(job: Note, ctx: JobContext) -> str:
        await asyncio.sleep(0)
        return work(job, ctx)

    return work_async if is_async else work


# Retries


def test_due_times_after_failures_grow_until_the_attempts_are_used_up(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    rig = open_rig(profile_of(failing(OSError("down"))), store=clocked_store, retry=replace(NO_JITTER, max_attempts=4))
    job_id = rig.enqueue(Note(text="bad"))

    for attempt, wait in ((1, 3), (2, 6), (3, 12)):
        rig.visit()
        job = rig.hot(job_id)
        assert (job.status, job.attempt, job.worker_id) == (Status.PENDING, attempt, None)
        assert timedelta(0) <= job.due_at - clock.now() - wait * SECOND < SECOND
        clock.advance((wait - 1) * SECOND)
        rig.visit()
        assert rig.hot(job_id).attempt == attempt
        clock.advance(2 * SECOND)
    rig.visit()

    dead = rig.dead(job_id)
    assert (dead.reason, dead.attempt) == (FailureReason.MAX_RETRIES_EXCEEDED, 4)
    assert [(e.attempt, e.type, e.message) for e in dead.attempt_errors] == [
        (1, "OSError", "down"),
        (2, "OSError", "down"),
        (3, "OSError", "down"),
        (4, "OSError", "down"),
    ]
    assert dead.error_details is not None
    assert "Traceback" in dead.error_details
    assert rig.store.totals()["default"] == Totals(succeeded=0, failed=1, retried=3)
    assert rig.events.names(job_id) == [
        "JobEnqueued",
        *["JobStarted", "JobTransientRetryScheduled"] * 3,
        "JobStarted",
        "JobRetriesExhaustedDlq",
    ]


@pytest.mark.case("C-018")
def test_jitter_spreads_the_due_times_of_jobs_that_failed_together(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    def work(job: Note) -> None:
        raise OSError("outage")

    rules = RetryRules(base_delay=30 * SECOND, jitter_max_delay=10 * SECOND)
    rig = open_rig(profile_of(work), store=clocked_store, retry=rules)
    ids = rig.enqueue_many(500)

    rig.visit()

    waits = [(rig.hot(job_id).due_at - clock.now()).total_seconds() for job_id in ids]
    assert min(waits) >= 30
    assert max(waits) <= 40
    assert max(sum(bucket <= wait < bucket + 1 for wait in waits) for bucket in range(30, 40)) <= 125


@pytest.mark.case("C-015")
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
@pytest.mark.parametrize("own,common,runs", [(None, 1, 1), (None, 2, 2), (1, 3, 1), (2, 1, 2), (5, 1, 5)], ids=str)
def test_a_job_runs_as_often_as_its_attempts_say(
    open_rig: OpenRig, is_async: bool, own: int | None, common: int, runs: int
) -> None:
    seen: list[int] = []
    handler = failing(RuntimeError("always"), is_async=is_async, runs=seen)
    rig = open_rig(profile_of(handler, max_attempts=own), retry=replace(QUICK_RETRY, max_attempts=common))

    job = rig.dead(rig.run(Note(text="bad")))

    assert seen == list(range(1, runs + 1))
    assert (job.attempt, len(job.attempt_errors)) == (runs, runs)


@pytest.mark.case("C-011")
@pytest.mark.parametrize("multiplier", [1.0, 5.0, 1e300], ids=["flat", "steep", "absurd"])
def test_a_job_with_a_thousand_failures_behind_it_is_retried_without_overflow(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock, multiplier: float
) -> None:
    rules = RetryRules(
        max_attempts=2000,
        base_delay=5 * SECOND,
        multiplier=multiplier,
        max_delay=timedelta.max,
        jitter_max_delay=timedelta.max,
        max_job_age=None,
    )
    rig = open_rig(profile_of(failing(RuntimeError("nope"))), store=clocked_store, retry=rules)
    job_id = rig.enqueue(Note(text="bad"))

    for _ in range(20):
        rig.visit()
        job = rig.hot(job_id)
        clock.advance(min(job.due_at - clock.now(), timedelta(days=360)) + SECOND)

    assert rig.hot(job_id).status is Status.PENDING
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


# Fatal, throttled, lifetime


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
@pytest.mark.parametrize("error", [FatalJobError("no such customer"), ValueError("bad amount"), KeyError], ids=repr)
def test_an_error_that_a_retry_cannot_mend_ends_the_job_at_once(
    open_rig: OpenRig, is_async: bool, error: BaseException
) -> None:
    rig = open_rig(profile_of(failing(error, is_async=is_async), fatal=(LookupError,)))

    job = rig.dead(rig.run(Note(text="bad")))

    assert (job.reason, job.attempt) == (FailureReason.FATAL_ERROR, 1)
    assert rig.events.names(job.id)[-1] == "JobFatalErrorDlq"


def test_a_registration_decides_what_is_worth_a_retry(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(failing(ValueError("flaky parser")), transient=(ValueError,), max_attempts=2))

    assert rig.dead(rig.run(Note(text="bad"))).reason is FailureReason.MAX_RETRIES_EXCEEDED


def test_a_transient_error_is_retried_whatever_it_is_made_of(open_rig: OpenRig) -> None:
    class OddError(TransientJobError, ValueError):
        pass

    rig = open_rig(profile_of(failing(OddError("again")), max_attempts=2))

    assert rig.dead(rig.run(Note(text="bad"))).attempt == 2


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
@pytest.mark.parametrize(
    "asked,given",
    [
        pytest.param(timedelta(seconds=90), timedelta(seconds=90), id="as-asked"),
        pytest.param(timedelta(seconds=-5), timedelta(0), id="negative"),
        pytest.param(timedelta(days=3), timedelta(hours=1), id="longer-than-allowed"),
        pytest.param(timedelta.max, timedelta(hours=1), id="longest"),
        pytest.param(None, timedelta(seconds=3), id="unsaid"),
    ],
)
def test_a_throttled_job_waits_as_long_as_it_was_asked_to_within_bounds(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock, is_async: bool, asked: timedelta, given: timedelta
) -> None:
    handler = failing(ThrottledError("slow down", asked), is_async=is_async)
    rig = open_rig(profile_of(handler, max_attempts=2), store=clocked_store, retry=NO_JITTER)

    job_id = rig.run(Note(text="bad"))

    if given > timedelta(0):
        job = rig.hot(job_id)
        assert (job.due_at - clock.now(), job.attempt) == (given, 1)
        assert rig.events.names(job_id)[-1] == "JobThrottledRetryScheduled"
        clock.advance(given)
        rig.visit()
    assert (rig.dead(job_id).reason, rig.dead(job_id).attempt) == (FailureReason.THROTTLED, 2)


@pytest.mark.parametrize("asked", [30, 2.5, "30", float("nan")], ids=repr)
def test_a_throttled_job_that_says_its_wait_in_the_wrong_type_harms_no_other_job(
    open_rig: OpenRig,
    clocked_store: Store,
    clock: SteppedClock,
    asked: Any,  # noqa: ANN401
) -> None:
    rig = open_rig(profile_of(failing(ThrottledError("slow down", asked))), store=clocked_store, retry=NO_JITTER)
    bad, *good = rig.enqueue(Note(text="bad")), *rig.enqueue_many(3)

    rig.visit()

    assert [rig.archived(job_id).attempt for job_id in good] == [1, 1, 1]
    assert rig.hot(bad).due_at - clock.now() == timedelta(seconds=3)
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


def test_a_job_whose_next_run_would_start_after_its_lifetime_ends_instead(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    rules = replace(NO_JITTER, max_attempts=9, max_job_age=timedelta(seconds=10))
    rig = open_rig(profile_of(failing(OSError("down"))), store=clocked_store, retry=rules)
    job_id = rig.run(Note(text="bad"))
    clock.advance(timedelta(seconds=3))
    rig.visit()
    clock.advance(timedelta(seconds=6))
    rig.visit()

    job = rig.dead(job_id)
    assert (job.reason, job.attempt) == (FailureReason.RETRY_LIFETIME_EXPIRED, 3)


def test_the_lifetime_of_a_delayed_job_begins_when_it_is_first_due(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    rules = replace(NO_JITTER, max_job_age=timedelta(seconds=10))
    rig = open_rig(profile_of(failing(OSError("down"))), store=clocked_store, retry=rules)
    job_id = rig.run(Note(text="bad"), delay=timedelta(days=2))
    clock.advance(timedelta(days=2))
    rig.visit()

    assert rig.hot(job_id).attempt == 1


# What ends a process elsewhere


@pytest.mark.case("C-013")
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
@pytest.mark.parametrize(
    "error,kind",
    [
        (SystemExit(0), "SystemExit"),
        (SystemExit(1), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (Boom("boom"), "tests.engine.test_failures.Boom"),
        (asyncio.CancelledError("nobody asked"), "asyncio.exceptions.CancelledError"),
        (StopIteration(), "StopIteration"),
        (MemoryError(), "MemoryError"),
        (RecursionError("too deep"), "RecursionError"),
    ],
    ids=[
        "exit-0",
        "exit-1",
        "interrupt",
        "generator-exit",
        "base-exception",
        "cancelled",
        "stop",
        "memory",
        "recursion",
    ],
)
def test_whatever_a_handler_raises_is_a_failed_attempt_of_that_job_and_of_nothing_else(
    open_rig: OpenRig, is_async: bool, error: BaseException, kind: str
) -> None:
    runs: list[int] = []
    rig = open_rig(profile_of(failing(error, is_async=is_async, runs=runs), max_attempts=2))
    bad, *good = rig.enqueue(Note(text="bad")), *rig.enqueue_many(10)

    rig.visit()

    job = rig.dead(bad)
    assert (job.reason, job.attempt, runs) == (FailureReason.MAX_RETRIES_EXCEEDED, 2, [1, 2])
    expected = "RuntimeError" if is_async and isinstance(error, StopIteration) else kind
    assert [failed.type for failed in job.attempt_errors] == [expected, expected]
    assert [rig.archived(job_id).attempt for job_id in good] == [1] * 10
    assert rig.events.of(EventName.WORKER_LOOP_STOPPED_UNEXPECTEDLY) == []


@pytest.mark.case("C-013")
def test_a_handler_that_calls_sys_exit_leaves_the_process_alive(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: sys.exit(0), max_attempts=1))

    job = rig.dead(rig.run())

    assert (job.error_type, job.reason) == ("SystemExit", FailureReason.MAX_RETRIES_EXCEEDED)


# Texts of errors


class Unprintable(Exception):  # noqa: N818 - its name does not matter
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Exiting(Exception):  # noqa: N818 - the same
    def __str__(self) -> str:
        raise SystemExit(3)


def chained() -> BaseException:
    error = RuntimeError("upstream said no")
    error.__cause__ = OSError("cause\x00with nul")
    return error


def from_source_with_nul() -> BaseException:
    name, line = "<odd source>", "raise RuntimeError('upstream said no')"
    linecache.cache[name] = (len(line), None, [f"{line}  # nul \x00\n"], name)
    try:
        exec(compile(line, name, "exec"))  # noqa: S102 - a traceback needs a frame of that source
    except RuntimeError as error:
        return error
    raise AssertionError("the source raised nothing")


@pytest.mark.case("C-016")
@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async-def"])
@pytest.mark.parametrize(
    "make_error,parts",
    [
        pytest.param(lambda: RuntimeError("upstream said: \x00\x01 bad\x00"), ["upstream said: ␀\x01 bad␀"], id="nul"),
        pytest.param(chained, ["cause␀with nul", "upstream said no"], id="nul-in-the-cause"),
        pytest.param(from_source_with_nul, ["# nul ␀", "upstream said no"], id="nul-in-the-source"),
        pytest.param(lambda: RuntimeError("half \ud83d pair"), ["half � pair"], id="lone-surrogate"),
        pytest.param(lambda: RuntimeError("x" * 1_000_000), ["xxx", "cut"], id="a-million-characters"),
        pytest.param(Unprintable, ["test_failures.Unprintable"], id="no-text"),
        pytest.param(Exiting, ["test_failures.Exiting"], id="text-that-exits"),
    ],
)
def test_a_failure_is_recorded_whatever_its_text(
    open_rig: OpenRig, is_async: bool, make_error: Callable[[], BaseException], parts: list[str]
) -> None:
    rig = open_rig(profile_of(failing(make_error(), is_async=is_async), max_attempts=2))

    job = rig.dead(rig.run(Note(text="bad")))

    assert (job.reason, job.attempt) == (FailureReason.MAX_RETRIES_EXCEEDED, 2)
    assert job.error_details is not None
    assert [part for part in parts if part not in job.error_details] == []
    assert "\x00" not in job.error_details
    assert job.error_details.encode()


@pytest.mark.case("C-016")
def test_a_job_that_failed_with_an_odd_text_can_be_resurrected(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(failing(RuntimeError("bad\x00")), max_attempts=1))
    job_id = rig.run(Note(text="bad"))

    rig.store.resurrect([job_id], "ann")
    rig.visit()

    assert [failed.message for failed in rig.dead(job_id).attempt_errors] == ["bad␀", "bad␀"]
