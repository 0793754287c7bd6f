"""
How many instances the engine's wakes bring, with a platform that starts one for each message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from chokaq_core.contracts import Job, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.circuit import CircuitReport, CircuitSignal
from chokaq_core.domain.failures import ErrorFacts, Failed, FailureKind
from chokaq_core.domain.value import replace
from chokaq_core.ports import QueueChange, Store, Turn, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore
from tests.scaling.simulation import RULES, World, settled
from tests.support.clock import SteppedClock


class Nothing(Job):
    pass


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(clock: SteppedClock) -> Iterator[Store]:
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield store


@pytest.fixture
def catalog() -> Catalog:
    profile = Profile("bench")

    @profile.handler("bench.noop.v1")
    def noop(job: Nothing) -> None:
        """
        Never called: the simulation stands for it.
        """

    return Catalog([profile])


@pytest.fixture
def world(store: Store, clock: SteppedClock, catalog: Catalog) -> World:
    return World(store, clock, catalog)


def test_five_jobs_a_second_for_ten_minutes_need_at_most_two_instances(world: World) -> None:
    for second in range(600):
        for fifth in range(5):
            world.at(second + fifth / 5, lambda: world.enqueue(1))

    world.run_until(700)

    assert len(world.runs) == 3000
    assert settled(world)
    assert world.most_instances <= 2
    assert world.queue.sent < 150


def test_ten_thousand_jobs_delayed_over_fifteen_minutes_and_one_wake_need_at_most_two(world: World) -> None:
    world.enqueue(10_000, delays=[timedelta(milliseconds=90 * n) for n in range(1, 10_001)])
    world.queue.send()

    world.run_until(1000)

    assert len(world.runs) == 10_000
    assert settled(world)
    assert world.most_instances <= 2


def test_a_paused_backlog_wakes_nobody(world: World) -> None:
    world.enqueue(2_000)
    world.store.change_queue("default", QueueChange(is_paused=True))
    world.run_until(60)
    sent = world.queue.sent

    world.run_until(660)

    assert world.queue.sent == sent
    assert len(world.vain_wakes) <= 10


def test_a_limited_backlog_wakes_at_most_one_worker_a_minute_in_vain(world: World) -> None:
    world.job_seconds = 20.0
    world.enqueue(1)
    world.store.change_queue("default", QueueChange(max_workers=3))
    world.enqueue(200)

    world.run_until(600)

    assert sum(world.runs.values()) >= 80
    assert len(world.vain_wakes) <= 10
    assert max(world.runs.values()) == 1


def test_a_saturated_fleet_wakes_at_most_one_worker_a_minute_in_vain(world: World) -> None:
    world.cap = 3
    world.job_seconds = 45.0
    world.enqueue(500)

    world.run_until(600)

    assert world.most_instances == 3
    assert len(world.vain_wakes) <= 10
    assert sum(world.runs.values()) >= 400


def test_jobs_that_come_due_in_a_paused_queue_wake_nobody_and_run_once_it_is_opened(
    store: Store, clock: SteppedClock, catalog: Catalog
) -> None:
    world = World(store, clock, catalog, has_poll=False)
    world.store.change_queue("shut", QueueChange(is_paused=True))
    world.enqueue(3_000, queue="shut", delays=[timedelta(milliseconds=90 * n) for n in range(1, 3_001)])
    for second in range(300):
        world.at(second, lambda: world.enqueue(1, queue="shut"))

    world.run_until(300)

    assert world.queue.sent == 0
    world.change_queue("shut", QueueChange(is_paused=False))
    world.enqueue(50, queue="shut", delays=[timedelta(seconds=120)])
    world.run_until(500)
    assert len(world.runs) == 3_350
    assert settled(world)


def test_jobs_that_come_due_in_an_opened_queue_start_by_their_wake(
    store: Store, clock: SteppedClock, catalog: Catalog
) -> None:
    world = World(store, clock, catalog, has_poll=False)
    world.store.change_queue("shut", QueueChange(is_active=False))
    world.enqueue(1, queue="shut", delays=[timedelta(seconds=120)])
    world.run_until(30)

    world.change_queue("shut", QueueChange(is_active=True))
    world.run_until(200)

    assert [due for _, due in world.started] == [120.0]
    assert 120.0 <= world.started[0][0] <= 140.0
    assert len(world.vain_wakes) == 1


def test_a_limit_that_fills_a_worker_wakes_at_most_one_other_a_minute_in_vain(world: World) -> None:
    """
    The worker's every look is full and more waits, yet nobody else could take it.
    """
    world.rules = replace(RULES, max_concurrency=3)
    world.job_seconds = 1.0
    world.store.change_queue("narrow", QueueChange(max_workers=3))
    world.enqueue(1_000, queue="narrow", delays=[timedelta(milliseconds=90 * n) for n in range(1, 1_001)])
    for second in range(600):
        world.at(second, lambda: world.enqueue(3, queue="narrow"))

    world.run_until(600)

    assert sum(world.runs.values()) >= 1_600
    assert len(world.vain_wakes) <= 10


def test_a_circuit_that_opens_again_and_again_wakes_at_most_one_worker_a_minute_in_vain(world: World) -> None:
    world.outcome = Failed(FailureKind.TRANSIENT, ErrorFacts("OSError", "down", "OSError: down"))
    for second in range(600):
        world.at(second, lambda: world.enqueue(2, delays=[None, timedelta(seconds=10)]))

    world.run_until(600)

    assert 20 <= sum(world.runs.values()) <= 40
    assert len(world.vain_wakes) <= 10
    assert world.queue.sent <= 60


def test_an_open_circuits_backlog_wakes_at_most_one_worker_a_minute_in_vain(world: World) -> None:
    world.enqueue(1_000)
    _open_circuit(world.store)

    world.run_until(25)

    assert sum(world.runs.values()) <= 1
    assert len(world.vain_wakes) <= 1


def _open_circuit(store: Store) -> None:
    store.register(WorkerFacts("breaker", "host", 5))
    claimed = store.turn(Turn("breaker", 1, want=5)).claimed
    reports = tuple(
        CircuitReport(job.type_key, job.lease.job_id, job.circuit_generation, CircuitSignal.FAILURE) for job in claimed
    )
    store.turn(Turn("breaker", 2, reports=reports))
    store.retire("breaker")


def test_a_burst_of_a_hundred_thousand_jobs_recruits_up_to_the_cap_within_a_minute(world: World) -> None:
    world.cap = 20
    world.job_seconds = 0.5
    world.enqueue(100_000)

    world.run_until(60)

    assert world.most_instances == 20


def test_without_the_poll_a_delayed_job_starts_by_its_wake_and_not_before(
    store: Store, clock: SteppedClock, catalog: Catalog
) -> None:
    world = World(store, clock, catalog, has_poll=False)
    world.enqueue(1, delays=[timedelta(seconds=20)])

    world.run_until(120)

    ((started_at, due_at),) = world.started
    assert due_at == 20.0
    assert 20.0 <= started_at <= 40.0


def test_ten_thousand_posts_in_a_burst_send_few_wakes(world: World) -> None:
    for n in range(10_000):
        world.at(n / 500, lambda: world.enqueue(1))

    world.run_until(180)

    assert settled(world)
    assert world.queue.sent < 500


def test_with_every_wake_doubled_nothing_runs_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    send = world.queue.send

    def send_twice(*, delay: timedelta | None = None) -> None:
        send(delay=delay)
        send(delay=delay)

    monkeypatch.setattr(world.queue, "send", send_twice)
    for n in range(600):
        world.at(n / 5, lambda: world.enqueue(5))

    world.run_until(240)

    assert len(world.runs) == 3000
    assert settled(world)


def test_with_every_wake_of_enqueues_lost_jobs_start_within_one_poll_and_the_start_of_an_instance(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = world._producer  # noqa: SLF001 - the wakes of enqueues alone are lost
    monkeypatch.setattr(producer, "enqueued", lambda **_: None)
    world.run_until(1.0)
    world.enqueue(50)

    world.run_until(30.0 + 10.0 + 5.0 + 1.0)

    assert settled(world)
    assert len(world.runs) == 50


def test_a_worker_that_stays_busy_for_longer_than_its_budget_hands_over(world: World) -> None:
    world.rules = replace(RULES, drain_budget=timedelta(seconds=30))
    world.cap = 1
    world.job_seconds = 1.0
    world.enqueue(2_000)

    world.run_until(240)

    assert settled(world)
    assert len(world.runs) == 2_000
