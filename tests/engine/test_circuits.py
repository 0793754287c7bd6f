"""
Circuits as an engine meets them: what its runs tell, what it holds back, and how a type comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any, cast

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.access import Actor, Role
from chokaq_core.domain.circuit import CircuitSignal, CircuitState
from chokaq_core.domain.errors import JobPostponedError
from chokaq_core.domain.events import EventName
from chokaq_core.domain.job import Status
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.operations.commands import Ids, JobCommand, Verb
from chokaq_core.operations.job_commands import JobCommands
from chokaq_core.operations.queue_commands import QueueCommands
from chokaq_core.operations.seals import Seals
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import PillarCounts, QueueChange, Store, Turn, TurnAnswer, WorkerFacts
from chokaq_core.stores.sqlite import SqliteStore
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import MINUTE, NOTE, ONE_AT_A_TIME, SECOND, Gates, Note, Rig, profile_of, wait
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until

ANN = Actor("ann", Role.OPERATE)
RESCUE_RULES = RescueRules(
    fetched_job_timeout=10 * MINUTE, processing_zombie_timeout=10 * MINUTE, scan_interval=60 * MINUTE
)


@pytest.fixture
def store() -> Iterator[Store]:
    """
    A store in memory, at the real time, with circuits.
    """
    with closing(SqliteStore()) as store:
        store.prepare()
        yield store


@pytest.fixture
def clocked_store(clock: SteppedClock) -> Iterator[Store]:
    """
    A store in memory, at the time of `clock`, with circuits.
    """
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield store


class Dependency:
    """
    What the handlers of these tests need: it works or it does not.
    """

    def __init__(self) -> None:
        self.is_up = False
        self.calls = 0

    def __call__(self, job: Note) -> None:
        self.calls += 1
        if not self.is_up:
            raise OSError("connection refused")


class Overheard:
    """
    A store that keeps the turns it was given.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.turns: list[Turn] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the method is
        return getattr(self._store, name)

    def turn(self, turn: Turn) -> TurnAnswer:
        self.turns.append(turn)
        return self._store.turn(turn)

    def reports(self) -> list[tuple[str, CircuitSignal]]:
        return [(report.type_key, report.signal) for turn in self.turns for report in turn.reports]


def changes(rig: Rig) -> list[tuple[object, object]]:
    return [(e.facts["change"], e.facts["state"]) for e in rig.events.of(EventName.CIRCUIT_CHANGED)]


def state(rig: Rig) -> CircuitState:
    return {circuit.type_key: circuit.state for circuit in rig.store.circuits()}.get(NOTE, CircuitState.CLOSED)


def test_a_type_that_keeps_failing_is_held_back(open_rig: OpenRig) -> None:
    dependency = Dependency()
    rig = open_rig(profile_of(dependency, max_attempts=1), worker=ONE_AT_A_TIME)
    rig.enqueue_many(8)

    rig.visit()

    assert state(rig) is CircuitState.OPEN
    assert dependency.calls == 5
    assert rig.store.counts() == PillarCounts(hot=3, archive=0, dlq=5)
    (event,) = rig.events.of(EventName.CIRCUIT_CHANGED)
    assert event.facts == {"type": NOTE, "state": "open", "change": "opened"}


def test_a_fetched_job_is_put_off_when_its_circuit_has_opened_meanwhile(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    dependency = Dependency()
    worker = replace(ONE_AT_A_TIME, prefetch=9)
    rig = open_rig(profile_of(dependency, max_attempts=1), store=clocked_store, worker=worker)
    ids = rig.enqueue_many(10)

    rig.visit()

    put_off = [event.job.id for event in rig.events.of(EventName.CIRCUIT_BREAKER_REJECTED) if event.job is not None]
    assert len(put_off) >= 4
    assert set(put_off) < set(ids)
    assert dependency.calls == 10 - len(put_off)
    for job_id in put_off:
        job = rig.hot(job_id)
        assert (job.status, job.attempt, job.due_at) == (Status.PENDING, 0, clock.now() + 5 * SECOND)
        (event,) = rig.events.of(EventName.CIRCUIT_BREAKER_REJECTED, job_id)
        assert event.facts["delay_s"] == 5.0
    assert rig.store.counts().dlq == dependency.calls


def test_one_probe_goes_first_and_its_success_lets_the_others_run(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    dependency = Dependency()
    rig = open_rig(profile_of(dependency, max_attempts=1), store=clocked_store)
    rig.enqueue_many(5)
    rig.visit()
    ids = rig.enqueue_many(3)
    rig.visit()
    assert dependency.calls == 5

    dependency.is_up = True
    clock.advance(30 * SECOND)
    rig.visit()

    assert changes(rig) == [
        ("opened", "open"),
        ("half_opened", "half_open"),
        ("probe_acquired", "half_open"),
        ("closed", "closed"),
    ]
    assert [rig.archived(job_id).attempt for job_id in ids] == [1, 1, 1]
    names = rig.events.names()
    opened, closed = names.index("CircuitChanged"), len(names) - names[::-1].index("CircuitChanged")
    assert (names[opened:closed].count("JobStarted"), names[closed:].count("JobStarted")) == (1, 2)


def test_a_probe_that_fails_holds_the_type_back_for_another_break(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    dependency = Dependency()
    rig = open_rig(profile_of(dependency, max_attempts=1), store=clocked_store)
    rig.enqueue_many(5)
    rig.visit()
    rig.enqueue_many(3)

    for _ in range(2):
        clock.advance(30 * SECOND)
        rig.visit()

    assert dependency.calls == 7
    assert [change for change, _ in changes(rig)].count("opened") == 3


def test_a_probe_that_is_put_off_by_middleware_lets_the_next_claim_probe(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    dependency = Dependency()
    postponed: list[str] = []

    def put_off_the_first_probe(job: object, ctx: JobContext, call_next: Callable[[], object]) -> object:
        if dependency.is_up and not postponed:
            postponed.append(ctx.job_id)
            raise JobPostponedError("not now", MINUTE)
        return call_next()

    rig = open_rig(profile_of(dependency, max_attempts=1), store=clocked_store, middleware=(put_off_the_first_probe,))
    rig.enqueue_many(5)
    rig.visit()
    ids = rig.enqueue_many(2)

    dependency.is_up = True
    clock.advance(30 * SECOND)
    rig.visit()

    (put_off,) = postponed
    assert rig.hot(put_off).due_at == clock.now() + MINUTE
    assert [rig.archived(job_id).attempt for job_id in ids if job_id != put_off] == [1]
    assert [change for change, _ in changes(rig)] == [
        "opened",
        "half_opened",
        "probe_acquired",
        "permit_released",
        "half_opened",
        "probe_acquired",
        "closed",
    ]


class Desk:
    """
    A circuit whose probe is in the hands of a worker that is gone, and all that may take it away from there.
    """

    def __init__(self, rig: Rig, clock: SteppedClock) -> None:
        self.rig, self.clock = rig, clock
        self.rescue = Rescue(rig.store, rig.catalog, RESCUE_RULES, RetryRules(), rig.events)

    def rescued(self) -> None:
        self.rescue.scan()
        self.clock.advance(11 * MINUTE)
        self.rescue.scan()

    def cancelled(self) -> None:
        check = self.rig.engine.producer.stored_text
        commands = JobCommands(self.rig.store, self.rig.events, Seals(b"key" * 11), check_payload=check, wake=print)
        commands.run(JobCommand(Verb.CANCEL, Ids(("probe",))), ANN)

    def paused(self) -> None:
        commands = QueueCommands(self.rig.store, self.rig.events, longest_beat=SECOND, wake=print)
        commands.change("default", QueueChange(is_paused=True), ANN)


@pytest.mark.parametrize(
    "want,prefetch,taken_away",
    [(0, 1, Desk.rescued), (1, 0, Desk.rescued), (0, 1, Desk.cancelled), (0, 1, Desk.paused)],
    ids=["recovered", "buried", "cancelled", "paused"],
)
def test_a_probe_that_is_taken_from_its_worker_outside_of_a_turn_is_told_to_have_given_its_permit_back(
    open_rig: OpenRig,
    clocked_store: Store,
    clock: SteppedClock,
    want: int,
    prefetch: int,
    taken_away: Callable[[Desk], None],
) -> None:
    rig = open_rig(profile_of(Dependency(), max_attempts=1), store=clocked_store)
    rig.enqueue_many(5)
    rig.visit()
    rig.enqueue(job_id="probe")
    clock.advance(31 * SECOND)
    rig.store.register(WorkerFacts("gone", "host", 1))
    claimed = rig.store.turn(Turn("gone", 1, want=want, prefetch=prefetch)).claimed
    assert [job.lease.job_id for job in claimed] == ["probe"]
    (half_open,) = rig.store.circuits()
    assert half_open.probe_job_id == "probe"

    taken_away(Desk(rig, clock))

    assert changes(rig) == [("opened", "open"), ("permit_released", "open")]
    (released,) = rig.store.circuits()
    assert (released.state, released.probe_job_id) == (CircuitState.OPEN, None)


def test_other_types_of_the_queue_run_on(open_rig: OpenRig) -> None:
    class Other(Note):
        pass

    rig = open_rig(
        profile_of(Dependency(), max_attempts=1), profile_of(lambda job: None, "test.other.v1", job_type=Other)
    )
    rig.enqueue_many(5)
    rig.visit()
    rig.enqueue_many(20)

    assert rig.archived(rig.run(Other(), priority=0)).attempt == 1


def test_successes_of_a_healthy_type_have_nothing_to_tell(open_rig: OpenRig, store: Store) -> None:
    overheard = Overheard(store)
    rig = open_rig(profile_of(lambda job: None), store=cast("Store", overheard))
    rig.enqueue_many(20)

    rig.visit()

    assert rig.store.counts().archive == 20
    assert overheard.reports() == []


def test_the_first_success_after_a_failure_is_told(open_rig: OpenRig, store: Store) -> None:
    overheard = Overheard(store)
    dependency = Dependency()
    rig = open_rig(profile_of(dependency, max_attempts=1), store=cast("Store", overheard))
    rig.run()
    dependency.is_up = True
    rig.run()
    rig.run()

    assert overheard.reports() == [(NOTE, CircuitSignal.FAILURE), (NOTE, CircuitSignal.SUCCESS)]


def test_a_success_beside_a_failure_in_one_turn_is_told_in_its_order(
    open_rig: OpenRig, faulty: FaultyStore, gates: Gates
) -> None:
    may_end, failing_may_end, fine_may_end = gates.new(), gates.new(), gates.new()

    def work(job: Note) -> None:
        wait({"first": may_end, "bad": failing_may_end, "fine": fine_may_end}[job.text])
        if job.text == "bad":
            raise OSError("connection refused")

    overheard = Overheard(faulty.as_store())
    rig = open_rig(profile_of(work, max_attempts=1), store=cast("Store", overheard))
    for text in ("first", "bad", "fine"):
        rig.enqueue(Note(text=text))

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED, count=3)
        hold = faulty.hold_before("turn")
        may_end.set()
        hold.wait_until_reached()
        failing_may_end.set()
        failing_ended = _wait_for_end(rig, "bad")
        fine_may_end.set()
        fine_ended = _wait_for_end(rig, "fine")
        hold.release()

    assert (failing_ended, fine_ended) == (True, True)
    assert overheard.reports() == [(NOTE, CircuitSignal.FAILURE), (NOTE, CircuitSignal.SUCCESS)]
    assert [circuit.failure_times for circuit in rig.store.circuits()] == [()]


def _wait_for_end(rig: Rig, text: str) -> bool:
    """
    Waits until the run of this note has ended and waits for its turn.
    """
    ledger = rig.engine._ledger  # noqa: SLF001 - nobody announces an outcome that waits
    wait_until(lambda: all(f'"{text}"' not in run.job.payload for run in ledger.live()))
    return True


@pytest.mark.case("C-066")
def test_a_breaker_trips_after_ten_healthy_hours_whatever_the_clock_does(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock
) -> None:
    dependency = Dependency()
    rig = open_rig(profile_of(dependency, max_attempts=1), store=clocked_store)

    def run(count: int, *, is_up: bool, apart: timedelta) -> None:
        dependency.is_up = is_up
        for _ in range(count):
            clock.advance(apart)
            rig.run()

    run(60, is_up=True, apart=10 * MINUTE)
    assert state(rig) is CircuitState.CLOSED

    run(2, is_up=False, apart=SECOND / 2)
    clock.advance(timedelta(hours=-1))
    run(2, is_up=False, apart=SECOND / 2)
    assert state(rig) is CircuitState.CLOSED
    run(1, is_up=False, apart=SECOND / 2)
    assert state(rig) is CircuitState.OPEN

    clock.advance(timedelta(hours=-1))
    run(2, is_up=True, apart=SECOND)
    assert state(rig) is CircuitState.CLOSED

    for _ in range(3):
        run(4, is_up=False, apart=SECOND)
        run(10, is_up=True, apart=5 * SECOND)
    assert [change for change, _ in changes(rig)] == ["opened", "half_opened", "probe_acquired", "closed"]
