"""
From a run's outcome to the settlement of its lease, and to the event that tells of it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, assert_never

from chokaq_core.domain import moves
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.failures import (
    Cancelled,
    ErrorFacts,
    Failed,
    FailureKind,
    FailureReason,
    HeartbeatLost,
    Interrupted,
    Outcome,
    Postponed,
    Rejected,
    Succeeded,
    TimedOut,
)
from chokaq_core.domain.moves import Move, Settlement
from chokaq_core.domain.value import Value
from chokaq_core.policy.after_failure import AttemptFacts, decide
from chokaq_core.policy.error_text import text_facts

if TYPE_CHECKING:
    from datetime import datetime

    from chokaq_core.engine.run import Run
    from chokaq_core.policy.after_failure import Verdict
    from chokaq_core.policy.backoff import RetryRules

# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_COMPLETE, _ARCHIVED = Move.COMPLETE, EventName.JOB_SUCCEEDED_ARCHIVED


class Ended(Value):
    """
    A run that ended, with what is about to be stored for it.
    """

    run: Run
    outcome: Outcome
    settlement: Settlement


def settle(run: Run, outcome: Outcome, rules: RetryRules, now: datetime) -> Ended:
    """
    Decides what follows an outcome and builds the settlement for it.
    """
    own = run.registration.max_attempts if run.registration is not None else None
    facts = AttemptFacts(run.attempt, own or rules.max_attempts, run.job.lifetime_start_at, now)
    verdict = decide(outcome, facts, rules, random.random())  # noqa: S311 - jitter, not a secret
    return Ended(run, outcome, _settlement(run, outcome, verdict))


def event_of(ended: Ended, *, is_stale: bool, is_cancelled: bool) -> Event:
    """
    The event for a settlement, given what the store said of it.
    """
    move, facts = ended.settlement.move, _facts(ended)
    if is_stale:
        return Event(EventName.STATE_TRANSITION_NOT_APPLIED, ended.run.ref, {**facts, "transition": str(move)})
    if is_cancelled:
        facts = {**facts, "reason": FailureReason.CANCELLED.label}
        return Event(EventName.JOB_TIMED_OUT_OR_CANCELLED, ended.run.ref, facts)
    return Event(_event_name(ended), ended.run.ref, facts)


def _settlement(run: Run, outcome: Outcome, verdict: Verdict) -> Settlement:
    lease, delay = run.lease, verdict.delay
    if verdict.move is _COMPLETE and isinstance(outcome, Succeeded):
        return moves.complete(lease, run.duration_ms, outcome.result, outcome.note)
    match verdict.move:
        case Move.RETRY if delay is not None:
            return moves.retry(lease, delay, error_of(outcome))
        case Move.POSTPONE if delay is not None:
            return moves.postpone(lease, delay)
        case Move.HAND_BACK:
            return moves.hand_back(lease)
        case Move.DEAD_LETTER if verdict.reason is not None:
            return moves.dead_letter(lease, verdict.reason, error_of(outcome), run.duration_ms)
        case other:
            msg = f"no settlement for {other} after {type(outcome).__name__}"
            raise AssertionError(msg)


def error_of(outcome: Outcome) -> ErrorFacts:  # noqa: PLR0911 - one answer for each kind of outcome
    """
    What the job remembers of an outcome that was no success.
    """
    match outcome:
        case Failed(error=error) | Rejected(error=error):
            return error
        case Cancelled(by=by, error=error):
            return error or text_facts("Cancelled", f"cancelled by {by}" if by else "cancelled")
        case TimedOut(after=after):
            return text_facts("Timeout", f"still running after {after}; the limit was reached")
        case HeartbeatLost(failures=failures):
            return text_facts("HeartbeatFailure", f"{failures} heartbeats in a row could not be written")
        case Interrupted():
            return text_facts("Interrupted", "stopped by a shutdown, and its retry lifetime is over")
        case Postponed(reason=reason):
            return text_facts("Postponed", reason)
        case Succeeded():
            return text_facts("Succeeded", "")
        case _:
            assert_never(outcome)


def _event_name(ended: Ended) -> EventName:
    move = ended.settlement.move
    if move is _COMPLETE:
        return _ARCHIVED
    match move:
        case Move.HAND_BACK:
            return EventName.JOB_SHUTDOWN_RESCHEDULED
        case Move.POSTPONE:
            return EventName.JOB_POSTPONED
        case Move.RETRY:
            is_throttled = isinstance(ended.outcome, Failed) and ended.outcome.kind is FailureKind.THROTTLED
            return EventName.JOB_THROTTLED_RETRY_SCHEDULED if is_throttled else EventName.JOB_TRANSIENT_RETRY_SCHEDULED
        case _:
            return _DLQ_EVENTS.get(ended.settlement.reason, EventName.JOB_RETRIES_EXHAUSTED_DLQ)


_DLQ_EVENTS: dict[FailureReason | None, EventName] = {
    FailureReason.TIMEOUT: EventName.JOB_TIMED_OUT_OR_CANCELLED,
    FailureReason.CANCELLED: EventName.JOB_TIMED_OUT_OR_CANCELLED,
    FailureReason.FATAL_ERROR: EventName.JOB_FATAL_ERROR_DLQ,
    FailureReason.REJECTED: EventName.JOB_FATAL_ERROR_DLQ,
    FailureReason.HEARTBEAT_FAILURE: EventName.JOB_HEARTBEAT_THRESHOLD_REACHED,
}


_OUTCOMES: dict[type[Outcome], str] = {
    Succeeded: "succeeded",
    Failed: "failed",
    Rejected: "rejected",
    TimedOut: "timed_out",
    Cancelled: "cancelled",
    HeartbeatLost: "heartbeat_lost",
    Interrupted: "interrupted",
    Postponed: "postponed",
}


def _facts(ended: Ended) -> dict[str, object]:
    """
    What is told of the end of a run; the fact `outcome` marks the event as such, and no other event has it.
    """
    settlement = ended.settlement
    duration_ms = settlement.duration_ms if settlement.duration_ms is not None else ended.run.duration_ms
    facts: dict[str, object] = {"outcome": _OUTCOMES[type(ended.outcome)], "duration_ms": round(duration_ms, 3)}
    if settlement.delay is not None:
        facts["delay_s"] = settlement.delay.total_seconds()
    if settlement.reason is not None:
        facts["reason"] = settlement.reason.label
    if settlement.error is not None:
        facts["error_type"] = settlement.error.type
    return facts
