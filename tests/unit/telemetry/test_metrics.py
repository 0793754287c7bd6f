from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import Histogram, Sum

from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.policy.metric_tags import MetricRules
from chokaq_core.telemetry import instruments
from chokaq_core.telemetry.instruments import Instrument, Kind
from chokaq_core.telemetry.metrics import Metrics
from chokaq_core.telemetry.tags import Tags
from tests.support.readings import Readings

JOB = JobRef("job-1", "email.send.v1", "mail", attempt=1, worker_id="w")
LANE = ("mail", "email.send.v1")

CONTRACT = [
    # The table of instruments in the manual, letter for letter.
    ("chokaq.jobs.enqueued", "counter", "", ["queue", "type"]),
    ("chokaq.jobs.completed", "counter", "", ["queue", "type"]),
    ("chokaq.jobs.failed", "counter", "", ["queue", "type", "error"]),
    ("chokaq.jobs.processing_duration", "histogram", "ms", ["queue", "type"]),
    ("chokaq.jobs.queue_lag", "histogram", "ms", ["queue", "type"]),
    ("chokaq.jobs.dlq", "counter", "", ["queue", "type", "reason"]),
    ("chokaq.jobs.retried", "counter", "", ["queue", "type", "attempt"]),
    ("chokaq.workers.active", "up_down_counter", "", ["queue"]),
    ("chokaq.jobs.heartbeat_failures", "counter", "", ["queue", "type"]),
    ("chokaq.jobs.state_transition_conflicts", "counter", "", ["queue", "type", "transition"]),
    ("chokaq.idempotency.claims", "counter", "", ["outcome"]),
    ("chokaq.circuits.events", "counter", "", ["type", "state", "event"]),
    ("chokaq.queue.lag_max", "observable_gauge", "s", ["queue"]),
    ("chokaq.queue.depth", "observable_gauge", "", ["queue"]),
    ("chokaq.queue.paused", "observable_gauge", "", ["queue"]),
    ("chokaq.dlq.depth", "observable_gauge", "", ["queue"]),
    ("chokaq.heartbeat.age_max", "observable_gauge", "s", []),
    ("chokaq.workers.alive", "observable_gauge", "", []),
    ("chokaq.timers.silence", "observable_gauge", "s", ["timer"]),
]


@pytest.fixture
def readings() -> Readings:
    return Readings()


def publish(readings: Readings, *events: Event, rules: MetricRules | None = None) -> None:
    Metrics(Tags(rules if rules is not None else MetricRules()), readings.instruments).publish(events)


def ended(name: EventName, outcome: str, job: JobRef = JOB, **facts: object) -> Event:
    return Event(name, job, {"outcome": outcome, "duration_ms": 20.0, **facts})


def test_the_instruments_are_those_of_the_contract() -> None:
    found = [value for value in vars(instruments).values() if isinstance(value, Instrument)]
    assert [(i.name, str(i.kind), i.unit, list(i.tags)) for i in found] == CONTRACT


def test_the_meter_is_named_as_in_the_contract() -> None:
    assert instruments.METER_NAME == "ChokaQ"


@pytest.mark.parametrize("kind,data", [(Kind.COUNTER, Sum), (Kind.UP_DOWN_COUNTER, Sum), (Kind.HISTOGRAM, Histogram)])
def test_instruments_come_out_of_opentelemetry_with_name_unit_and_kind(
    readings: Readings, kind: Kind, data: type
) -> None:
    instrument = Instrument("chokaq.test", kind, "ms", ("queue",), "What it means.")
    if kind is Kind.HISTOGRAM:
        readings.instruments.record(instrument, ("mail",), [1.0])
    else:
        readings.instruments.add(instrument, ("mail",), 1)
    metric = readings.metrics()["chokaq.test"]
    assert (metric.name, metric.unit, metric.description) == ("chokaq.test", "ms", "What it means.")
    assert type(metric.data) is data
    assert getattr(metric.data, "is_monotonic", None) is {Kind.COUNTER: True, Kind.UP_DOWN_COUNTER: False}.get(kind)


def test_enqueues_are_counted_by_queue_and_type(readings: Readings) -> None:
    other = JobRef("job-2", "report.v1", "default")
    publish(readings, *(Event(EventName.JOB_ENQUEUED, job) for job in (JOB, other, JOB)))
    assert readings.points("chokaq.jobs.enqueued") == {LANE: 2, ("default", "report.v1"): 1}


def test_a_duplicate_is_not_an_enqueue(readings: Readings) -> None:
    publish(readings, Event(EventName.ENQUEUE_DUPLICATE_SKIPPED, JOB))
    assert readings.metrics() == {}


def test_a_start_is_an_active_worker_and_a_lag(readings: Readings) -> None:
    publish(
        readings, Event(EventName.JOB_STARTED, JOB, {"lag_ms": 12.5}), Event(EventName.JOB_STARTED, JOB, {"lag_ms": 2})
    )
    assert readings.points("chokaq.workers.active") == {("mail",): 2}
    lag = readings.histogram("chokaq.jobs.queue_lag")
    assert (lag.count, lag.sum, lag.min, lag.max) == (2, 14.5, 2, 12.5)


@pytest.mark.parametrize("lag", [float("nan"), float("inf"), "soon", None])
def test_a_lag_that_is_no_number_is_left_out(readings: Readings, lag: object) -> None:
    publish(readings, Event(EventName.JOB_STARTED, JOB, {"lag_ms": lag}))
    assert set(readings.metrics()) == {"chokaq.workers.active"}


def test_a_success_is_completed_with_its_duration(readings: Readings) -> None:
    publish(readings, Event(EventName.JOB_STARTED, JOB), ended(EventName.JOB_SUCCEEDED_ARCHIVED, "succeeded"))
    publish(readings, Event(EventName.JOB_STARTED, JOB))
    assert readings.points("chokaq.jobs.completed") == {LANE: 1}
    assert readings.points("chokaq.workers.active") == {("mail",): 1}
    assert readings.histogram("chokaq.jobs.processing_duration").sum == 20.0
    assert "chokaq.jobs.failed" not in readings.metrics()


@pytest.mark.parametrize("name", [EventName.JOB_TRANSIENT_RETRY_SCHEDULED, EventName.JOB_THROTTLED_RETRY_SCHEDULED])
def test_a_retry_is_a_failure_and_a_retry_by_attempt(readings: Readings, name: EventName) -> None:
    eleventh = JobRef("job-1", "email.send.v1", "mail", attempt=11, worker_id="w")
    publish(
        readings,
        ended(name, "failed", error_type="http.client.BadStatusLine"),
        ended(name, "failed", eleventh, error_type="OSError"),
    )
    assert readings.points("chokaq.jobs.retried") == {(*LANE, "1"): 1, (*LANE, "10+"): 1}
    assert readings.points("chokaq.jobs.failed") == {(*LANE, "BadStatusLine"): 1, (*LANE, "OSError"): 1}
    assert readings.points("chokaq.jobs.processing_duration") == {LANE: 2}


@pytest.mark.parametrize(
    "name,outcome,reason,has_failed,has_duration",
    [
        (EventName.JOB_FATAL_ERROR_DLQ, "failed", "FatalError", True, True),
        (EventName.JOB_FATAL_ERROR_DLQ, "rejected", "Rejected", False, False),
        (EventName.JOB_RETRIES_EXHAUSTED_DLQ, "failed", "MaxRetriesExceeded", True, True),
        (EventName.JOB_RETRIES_EXHAUSTED_DLQ, "failed", "Throttled", True, True),
        (EventName.JOB_RETRIES_EXHAUSTED_DLQ, "interrupted", "RetryLifetimeExpired", False, True),
        (EventName.JOB_TIMED_OUT_OR_CANCELLED, "timed_out", "Timeout", False, True),
        (EventName.JOB_TIMED_OUT_OR_CANCELLED, "cancelled", "Cancelled", False, True),
        (EventName.JOB_HEARTBEAT_THRESHOLD_REACHED, "heartbeat_lost", "HeartbeatFailure", False, True),
    ],
)
def test_every_way_of_a_run_into_the_dlq_is_counted_by_reason(
    readings: Readings, name: EventName, outcome: str, reason: str, has_failed: bool, has_duration: bool
) -> None:
    publish(readings, Event(EventName.JOB_STARTED, JOB), ended(name, outcome, reason=reason, error_type="E"))
    assert readings.points("chokaq.jobs.dlq") == {(*LANE, reason): 1}
    assert readings.points("chokaq.jobs.failed") == ({(*LANE, "E"): 1} if has_failed else {})
    assert readings.points("chokaq.jobs.processing_duration") == ({LANE: 1} if has_duration else {})


def test_a_buried_job_is_in_the_dlq_and_was_not_active_here(readings: Readings) -> None:
    publish(readings, Event(EventName.ZOMBIE_JOBS_ARCHIVED, JOB, {"reason": "Zombie"}))
    assert readings.points("chokaq.jobs.dlq") == {(*LANE, "Zombie"): 1}
    assert set(readings.metrics()) == {"chokaq.jobs.dlq"}


def test_a_pending_job_that_an_operator_cancels_is_in_the_dlq_and_was_not_active_here(readings: Readings) -> None:
    publish(readings, Event(EventName.JOB_TIMED_OUT_OR_CANCELLED, JOB, {"reason": "Cancelled", "by": "ann"}))
    assert readings.points("chokaq.jobs.dlq") == {(*LANE, "Cancelled"): 1}
    assert set(readings.metrics()) == {"chokaq.jobs.dlq"}


def test_a_lost_job_that_is_retried_is_a_retry_and_no_failure_of_a_handler(readings: Readings) -> None:
    facts = {"delay_s": 3.0, "error_type": "WorkerLost"}
    publish(readings, Event(EventName.JOB_TRANSIENT_RETRY_SCHEDULED, JOB, facts))
    assert readings.points("chokaq.jobs.retried") == {(*LANE, "1"): 1}
    assert set(readings.metrics()) == {"chokaq.jobs.retried"}


def test_a_move_that_was_not_applied_is_a_conflict_and_nothing_else(readings: Readings) -> None:
    publish(
        readings,
        Event(EventName.JOB_STARTED, JOB),
        ended(EventName.STATE_TRANSITION_NOT_APPLIED, "succeeded", transition="complete"),
        Event(EventName.JOB_STARTED, JOB),
        ended(EventName.STATE_TRANSITION_NOT_APPLIED, "failed", transition="dead_letter", reason="FatalError"),
    )
    assert readings.points("chokaq.jobs.state_transition_conflicts") == {
        (*LANE, "complete"): 1,
        (*LANE, "dead_letter"): 1,
    }
    assert not {"chokaq.jobs.completed", "chokaq.jobs.dlq"} & set(readings.metrics())


ENDS: Sequence[Event] = [
    ended(EventName.JOB_SUCCEEDED_ARCHIVED, "succeeded"),
    ended(EventName.JOB_TRANSIENT_RETRY_SCHEDULED, "failed"),
    ended(EventName.JOB_THROTTLED_RETRY_SCHEDULED, "failed"),
    ended(EventName.JOB_FATAL_ERROR_DLQ, "failed"),
    ended(EventName.JOB_RETRIES_EXHAUSTED_DLQ, "failed"),
    ended(EventName.JOB_TIMED_OUT_OR_CANCELLED, "timed_out"),
    ended(EventName.JOB_HEARTBEAT_THRESHOLD_REACHED, "heartbeat_lost"),
    ended(EventName.JOB_SHUTDOWN_RESCHEDULED, "interrupted"),
    ended(EventName.JOB_POSTPONED, "postponed"),
    ended(EventName.CIRCUIT_BREAKER_REJECTED, "postponed"),
    ended(EventName.STATE_TRANSITION_NOT_APPLIED, "succeeded", transition="complete"),
    Event(EventName.JOB_EXECUTION_LEASE_REJECTED, JOB, {"transition": "beat"}),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda event: event.name.title)
def test_every_end_of_a_run_takes_its_worker_off_the_active_ones(readings: Readings, end: Event) -> None:
    publish(readings, Event(EventName.JOB_STARTED, JOB), Event(EventName.JOB_STARTED, JOB))
    publish(readings, end)
    assert readings.points("chokaq.workers.active") == {("mail",): 1}


def test_a_start_that_came_too_late_was_never_active(readings: Readings) -> None:
    publish(readings, Event(EventName.JOB_EXECUTION_LEASE_REJECTED, JOB, {"transition": "start"}))
    assert readings.points("chokaq.jobs.state_transition_conflicts") == {(*LANE, "start"): 1}
    assert "chokaq.workers.active" not in readings.metrics()


def test_what_starts_and_ends_in_one_batch_changes_nothing(readings: Readings) -> None:
    publish(readings, Event(EventName.JOB_STARTED, JOB), ended(EventName.JOB_SUCCEEDED_ARCHIVED, "succeeded"))
    assert "chokaq.workers.active" not in readings.metrics()


def test_heartbeat_failures_are_counted_once_for_each_job(readings: Readings) -> None:
    publish(readings, *(Event(EventName.JOB_HEARTBEAT_WRITE_FAILED, JOB, {"failures": 3}) for _ in range(4)))
    assert readings.points("chokaq.jobs.heartbeat_failures") == {LANE: 4}


def test_circuits_are_counted_by_type_state_and_event(readings: Readings) -> None:
    facts = {"type": "email.send.v1", "state": "open", "change": "opened"}
    publish(readings, Event(EventName.CIRCUIT_CHANGED, facts=facts), Event(EventName.CIRCUIT_BREAKER_REJECTED, JOB))
    assert readings.points("chokaq.circuits.events") == {
        ("email.send.v1", "open", "opened"): 1,
        ("email.send.v1", "open", "rejected"): 1,
    }


def test_idempotency_claims_are_counted_by_what_was_answered(readings: Readings) -> None:
    claims = ("claimed", "completed_duplicate", "claimed")
    publish(readings, *(Event(EventName.IDEMPOTENCY_CLAIM_ANSWERED, JOB, {"claim": claim}) for claim in claims))
    assert readings.points("chokaq.idempotency.claims") == {("claimed",): 2, ("completed_duplicate",): 1}


@pytest.mark.parametrize("name", EventName, ids=lambda name: name.title)
def test_no_event_needs_a_job_or_facts(readings: Readings, name: EventName) -> None:
    publish(readings, Event(name), Event(name, JOB), Event(name, JobRef("", "", "")))
    assert all(sum(readings.points(metric).values()) > 0 for metric in readings.metrics())


def test_a_batch_is_handed_over_with_one_call_for_each_series() -> None:
    calls: list[tuple[str, object]] = []

    class Counted:
        def __init__(self, name: str) -> None:
            self.name = name

        def add(self, amount: int, attributes: dict[str, str]) -> None:
            calls.append((self.name, amount))

    class Meter:
        def create_counter(self, name: str, **_: object) -> Counted:
            return Counted(name)

    factory: Callable[[], Any] = Meter
    metrics = Metrics(Tags(MetricRules()), instruments.Instruments(factory))
    metrics.publish([Event(EventName.JOB_ENQUEUED, JOB)] * 500)
    assert calls == [("chokaq.jobs.enqueued", 500)]


def hostile_batch(start: int, count: int) -> list[Event]:
    events = []
    for number in range(start, start + count):
        job = JobRef(f"id-{number}", f"type.{number % 500}.v1", f"queue-{number % 2_000}", attempt=number)
        error = f"pkg{number}.Error{number}"
        events += [
            Event(EventName.JOB_ENQUEUED, job),
            Event(EventName.JOB_STARTED, job, {"lag_ms": 1.0, "key": f"key-{number}"}),
            Event(
                EventName.JOB_RETRIES_EXHAUSTED_DLQ,
                job,
                {"outcome": "failed", "duration_ms": 1.0, "error_type": error, "reason": f"Reason{number}"},
            ),
            Event(EventName.STATE_TRANSITION_NOT_APPLIED, job, {"transition": f"move-{number}"}),
            Event(EventName.IDEMPOTENCY_CLAIM_ANSWERED, job, {"claim": f"claim-{number}"}),
            Event(EventName.CIRCUIT_CHANGED, job, {"state": f"s-{number}", "change": f"c-{number}"}),
        ]
    return events


@pytest.mark.case("C-063")
def test_20_000_jobs_with_hostile_names_leave_the_series_at_the_budgets(readings: Readings) -> None:
    rules = MetricRules(max_queue_values=3, max_job_type_values=4, max_error_values=2, max_failure_reason_values=2)
    metrics = Metrics(Tags(rules), readings.instruments)
    for start in range(0, 10_000, 500):
        metrics.publish(hostile_batch(start, 500))
    after_10_000 = series_of(readings)
    gc.collect()
    tracemalloc.start()
    try:
        for start in range(10_000, 20_000, 500):
            metrics.publish(hostile_batch(start, 500))
        gc.collect()
        grown_by, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert series_of(readings) == after_10_000
    assert grown_by < 100_000
    lanes = (3 + 1) * (4 + 1)
    assert after_10_000["chokaq.jobs.enqueued"] <= lanes
    assert after_10_000["chokaq.jobs.failed"] <= lanes * (2 + 1)
    assert after_10_000["chokaq.jobs.dlq"] <= lanes * (2 + 1)
    assert after_10_000["chokaq.jobs.state_transition_conflicts"] <= lanes * (32 + 1)
    assert after_10_000["chokaq.idempotency.claims"] == 32 + 1
    assert sum(readings.points("chokaq.jobs.enqueued").values()) == 20_000
    assert sum(readings.points("chokaq.jobs.dlq").values()) == 20_000
    assert sum(readings.points("chokaq.jobs.failed").values()) == 20_000


def series_of(readings: Readings) -> dict[str, int]:
    return {name: len(metric.data.data_points) for name, metric in readings.metrics().items()}


def test_the_instruments_are_made_when_first_needed() -> None:
    made: list[str] = []

    def meter() -> Any:  # noqa: ANN401 - stands for a meter
        made.append("meter")
        raise RuntimeError

    metrics = Metrics(Tags(MetricRules()), instruments.Instruments(meter))
    metrics.publish([Event(EventName.WORKER_STARTED), Event(EventName.JOB_ABANDONED, JOB)])
    assert made == []
