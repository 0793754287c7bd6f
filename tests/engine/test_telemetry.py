"""
The engine's events as metrics: a day in the life of a few jobs, and every number afterwards.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from chokaq_core.contracts import JobContext, Profile
from chokaq_core.contracts.request import RawRequest
from chokaq_core.domain.errors import FatalJobError, ThrottledError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.value import replace
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.ports import CancelOutcome, Store
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags
from tests.engine.conftest import OpenRig
from tests.support.engine import MILLISECOND, QUICK_RETRY, Note, Rig, profile_of, wait
from tests.support.readings import Readings


def succeeding(job: Note) -> None:
    return None


def failing(job: Note) -> None:
    raise OSError("the payload's own words")


def fatal(job: Note) -> None:
    raise FatalJobError("never again")


def throttled_once(job: Note, ctx: JobContext) -> None:
    if ctx.attempt == 1:
        raise ThrottledError("slow down", timedelta(0))


async def endless(job: Note) -> None:
    await asyncio.Event().wait()


def kind(name: str, handler: Callable[..., Any], **options: Any) -> Profile:  # noqa: ANN401 - of a registration
    """
    A profile with one handler, for a model of its own.
    """
    return profile_of(handler, f"day.{name}.v1", job_type=type(f"Note{name}", (Note,), {}), **options)


def readings_of(rig: Rig) -> Readings:
    """
    What the events that the engine has told so far come to.
    """
    readings = Readings()
    metrics = Metrics(Tags(MetricRules()), readings.instruments)
    metrics.publish([event for name in EventName for event in rig.events.of(name)])
    return readings


def test_after_a_day_in_the_life_every_number_adds_up(open_rig: OpenRig, store: Store) -> None:
    is_running = threading.Event()

    async def cancelled(job: Note) -> None:
        is_running.set()
        await asyncio.Event().wait()

    rig = open_rig(
        kind("success", succeeding),
        kind("failure", failing, max_attempts=2),
        kind("fatal", fatal),
        kind("throttled", throttled_once),
        kind("timeout", endless, timeout=30 * MILLISECOND),
        kind("cancel", cancelled),
        retry=replace(QUICK_RETRY, max_attempts=3),
    )
    names = ("success", "success", "failure", "fatal", "throttled", "timeout", "cancel")
    requests = [RawRequest(f"day.{name}.v1", "{}", queue="day") for name in names]
    ids = [rig.engine.producer.enqueue_raw(request).job_id for request in requests]
    with rig.visiting():
        wait(is_running)
        assert store.cancel([ids[-1]], "ann") == [CancelOutcome.MARKED]
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED, count=3)
    for name, count in ((EventName.JOB_TIMED_OUT_OR_CANCELLED, 2), (EventName.JOB_FATAL_ERROR_DLQ, 1)):
        rig.events.wait_for(name, count=count)
    rig.events.wait_for(EventName.JOB_RETRIES_EXHAUSTED_DLQ)

    readings = readings_of(rig)
    assert sum(readings.points("chokaq.jobs.enqueued").values()) == 7
    assert readings.points("chokaq.jobs.completed") == {("day", "day.success.v1"): 2, ("day", "day.throttled.v1"): 1}
    assert readings.points("chokaq.jobs.dlq") == {
        ("day", "day.failure.v1", "MaxRetriesExceeded"): 1,
        ("day", "day.fatal.v1", "FatalError"): 1,
        ("day", "day.timeout.v1", "Timeout"): 1,
        ("day", "day.cancel.v1", "Cancelled"): 1,
    }
    assert readings.points("chokaq.jobs.failed") == {
        ("day", "day.failure.v1", "OSError"): 2,
        ("day", "day.fatal.v1", "FatalJobError"): 1,
        ("day", "day.throttled.v1", "ThrottledError"): 1,
    }
    assert readings.points("chokaq.jobs.retried") == {
        ("day", "day.failure.v1", "1"): 1,
        ("day", "day.throttled.v1", "1"): 1,
    }
    assert sum(readings.points("chokaq.jobs.processing_duration").values()) == 9
    assert sum(readings.points("chokaq.jobs.queue_lag").values()) == 9
    assert "chokaq.workers.active" not in readings.metrics()
    counts = store.counts()
    assert (counts.hot, counts.archive, counts.dlq) == (0, 3, 4)


def test_a_run_that_is_under_way_is_an_active_worker(open_rig: OpenRig) -> None:
    is_running, may_end = threading.Event(), threading.Event()

    def waiting(job: Note) -> None:
        is_running.set()
        wait(may_end)

    rig = open_rig(profile_of(waiting))
    rig.enqueue(queue="day")
    with rig.visiting():
        wait(is_running)
        rig.events.wait_for(EventName.JOB_STARTED)
        assert readings_of(rig).points("chokaq.workers.active") == {("day",): 1}
        may_end.set()
    rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
    assert "chokaq.workers.active" not in readings_of(rig).metrics()
