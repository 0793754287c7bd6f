from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.domain.circuit import Circuit, CircuitEvent, CircuitReport, CircuitSignal, CircuitState
from chokaq_core.domain.failures import (
    Cancelled,
    ErrorFacts,
    Failed,
    FailureKind,
    HeartbeatLost,
    Interrupted,
    Outcome,
    Postponed,
    Rejected,
    Succeeded,
    TimedOut,
)
from chokaq_core.domain.value import replace
from chokaq_core.policy.circuit import Change, CircuitRules, hear, held_until, probe, release, signal_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
RULES = CircuitRules()
CLOSED = Circuit("erp.sync.v1")
OPEN = Circuit("erp.sync.v1", CircuitState.OPEN, opened_at=NOW, reset_at=NOW + 30 * SECOND, generation=1)
ERROR = ErrorFacts("OSError", "refused", "OSError: refused")
SUCCESS, FAILURE, RELEASED = CircuitSignal


def told(circuit: Circuit, signal: CircuitSignal, now: datetime = NOW, job_id: str = "job-1") -> Change:
    return hear(circuit, CircuitReport(circuit.type_key, job_id, circuit.generation, signal), RULES, now)


def after_failures(count: int, now: datetime = NOW) -> Circuit:
    circuit = CLOSED
    for _ in range(count):
        circuit = told(circuit, FAILURE, now).circuit
    return circuit


def probing(circuit: Circuit = OPEN, now: datetime = NOW, job_id: str = "probe-1") -> Circuit:
    return probe(circuit, RULES, job_id=job_id, worker_id="worker-1", now=now).circuit


def names(events: Sequence[CircuitEvent]) -> list[str]:
    return [str(event.name) for event in events]


@pytest.mark.parametrize(
    "outcome,signal",
    [
        (Succeeded(), SUCCESS),
        (Failed(FailureKind.TRANSIENT, ERROR), FAILURE),
        (Failed(FailureKind.THROTTLED, ERROR), FAILURE),
        (Failed(FailureKind.FATAL, ERROR), FAILURE),
        (TimedOut(SECOND), FAILURE),
        (Rejected(ERROR), RELEASED),
        (Cancelled(), RELEASED),
        (Interrupted(), RELEASED),
        (Postponed("not now", SECOND), RELEASED),
        (HeartbeatLost(3), RELEASED),
    ],
)
def test_attempts_that_ran_and_failed_count_and_nothing_else_does(outcome: Outcome, signal: CircuitSignal) -> None:
    assert signal_of(outcome) is signal


class TestClosed:
    def test_the_fifth_failure_opens_it_for_the_break(self) -> None:
        change = told(after_failures(4), FAILURE, NOW + SECOND)

        assert change.circuit == Circuit(
            "erp.sync.v1", CircuitState.OPEN, opened_at=NOW + SECOND, reset_at=NOW + 31 * SECOND, generation=1
        )
        assert names(change.events) == ["opened"]

    def test_four_failures_do_not(self) -> None:
        assert after_failures(4) == replace(CLOSED, failure_times=(NOW, NOW, NOW, NOW))

    @pytest.mark.parametrize("later,state", [(60, CircuitState.OPEN), (61, CircuitState.CLOSED)])
    def test_a_failure_counts_for_the_window_and_no_longer(self, later: int, state: CircuitState) -> None:
        assert told(after_failures(4), FAILURE, NOW + later * SECOND).circuit.state is state

    def test_a_success_clears_the_count(self) -> None:
        assert told(after_failures(4), SUCCESS).circuit == CLOSED

    def test_a_success_of_a_healthy_type_changes_nothing(self) -> None:
        assert told(CLOSED, SUCCESS) == Change(CLOSED)

    def test_an_end_that_says_nothing_changes_nothing(self) -> None:
        assert told(after_failures(3), RELEASED) == Change(after_failures(3))

    def test_a_threshold_of_one_opens_at_the_first_failure(self) -> None:
        rules = CircuitRules(failure_threshold=1)
        report = CircuitReport("erp.sync.v1", "job-1", 0, FAILURE)
        assert hear(CLOSED, report, rules, NOW).circuit.state is CircuitState.OPEN

    def test_claims_take_from_it(self) -> None:
        assert held_until(after_failures(4), RULES, NOW) is None


class TestOpen:
    @pytest.mark.parametrize("later,is_held", [(0, True), (29, True), (30, False), (3600, False)])
    def test_claims_skip_it_until_the_break_is_over(self, later: int, is_held: bool) -> None:
        assert (held_until(OPEN, RULES, NOW + later * SECOND) is not None) is is_held

    def test_it_is_known_when_the_break_is_over(self) -> None:
        assert held_until(OPEN, RULES, NOW + SECOND) == NOW + 30 * SECOND

    @pytest.mark.parametrize("signal", [SUCCESS, FAILURE, RELEASED])
    def test_runs_from_before_do_not_move_it(self, signal: CircuitSignal) -> None:
        assert told(OPEN, signal) == Change(OPEN)

    def test_the_probe_is_let_through_by_name(self) -> None:
        change = probe(OPEN, RULES, job_id="probe-1", worker_id="worker-1", now=NOW + 30 * SECOND)

        assert change.circuit == Circuit(
            "erp.sync.v1",
            CircuitState.HALF_OPEN,
            opened_at=NOW,
            reset_at=NOW + 30 * SECOND,
            generation=2,
            probe_job_id="probe-1",
            probe_worker_id="worker-1",
            probe_until=NOW + 60 * SECOND,
        )
        assert names(change.events) == ["half_opened", "probe_acquired"]


class TestHalfOpen:
    @pytest.mark.parametrize("later,is_held", [(0, True), (29, True), (30, False)])
    def test_claims_skip_it_while_the_probe_lives(self, later: int, is_held: bool) -> None:
        assert (held_until(probing(), RULES, NOW + later * SECOND) is not None) is is_held

    def test_a_successful_probe_closes_it_with_a_clean_sheet(self) -> None:
        change = told(probing(), SUCCESS, job_id="probe-1")

        assert change.circuit == Circuit("erp.sync.v1", generation=3)
        assert names(change.events) == ["closed"]

    def test_a_failed_probe_opens_it_for_another_break(self) -> None:
        change = told(probing(), FAILURE, NOW + SECOND, "probe-1")

        assert change.circuit == Circuit(
            "erp.sync.v1", CircuitState.OPEN, opened_at=NOW + SECOND, reset_at=NOW + 31 * SECOND, generation=3
        )
        assert names(change.events) == ["opened"]

    def test_a_probe_without_an_answer_lets_the_next_claim_probe(self) -> None:
        change = told(probing(), RELEASED, NOW + SECOND, "probe-1")

        assert held_until(change.circuit, RULES, NOW + SECOND) is None
        assert change == release(probing(), NOW + SECOND)
        assert names(change.events) == ["permit_released"]

    @pytest.mark.parametrize("signal", [SUCCESS, FAILURE, RELEASED])
    def test_no_other_job_answers_for_the_probe(self, signal: CircuitSignal) -> None:
        assert told(probing(), signal, job_id="job-9") == Change(probing())

    def test_a_probe_that_was_given_up_is_replaced(self) -> None:
        change = probe(probing(), RULES, job_id="probe-2", worker_id="worker-2", now=NOW + 30 * SECOND)

        assert names(change.events) == ["probe_expired", "probe_acquired"]
        assert (change.circuit.probe_job_id, change.circuit.generation) == ("probe-2", 3)


@pytest.mark.parametrize("circuit", [after_failures(4), OPEN, probing()])
@pytest.mark.parametrize("generation", [-1, 1])
def test_an_answer_of_another_generation_is_ignored(circuit: Circuit, generation: int) -> None:
    for signal in CircuitSignal:
        report = CircuitReport("erp.sync.v1", "probe-1", circuit.generation + generation, signal)
        assert hear(circuit, report, RULES, NOW) == Change(circuit)


def test_nothing_is_heard_while_circuits_are_turned_off() -> None:
    report = CircuitReport("erp.sync.v1", "job-1", 0, FAILURE)
    circuit = after_failures(4)
    assert hear(circuit, report, CircuitRules(is_enabled=False), NOW) == Change(circuit)


@pytest.mark.case("C-066")
class TestAClockThatIsSetBack:
    def test_a_break_does_not_become_an_hour_longer(self) -> None:
        assert held_until(OPEN, RULES, NOW - HOUR) is None

    def test_nor_does_the_life_of_a_silent_probe(self) -> None:
        assert held_until(probing(), RULES, NOW - HOUR) is None

    def test_failures_from_before_still_count(self) -> None:
        assert told(after_failures(4), FAILURE, NOW - HOUR).circuit.state is CircuitState.OPEN

    def test_but_not_for_the_hour(self) -> None:
        circuit = told(after_failures(3), FAILURE, NOW - HOUR).circuit

        assert told(circuit, FAILURE, NOW - HOUR + 61 * SECOND).circuit.state is CircuitState.CLOSED


@pytest.mark.case("C-066")
@pytest.mark.parametrize("has_history", [True, False], ids=["after-ten-healthy-hours", "just-started"])
def test_a_breaker_trips_and_heals_however_long_the_type_was_healthy(has_history: bool) -> None:
    changes: list[tuple[str, float]] = []
    circuit, at = CLOSED, 0.0

    def run(signal: CircuitSignal, job_id: str = "job-1") -> None:
        nonlocal circuit
        change = told(circuit, signal, NOW + timedelta(seconds=at), job_id)
        changes.extend((name, at) for name in names(change.events))
        circuit = change.circuit

    for _ in range(20_000 if has_history else 0):
        run(SUCCESS)
    at = 36_000.0
    for _ in range(5):
        at += 0.5
        run(FAILURE)
    at += 30
    circuit = probing(circuit, NOW + timedelta(seconds=at))
    run(SUCCESS, "probe-1")
    for _ in range(10):
        for signal in (FAILURE, FAILURE, FAILURE, FAILURE, *[SUCCESS] * 100):
            at += 60 / 104
            run(signal)

    assert changes == [("opened", 36_002.5), ("closed", 36_032.5)]


@dataclass(frozen=True, slots=True)
class Pass:
    seconds: float


@dataclass(frozen=True, slots=True)
class Claim:
    pass


@dataclass(frozen=True, slots=True)
class End:
    """
    One of the claimed jobs ends.
    """

    which: int
    signal: CircuitSignal


@dataclass(frozen=True, slots=True)
class TakeBack:
    """
    The newest claimed job is taken from its worker.
    """


Step = Pass | Claim | End | TakeBack


@dataclass(slots=True)
class Fleet:
    """
    Workers that obey a circuit: what they hold, and what they have seen of it.
    """

    circuit: Circuit = CLOSED
    now: datetime = NOW
    held: list[tuple[str, int]] = field(default_factory=list)
    claims: int = 0

    def take(self, step: Step) -> Change:
        match step:
            case Pass(seconds=seconds):
                self.now += timedelta(seconds=seconds)
                return Change(self.circuit)
            case Claim():
                return self._claim()
            case End(which=which, signal=signal) if self.held:
                job_id, generation = self.held.pop(which % len(self.held))
                return self._apply(
                    hear(self.circuit, CircuitReport("erp.sync.v1", job_id, generation, signal), RULES, self.now)
                )
            case TakeBack() if self.held:
                job_id, _ = self.held.pop()
                is_probe = self.circuit.probe_job_id == job_id
                return self._apply(release(self.circuit, self.now) if is_probe else Change(self.circuit))
            case End() | TakeBack():
                return Change(self.circuit)
            case _:
                assert_never(step)

    def _claim(self) -> Change:
        if held_until(self.circuit, RULES, self.now) is not None:
            return Change(self.circuit)
        self.claims += 1
        job_id = f"job-{self.claims}"
        change = Change(self.circuit)
        if self.circuit.state is not CircuitState.CLOSED:
            change = probe(self.circuit, RULES, job_id=job_id, worker_id="worker-1", now=self.now)
        self._apply(change)
        self.held.append((job_id, self.circuit.generation))
        return change

    def _apply(self, change: Change) -> Change:
        self.circuit = change.circuit
        return change


def steps(*, least_seconds: float) -> st.SearchStrategy[list[Step]]:
    step = st.one_of(
        st.builds(Pass, st.floats(least_seconds, 90)),
        st.builds(Claim),
        st.builds(End, st.integers(0, 9), st.sampled_from(CircuitSignal)),
        st.builds(End, st.integers(0, 9), st.just(FAILURE)),
        st.builds(TakeBack),
    )
    return st.lists(step, max_size=60)


@given(steps(least_seconds=-7200))
def test_whatever_happens_a_circuit_makes_sense_and_holds_nobody_for_long(taken: list[Step]) -> None:
    fleet = Fleet()
    for step in taken:
        before = fleet.circuit
        change = fleet.take(step)
        circuit = fleet.circuit

        assert circuit.generation >= before.generation
        assert (circuit.generation > before.generation) == bool(change.events)
        assert circuit.state is before.state or change.events
        assert len(circuit.failure_times) < 5
        assert circuit.failure_times == tuple(sorted(circuit.failure_times))
        assert not circuit.failure_times or circuit.state is CircuitState.CLOSED
        is_probing = circuit.state is CircuitState.HALF_OPEN
        assert is_probing == (circuit.probe_job_id is not None) == (circuit.probe_until is not None)
        assert (circuit.reset_at is None) == (circuit.state is CircuitState.CLOSED)
        assert held_until(circuit, RULES, fleet.now + 31 * SECOND) is None


@given(steps(least_seconds=0))
def test_while_a_circuit_is_not_closed_at_most_one_held_job_can_move_it(taken: list[Step]) -> None:
    fleet = Fleet()
    for step in taken:
        fleet.take(step)
        if fleet.circuit.state is CircuitState.CLOSED:
            continue
        reports = [
            CircuitReport("erp.sync.v1", job_id, generation, signal)
            for job_id, generation in fleet.held
            for signal in CircuitSignal
        ]
        movers = {r.job_id for r in reports if hear(fleet.circuit, r, RULES, fleet.now).circuit != fleet.circuit}
        assert movers <= {fleet.circuit.probe_job_id}


@given(st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=80))
def test_it_opens_with_the_fifth_failure_since_the_last_success_within_the_window(
    runs: list[tuple[float, bool]],
) -> None:
    circuit, now = CLOSED, NOW
    failures: list[datetime] = []
    for seconds, has_failed in runs:
        now += timedelta(seconds=seconds)
        failures = [*failures, now] if has_failed else []
        circuit = told(circuit, FAILURE if has_failed else SUCCESS, now).circuit
        is_due = len(failures) >= 5 and now - failures[-5] <= timedelta(minutes=1)
        assert (circuit.state is CircuitState.OPEN) == is_due
        if is_due:
            return
