"""
Circuits in the store: claims skip a type that is held back, one probe for all workers, answers of the past ignored.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from chokaq_core.domain.circuit import (
    Circuit,
    CircuitEvent,
    CircuitEventName,
    CircuitReport,
    CircuitSignal,
    CircuitState,
)
from chokaq_core.domain.job import ClaimedJob
from chokaq_core.domain.moves import complete, hand_back, postpone, release, retry
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import Beat, TurnAnswer
from tests.contract.sources import StoreSource
from tests.contract.stages import BOOM, MINUTE, OTHER_WORKER, SECOND, WORKER, Stage
from tests.support.clock import NOON, SteppedClock

TYPE = "email.send.v1"
SUCCESS, FAILURE, RELEASED = CircuitSignal


def _report(job: ClaimedJob, signal: CircuitSignal) -> CircuitReport:
    return CircuitReport(job.type_key, job.lease.job_id, job.circuit_generation, signal)


def _fail(stage: Stage, job: ClaimedJob, worker: str = WORKER) -> TurnAnswer:
    return stage.turn(worker, settlements=(retry(job.lease, MINUTE, BOOM),), reports=(_report(job, FAILURE),))


def _succeed(stage: Stage, job: ClaimedJob, worker: str = WORKER) -> TurnAnswer:
    return stage.turn(worker, settlements=(complete(job.lease, 1.0),), reports=(_report(job, SUCCESS),))


def _fail_five_times(stage: Stage, **values: str) -> TurnAnswer:
    """
    Opens the circuit of the jobs' type.
    """
    stage.add_many(5, **values)
    claimed = stage.turn(want=5).claimed
    return [_fail(stage, job) for job in claimed][-1]


def _events(answer: TurnAnswer) -> list[str]:
    return [str(event.name) for event in answer.circuit_events]


class TestOpening:
    def test_five_failures_within_a_minute_open_the_circuit(self, stage: Stage) -> None:
        stage.add_many(5)
        claimed = stage.turn(want=5).claimed
        for job in claimed[:4]:
            stage.clock.advance(15 * SECOND)
            assert _fail(stage, job).circuit_events == ()

        answer = _fail(stage, claimed[4])

        opened = Circuit(
            TYPE,
            CircuitState.OPEN,
            opened_at=NOON + MINUTE,
            reset_at=NOON + MINUTE + 30 * SECOND,
            generation=1,
        )
        assert answer.circuits == (opened,)
        assert answer.circuit_events == (CircuitEvent(TYPE, CircuitState.OPEN, CircuitEventName.OPENED),)
        assert list(stage.store.circuits()) == [opened]

    def test_failures_longer_ago_than_the_window_do_not_count(self, stage: Stage) -> None:
        stage.add_many(6)
        claimed = stage.turn(want=6).claimed
        for job in claimed:
            assert _fail(stage, job).circuit_events == ()
            stage.clock.advance(16 * SECOND)

        (circuit,) = stage.store.circuits()
        assert circuit.state is CircuitState.CLOSED
        assert circuit.failure_times[-1] == NOON + 80 * SECOND

    def test_a_success_clears_the_count(self, stage: Stage) -> None:
        stage.add_many(9)
        claimed = stage.turn(want=9).claimed
        for job in claimed[:4]:
            _fail(stage, job)
        assert _succeed(stage, claimed[4]).circuits == ()

        for job in claimed[5:]:
            assert _fail(stage, job).circuit_events == ()

    def test_failures_of_all_workers_and_queues_are_one_count(self, stage: Stage) -> None:
        jobs = [stage.running(worker, queue=f"queue-{n}") for n, worker in enumerate(["a", "b", "c", "d", "e"])]

        answers = [_fail(stage, job, job.lease.worker_id) for job in jobs]

        assert [_events(answer) for answer in answers] == [[], [], [], [], ["opened"]]

    def test_failures_of_one_turn_count_one_by_one(self, stage: Stage) -> None:
        stage.add_many(5)
        claimed = stage.turn(want=5).claimed

        answer = stage.turn(
            settlements=tuple(retry(job.lease, MINUTE, BOOM) for job in claimed),
            reports=tuple(_report(job, FAILURE) for job in claimed),
        )

        assert _events(answer) == ["opened"]

    def test_types_have_nothing_to_do_with_each_other(self, stage: Stage) -> None:
        _fail_five_times(stage, type_key="broken")
        fine = stage.add(type_key="fine")

        assert [circuit.type_key for circuit in stage.store.circuits()] == ["broken"]
        assert stage.claim() == [fine.id]

    def test_the_report_of_a_stale_settlement_is_not_heard(self, stage: Stage) -> None:
        stage.add_many(5)
        claimed = stage.turn(want=5).claimed
        for job in claimed:
            stage.bury(job.lease.job_id)
            _fail(stage, job)

        assert list(stage.store.circuits()) == []

    def test_what_says_nothing_of_the_type_leaves_no_trace(self, stage: Stage) -> None:
        job = stage.running()

        answer = stage.turn(settlements=(hand_back(job.lease),), reports=(_report(job, RELEASED),))

        assert (answer.circuits, answer.circuit_events) == ((), ())


class TestOpen:
    def test_no_worker_claims_the_type_from_any_queue(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add_many(5, queue="other", priority=1000)

        assert stage.claim(10) == []
        assert stage.claim(10, OTHER_WORKER) == []

    def test_its_jobs_stay_as_they_are(self, stage: Stage) -> None:
        _fail_five_times(stage)
        job = stage.hot(stage.add().id)
        stage.clock.advance(SECOND)
        stage.turn(want=10)

        assert stage.hot(job.id) == job

    def test_other_types_behind_its_jobs_are_claimed(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add_many(1000, priority=1000)
        other = stage.add(type_key="other", priority=1)

        assert stage.claim(10) == [other.id]

    def test_they_make_no_lag_and_no_demand(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add_many(3)
        stage.add_many(2, delay=SECOND)
        stage.clock.advance(10 * SECOND)
        assert stage.queue("default").lag == 0 * SECOND
        assert stage.store.demand(1000).claimable == 0

        stage.add(type_key="other")
        stage.clock.advance(SECOND)
        assert stage.queue("default").lag == SECOND
        assert stage.store.vitals().lags == {"default": SECOND}
        assert stage.queue("default").pending == 6
        assert stage.store.demand(1000).claimable == 1

    def test_many_of_them_that_came_due_do_not_hide_the_lag_of_others(self, stage: Stage) -> None:
        _fail_five_times(stage)
        for _ in range(2):
            stage.add_many(600, delay=SECOND)
        stage.add(type_key="other", queue="other", delay=2 * SECOND)
        stage.clock.advance(10 * SECOND)

        assert stage.store.vitals().lags == {"other": 8 * SECOND}

    def test_the_break_is_not_made_longer_by_failures_of_runs_from_before(self, stage: Stage) -> None:
        stage.add_many(7)
        claimed = stage.turn(want=7).claimed
        for job in claimed[:5]:
            _fail(stage, job)
        before = stage.store.circuits()
        stage.clock.advance(SECOND)

        late = _fail(stage, claimed[5])

        assert late.circuit_events == ()
        assert _succeed(stage, claimed[6]).circuit_events == ()
        assert stage.store.circuits() == before


def _probe(stage: Stage, **values: str) -> ClaimedJob:
    """
    Opens the circuit, waits for the break to end and claims the probe.
    """
    _fail_five_times(stage, **values)
    stage.add_many(3, **values)
    stage.clock.advance(30 * SECOND)
    (job,) = stage.turn(want=10).claimed
    return job


class TestProbe:
    def test_after_the_break_one_job_is_let_through(self, stage: Stage) -> None:
        _fail_five_times(stage)
        first, *_ = stage.add_many(3)
        stage.clock.advance(30 * SECOND)

        answer = stage.turn(want=10)

        (job,) = answer.claimed
        assert (job.lease.job_id, job.is_probe, job.circuit_generation) == (first, True, 2)
        assert _events(answer) == ["half_opened", "probe_acquired"]
        assert answer.circuits == (
            Circuit(
                TYPE,
                CircuitState.HALF_OPEN,
                opened_at=NOON,
                reset_at=NOON + 30 * SECOND,
                generation=2,
                probe_job_id=first,
                probe_worker_id=WORKER,
                probe_until=NOON + 60 * SECOND,
            ),
        )
        assert stage.claim(10) == []
        assert stage.claim(10, OTHER_WORKER) == []

    def test_not_a_moment_earlier(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add()
        stage.clock.advance(29 * SECOND)

        assert stage.claim() == []

    def test_of_a_type_in_many_queues_the_best_job_is_let_through(self, stage: Stage) -> None:
        _fail_five_times(stage)
        for n in range(3):
            stage.add(queue=f"queue-{n}", priority=n)
        stage.clock.advance(30 * SECOND)

        claimed = stage.turn(want=10).claimed

        assert [(job.queue, job.is_probe) for job in claimed] == [("queue-2", True)]

    def test_a_queue_at_its_limit_does_not_keep_the_probe_from_another_queue(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.set_queue("full", max_workers=1)
        stage.running(queue="full", type_key="other")
        stage.add(queue="full", priority=1000)
        free = stage.add(queue="free")
        stage.clock.advance(30 * SECOND)

        assert stage.claim(10) == [free.id]

    def test_a_paused_queue_does_not_keep_it_either(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add(queue="paused", priority=1000)
        stage.set_queue("paused", is_paused=True)
        free = stage.add(queue="free")
        stage.clock.advance(30 * SECOND)

        assert stage.claim(10) == [free.id]

    def test_it_is_one_job_of_demand(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add_many(3)
        stage.clock.advance(30 * SECOND)

        assert stage.store.demand(1000).claimable == 1

    def test_delayed_jobs_that_came_due_are_demand_for_it(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.clock.advance(2 * MINUTE)

        assert stage.store.demand(1000).claimable >= 1
        assert len(stage.claim(10)) == 1

    def test_a_success_closes_the_circuit(self, stage: Stage) -> None:
        job = _probe(stage)

        answer = stage.turn(settlements=(complete(job.lease, 1.0),), reports=(_report(job, SUCCESS),), want=10)

        assert _events(answer) == ["closed"]
        assert answer.circuits == ()
        assert len(answer.claimed) == 2
        assert {(job.is_probe, job.circuit_generation) for job in answer.claimed} == {(False, 3)}
        assert list(stage.store.circuits()) == [Circuit(TYPE, generation=3)]

    def test_a_failure_opens_it_for_another_break(self, stage: Stage) -> None:
        answer = _fail(stage, _probe(stage))

        assert _events(answer) == ["opened"]
        stage.clock.advance(29 * SECOND)
        assert stage.claim() == []
        stage.clock.advance(SECOND)
        assert len(stage.claim(10)) == 1

    @pytest.mark.parametrize("way", ["hand_back", "postpone"])
    def test_one_that_ends_without_an_answer_lets_the_next_claim_probe(self, stage: Stage, way: str) -> None:
        job = _probe(stage)
        settlement = hand_back(job.lease) if way == "hand_back" else postpone(job.lease, MINUTE)

        answer = stage.turn(settlements=(settlement,), reports=(_report(job, RELEASED),))

        assert _events(answer) == ["permit_released"]
        (again,) = stage.turn(OTHER_WORKER, want=10).claimed
        assert again.is_probe

    def test_a_buried_one_lets_the_next_claim_probe(self, stage: Stage) -> None:
        job = _probe(stage)
        stage.bury(job.lease.job_id)

        (again,) = stage.turn(OTHER_WORKER, want=10).claimed
        assert again.is_probe

    @pytest.mark.parametrize("way", ["cancel", "recover", "pause", "release", "postpone"])
    def test_one_that_was_taken_back_before_it_ran_lets_the_next_claim_probe(self, stage: Stage, way: str) -> None:
        _fail_five_times(stage)
        stage.add(queue="mail")
        stage.add(queue="other")
        stage.clock.advance(30 * SECOND)
        (job,) = stage.turn(prefetch=10).claimed
        assert (job.is_probe, job.queue) == (True, "mail")

        if way == "cancel":
            stage.store.cancel([job.lease.job_id], "ann")
        elif way == "recover":
            stage.clock.advance(SECOND)
            stage.store.recover(0 * SECOND, 10)
        elif way in {"release", "postpone"}:
            settlement = release(job.lease) if way == "release" else postpone(job.lease, MINUTE)
            assert _events(stage.settle(settlement)) == ["permit_released"]
        else:
            stage.set_queue("mail", is_paused=True)

        (again,) = stage.turn(OTHER_WORKER, want=10).claimed
        assert again.is_probe

    def test_one_whose_worker_falls_silent_is_given_up(self, stage: Stage) -> None:
        _probe(stage)
        stage.clock.advance(30 * SECOND)

        answer = stage.turn(OTHER_WORKER, want=10)

        assert _events(answer) == ["probe_expired", "probe_acquired"]
        assert [(job.is_probe, job.circuit_generation) for job in answer.claimed] == [(True, 3)]

    def test_one_that_takes_long_lives_as_long_as_it_beats(self, stage: Stage) -> None:
        job = _probe(stage)
        for _ in range(10):
            stage.clock.advance(29 * SECOND)
            stage.store.beat(Beat(WORKER))
            assert stage.claim(10, OTHER_WORKER) == []

        assert _events(_succeed(stage, job)) == ["closed"]

    def test_a_worker_that_beats_for_other_jobs_does_not_keep_a_probe_that_it_lost(self, stage: Stage) -> None:
        stage.running(type_key="other")
        job = _probe(stage)
        stage.settle(retry(job.lease, MINUTE, BOOM))
        stage.clock.advance(30 * SECOND)
        stage.store.beat(Beat(WORKER))

        assert [again.is_probe for again in stage.turn(OTHER_WORKER, want=10).claimed] == [True]

    def test_breaks_and_probes_do_not_outlast_a_clock_that_is_set_back(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add_many(3)

        stage.clock.advance(-60 * MINUTE)
        assert stage.store.demand(1000).claimable == 1
        assert len(stage.claim(10)) == 1

        stage.clock.advance(-60 * MINUTE)
        assert stage.store.demand(1000).claimable == 1
        assert len(stage.claim(10, OTHER_WORKER)) == 1

    def test_what_a_probe_that_was_given_up_says_later_is_ignored(self, stage: Stage) -> None:
        job = _probe(stage)
        stage.clock.advance(30 * SECOND)
        stage.claim(10, OTHER_WORKER)
        before = stage.store.circuits()

        assert _succeed(stage, job).circuit_events == ()
        assert stage.store.circuits() == before

    def test_what_a_run_from_before_the_break_says_is_ignored(self, stage: Stage) -> None:
        early = stage.running()
        _probe(stage)
        before = stage.store.circuits()

        assert _succeed(stage, early).circuit_events == ()
        assert stage.store.circuits() == before


class TestRepeat:
    def test_a_repeated_turn_tells_the_same_events_and_counts_once(self, stage: Stage) -> None:
        stage.add_many(5)
        claimed = stage.turn(want=5).claimed
        for job in claimed[:3]:
            _fail(stage, job)
        turn = stage.next_turn(
            settlements=(retry(claimed[3].lease, MINUTE, BOOM),), reports=(_report(claimed[3], FAILURE),)
        )
        for _ in range(3):
            assert stage.store.turn(turn).circuit_events == ()
        last = stage.next_turn(
            settlements=(retry(claimed[4].lease, MINUTE, BOOM),), reports=(_report(claimed[4], FAILURE),)
        )

        assert [_events(stage.store.turn(last)) for _ in range(2)] == [["opened"], ["opened"]]

    def test_a_repeated_claim_of_a_probe_is_the_same_probe(self, stage: Stage) -> None:
        _fail_five_times(stage)
        stage.add()
        stage.clock.advance(30 * SECOND)
        turn = stage.next_turn(want=10)

        first, again = stage.store.turn(turn), stage.store.turn(turn)

        assert again.claimed == first.claimed
        assert again.claimed[0].is_probe
        assert _events(again) == ["half_opened", "probe_acquired"]


def test_with_circuits_turned_off_nothing_is_held_back(source: StoreSource, clock: SteppedClock) -> None:
    with closing(source.open(clock.now, CircuitRules(is_enabled=False))) as store:
        stage = Stage(store, clock)
        assert _fail_five_times(stage).circuit_events == ()
        stage.add_many(3)

        assert store.demand(1000).claimable == 3
        assert len(stage.claim(10)) == 3
        assert list(store.circuits()) == []


def test_a_circuit_that_was_open_when_circuits_were_turned_off_holds_nothing_back(
    shared_source: StoreSource, clock: SteppedClock
) -> None:
    with closing(shared_source.open(clock.now)) as store:
        _fail_five_times(Stage(store, clock))
    with closing(shared_source.open(clock.now, CircuitRules(is_enabled=False))) as store:
        stage = Stage(store, clock)
        for number in range(3):
            stage.add(id=f"later-{number}")
        clock.advance(SECOND)

        assert store.demand(1000).claimable == 3
        assert stage.queue("default").lag == SECOND
        assert store.vitals().lags == {"default": SECOND}
        assert len(stage.claim(10, OTHER_WORKER)) == 3
