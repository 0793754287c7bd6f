"""
Settings of one attempt and the next, and of circuits.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import cast

from chokaq_core.config import Settings
from chokaq_core.contracts import Profile
from chokaq_core.domain.circuit import Circuit, CircuitReport, CircuitSignal
from chokaq_core.domain.failures import Failed, FailureKind, Postponed
from chokaq_core.domain.job import DeadJob
from chokaq_core.policy.after_failure import AttemptFacts, Verdict, decide
from chokaq_core.policy.backoff import backoff_delay
from chokaq_core.policy.circuit import hear, probe
from chokaq_core.policy.error_text import text_facts
from tests.support.clock import NOON
from tests.support.settings_at_work.trial import DAY, HOUR, MINUTE, SECOND, Note, Row, Trial, by, running


def timeout(settings: Settings, queue: str = "mail") -> timedelta:
    return settings.execution.timeout_for(queue, None)


def first_failure(settings: Settings, *, failures: int = 1, roll: float = 0.0) -> timedelta:
    return backoff_delay(settings.retry, failures=failures, roll=roll)


def verdict_on(outcome: Failed | Postponed, settings: Settings) -> Verdict:
    """
    What follows the first attempt of a job that was made a day and a half ago.
    """
    return decide(outcome, AttemptFacts(1, 3, NOON - 36 * HOUR, NOON), settings.retry, 0.0)


FAILED = Failed(FailureKind.TRANSIENT, text_facts("OSError", "away"))
# A wish that is no duration counts as none.
PUT_OFF = Postponed("circuit", cast("timedelta", None))


def attempts_of_a_failing_job(trial: Trial) -> int:
    profile = Profile("failing")

    @profile.handler("note.v1")
    def fail(job: Note) -> None:
        raise OSError("away")

    with running(trial, profile) as core:
        job_id = core.runtime().producer.enqueue(Note()).job_id
        core.runtime().engine.attend()
        found = core.runtime().store.find(job_id)
    assert isinstance(found, DeadJob)
    return found.attempt


AT_ONCE = {"Retry.BaseDelay": "00:00:00", "Retry.JitterMaxDelay": "00:00:00", "Circuit.Enabled": "false"}
ATTEMPTS = (
    Row("Execution.DefaultTimeout", "00:20:00", by(timeout), 15 * MINUTE, 20 * MINUTE),
    Row("Queues.reports.ExecutionTimeout", "00:25:00", by(partial(timeout, queue="reports")), 15 * MINUTE, 25 * MINUTE),
    Row("Retry.MaxAttempts", "2", attempts_of_a_failing_job, 3, 2, AT_ONCE),
    Row("Retry.BaseDelay", "00:00:05", by(first_failure), 3 * SECOND, 5 * SECOND),
    Row("Retry.MaxDelay", "1.00:00:00", by(partial(first_failure, failures=50)), HOUR, DAY),
    Row("Retry.BackoffMultiplier", "1.5", by(partial(first_failure, failures=3)), 12 * SECOND, 6.75 * SECOND),
    Row("Retry.JitterMaxDelay", "00:00:04", by(partial(first_failure, roll=0.5)), 3.5 * SECOND, 5 * SECOND),
    Row("Retry.CircuitBreakerDelay", "00:00:20", by(lambda s: verdict_on(PUT_OFF, s).delay), 5 * SECOND, 20 * SECOND),
    Row("Retry.MaxJobAge", "2.00:00:00", by(lambda s: verdict_on(FAILED, s).move.value), "dead_letter", "retry"),
)


# Circuits


def state_after_failures(settings: Settings, *, count: int, apart: timedelta = timedelta(0)) -> str:
    circuit, failure = Circuit("note.v1"), CircuitReport("note.v1", "job-1", 0, CircuitSignal.FAILURE)
    for number in range(count):
        circuit = hear(circuit, failure, settings.circuit, NOON + number * apart).circuit
    return circuit.state.name


def break_of_an_open_circuit(settings: Settings) -> timedelta:
    almost = Circuit("note.v1", failure_times=(NOON,) * 4)
    opened = hear(almost, CircuitReport("note.v1", "job-1", 0, CircuitSignal.FAILURE), settings.circuit, NOON).circuit
    assert opened.reset_at is not None
    return opened.reset_at - NOON


def time_of_a_probe(settings: Settings) -> timedelta:
    probing = probe(Circuit("note.v1"), settings.circuit, job_id="job-1", worker_id="worker-1", now=NOON).circuit
    assert probing.probe_until is not None
    return probing.probe_until - NOON


FIVE = partial(state_after_failures, count=5)
CIRCUITS = (
    Row("Circuit.Enabled", "false", by(FIVE), "OPEN", "CLOSED"),
    Row("Circuit.FailureThreshold", "9", by(FIVE), "OPEN", "CLOSED"),
    Row("Circuit.FailureWindow", "00:05:00", by(partial(FIVE, apart=40 * SECOND)), "CLOSED", "OPEN"),
    Row("Circuit.BreakDuration", "00:02:00", by(break_of_an_open_circuit), 30 * SECOND, 2 * MINUTE),
    Row("Circuit.ProbeTimeout", "00:00:45", by(time_of_a_probe), 30 * SECOND, 45 * SECOND),
)
