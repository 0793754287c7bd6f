"""
Events as metrics. A batch is counted first and handed over once: one call for each series, one for each measured value.

Tags come from the job's row and from facts, never from a payload, and only within their budgets.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from chokaq_core.domain.events import EventName
from chokaq_core.telemetry import instruments as of
from chokaq_core.telemetry.instruments import Instruments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.domain.events import Event, JobRef
    from chokaq_core.telemetry.instruments import Instrument
    from chokaq_core.telemetry.tags import Tags

Lane = tuple[str, str]

RAN = frozenset({"succeeded", "failed", "timed_out", "cancelled", "heartbeat_lost", "interrupted"})
"""Outcomes of runs whose handler ran; a rejected or postponed one has no duration worth a record."""


class Metrics:
    """
    Counts what happened on the instruments of the meter `ChokaQ`. Safe to use from any thread.
    """

    def __init__(self, tags: Tags, instruments: Instruments | None = None) -> None:
        self._tags = tags
        self._instruments = instruments if instruments is not None else Instruments()

    def publish(self, events: Sequence[Event]) -> None:
        """
        Counts a batch of events.
        """
        tally = _Tally(self._tags)
        for event in events:
            count = _COUNTED.get(id(event.name))
            if count is not None:
                count(tally, event)
        tally.hand_over(self._instruments)


class _LaneTally:
    """
    What one batch comes to in one lane, kept apart because nearly every event is of this kind.
    """

    __slots__ = ("active", "completed", "durations", "lags", "tags")

    def __init__(self, tags: Lane) -> None:
        self.tags = tags
        self.active = 0
        self.completed = 0
        self.lags: list[object] = []
        self.durations: list[object] = []


class _Tally:
    """
    What one batch comes to.
    """

    __slots__ = ("_counts", "_lanes", "tags")

    def __init__(self, tags: Tags) -> None:
        self.tags = tags
        self._counts: dict[tuple[Instrument, tuple[str, ...]], int] = {}
        self._lanes: dict[tuple[str, str], _LaneTally] = {}

    def add(self, instrument: Instrument, tags: tuple[str, ...], amount: int = 1) -> None:
        key = (instrument, tags)
        self._counts[key] = self._counts.get(key, 0) + amount

    def lane(self, job: JobRef) -> _LaneTally:
        key = (job.queue, job.type_key)
        lane = self._lanes.get(key)
        if lane is None:
            tags = (self.tags.queue(job.queue), self.tags.type(job.type_key))
            lane = self._lanes[key] = _LaneTally(tags)
        return lane

    def hand_over(self, instruments: Instruments) -> None:
        for lane in self._lanes.values():
            self.add(of.WORKERS_ACTIVE, lane.tags[:1], lane.active)
            self.add(of.COMPLETED, lane.tags, lane.completed)
        for (instrument, tags), amount in self._counts.items():
            if amount:
                instruments.add(instrument, tags, amount)
        for lane in self._lanes.values():
            instruments.record(of.QUEUE_LAG, lane.tags, _measured(lane.lags))
            instruments.record(of.DURATION, lane.tags, _measured(lane.durations))


def _measured(values: Sequence[object]) -> list[float]:
    """
    What is a number of these, none below zero.
    """
    return [max(0.0, value) for value in values if isinstance(value, (int, float)) and math.isfinite(value)]


def _enqueued(tally: _Tally, event: Event) -> None:
    if event.job is not None:
        tally.add(of.ENQUEUED, tally.lane(event.job).tags)


def _started(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    lane.active += 1
    lane.lags.append(event.facts.get("lag_ms"))


def _succeeded(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    lane.completed += 1
    _run_ended(tally, event, lane)


def _retried(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    tally.add(of.RETRIED, (*lane.tags, tally.tags.attempt(event.job.attempt)))
    _run_ended(tally, event, lane)


def _dead_lettered(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    tally.add(of.DLQ, (*lane.tags, tally.tags.reason(event.facts.get("reason"))))
    _run_ended(tally, event, lane)


def _put_back(tally: _Tally, event: Event) -> None:
    if event.job is not None:
        _run_ended(tally, event, tally.lane(event.job))


def _rejected_by_circuit(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    state = event.facts.get("state", "open")
    tally.add(of.CIRCUIT_EVENTS, (lane.tags[1], tally.tags.state(state), tally.tags.change("rejected")))
    _run_ended(tally, event, lane)


def _not_applied(tally: _Tally, event: Event) -> None:
    if event.job is None:
        return
    lane = tally.lane(event.job)
    tally.add(of.CONFLICTS, (*lane.tags, tally.tags.transition(event.facts.get("transition"))))
    _run_ended(tally, event, lane)


def _lease_lost(tally: _Tally, event: Event) -> None:
    """
    A start that came too late never ran; a run whose beat found the lease lost ends here, and nothing else follows.
    """
    _not_applied(tally, event)
    if event.job is not None and event.facts.get("transition") == "beat":
        tally.lane(event.job).active -= 1


def _beat_failed(tally: _Tally, event: Event) -> None:
    if event.job is not None:
        tally.add(of.HEARTBEAT_FAILURES, tally.lane(event.job).tags)


def _circuit_changed(tally: _Tally, event: Event) -> None:
    type_key = event.job.type_key if event.job is not None else event.facts.get("type")
    state, change = event.facts.get("state"), event.facts.get("change")
    tags = (tally.tags.type(type_key), tally.tags.state(state), tally.tags.change(change))
    tally.add(of.CIRCUIT_EVENTS, tags)


def _claim_answered(tally: _Tally, event: Event) -> None:
    tally.add(of.IDEMPOTENCY_CLAIMS, (tally.tags.claim(event.facts.get("claim")),))


def _run_ended(tally: _Tally, event: Event, lane: _LaneTally) -> None:
    """
    Only the end of a run in this process has the fact `outcome`; a burial or an operator's cancel has none.
    """
    outcome = event.facts.get("outcome")
    if outcome is None:
        return
    lane.active -= 1
    if outcome in RAN:
        lane.durations.append(event.facts.get("duration_ms"))
    if outcome == "failed":
        tally.add(of.FAILED, (*lane.tags, tally.tags.error(event.facts.get("error_type"))))


# By identity: an Enum's own hash runs in Python, and this is looked up for every event of every job.
_COUNTED: dict[int, Callable[[_Tally, Event], None]] = {
    id(name): count
    for name, count in {
        EventName.JOB_ENQUEUED: _enqueued,
        EventName.JOB_STARTED: _started,
        EventName.JOB_SUCCEEDED_ARCHIVED: _succeeded,
        EventName.JOB_THROTTLED_RETRY_SCHEDULED: _retried,
        EventName.JOB_TRANSIENT_RETRY_SCHEDULED: _retried,
        EventName.JOB_TIMED_OUT_OR_CANCELLED: _dead_lettered,
        EventName.JOB_HEARTBEAT_THRESHOLD_REACHED: _dead_lettered,
        EventName.JOB_FATAL_ERROR_DLQ: _dead_lettered,
        EventName.JOB_RETRIES_EXHAUSTED_DLQ: _dead_lettered,
        EventName.ZOMBIE_JOBS_ARCHIVED: _dead_lettered,
        EventName.JOB_SHUTDOWN_RESCHEDULED: _put_back,
        EventName.JOB_POSTPONED: _put_back,
        EventName.CIRCUIT_BREAKER_REJECTED: _rejected_by_circuit,
        EventName.STATE_TRANSITION_NOT_APPLIED: _not_applied,
        EventName.JOB_EXECUTION_LEASE_REJECTED: _lease_lost,
        EventName.JOB_HEARTBEAT_WRITE_FAILED: _beat_failed,
        EventName.CIRCUIT_CHANGED: _circuit_changed,
        EventName.IDEMPOTENCY_CLAIM_ANSWERED: _claim_answered,
    }.items()
}
