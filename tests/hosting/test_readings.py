"""
The gauges after a run of the heartbeat timer, and after one that could not read everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.moves import dead_letter
from chokaq_core.hosting.readings import Readings
from chokaq_core.policy.error_text import text_facts
from chokaq_core.policy.health import HealthRules
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.ports import QueueChange, Store, Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore
from chokaq_core.telemetry.gauges import Gauges
from chokaq_core.telemetry.tags import Tags
from tests.support.clock import SteppedClock
from tests.support.faulty_store import FaultyStore
from tests.support.readings import Readings as Exported

SECOND = timedelta(seconds=1)
PERIODS = {"poll": timedelta(seconds=30)}


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def faulty(clock: SteppedClock) -> Iterator[FaultyStore]:
    store = SqliteStore(clock=clock.now)
    store.prepare()
    with closing(store):
        yield FaultyStore(store)


@pytest.fixture
def exported() -> Exported:
    return Exported()


def readings_of(store: Store, exported: Exported) -> Readings:
    return Readings(store, Gauges(Tags(MetricRules()), exported.instruments), HealthRules(), PERIODS)


def values(exported: Exported) -> dict[str, dict[tuple[str, ...], Any]]:
    return {name: exported.points(name) for name in exported.metrics()}


def some_life(store: Store, clock: SteppedClock) -> None:
    """
    One job runs, one is dead, two wait, one of them in a paused queue; the poll was last heard of with the first.
    """
    store.timer_started("poll")
    store.timer_finished("poll", "ok", has_succeeded=True)
    store.register(WorkerFacts("worker-1", "host", 4))
    store.enqueue([NewJob("runs", "t", "{}", queue="busy"), NewJob("dies", "t", "{}", queue="busy")])
    claimed = {job.lease.job_id: job.lease for job in store.turn(Turn("worker-1", 1, want=2)).claimed}
    death = dead_letter(claimed["dies"], FailureReason.FATAL_ERROR, text_facts("E", "dead"), 1.0)
    store.turn(Turn("worker-1", 2, settlements=(death,)))
    store.enqueue([NewJob("waits", "t", "{}", queue="slow"), NewJob("is-held", "t", "{}", queue="held")])
    store.change_queue("held", QueueChange(is_paused=True))
    clock.advance(7 * SECOND)


def test_every_gauge_tells_how_things_stand(faulty: FaultyStore, clock: SteppedClock, exported: Exported) -> None:
    store = faulty.as_store()
    some_life(store, clock)

    readings_of(store, exported).refresh()

    assert values(exported) == {
        "chokaq.queue.lag_max": {("slow",): 7.0},
        "chokaq.queue.depth": {("default",): 0, ("busy",): 0, ("slow",): 1, ("held",): 1},
        "chokaq.queue.paused": {("default",): 0, ("busy",): 0, ("slow",): 0, ("held",): 1},
        "chokaq.dlq.depth": {("default",): 0, ("busy",): 1, ("slow",): 0, ("held",): 0},
        "chokaq.heartbeat.age_max": {(): 7.0},
        "chokaq.workers.alive": {(): 1},
        "chokaq.timers.silence": {("poll",): 7.0},
    }


@pytest.mark.parametrize(
    "broken,missing",
    [
        (
            "vitals",
            {"chokaq.queue.lag_max", "chokaq.heartbeat.age_max", "chokaq.workers.alive", "chokaq.timers.silence"},
        ),
        ("queues", {"chokaq.queue.paused"}),
        ("census", {"chokaq.queue.depth", "chokaq.dlq.depth"}),
    ],
)
def test_what_cannot_be_read_leaves_out_its_own_gauges_only_and_is_told(
    faulty: FaultyStore, clock: SteppedClock, exported: Exported, broken: str, missing: set[str]
) -> None:
    store = faulty.as_store()
    some_life(store, clock)
    faulty.go_away(broken)

    with pytest.raises(StoreUnavailableError):
        readings_of(store, exported).refresh()

    everything = {
        "chokaq.queue.lag_max",
        "chokaq.queue.depth",
        "chokaq.queue.paused",
        "chokaq.dlq.depth",
        "chokaq.heartbeat.age_max",
        "chokaq.workers.alive",
        "chokaq.timers.silence",
    }
    assert set(values(exported)) == everything - missing


def test_a_slow_count_holds_up_no_other_gauge(faulty: FaultyStore, clock: SteppedClock, exported: Exported) -> None:
    store = faulty.as_store()
    some_life(store, clock)
    seen: list[set[str]] = []
    faulty.after("census", lambda: seen.append(set(values(exported))))

    readings_of(store, exported).refresh()

    assert seen == [set(values(exported)) - {"chokaq.queue.depth", "chokaq.dlq.depth"}]
