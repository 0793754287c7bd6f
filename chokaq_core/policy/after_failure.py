"""
From what an attempt came to, to the move that follows.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeGuard, assert_never

from chokaq_core.domain.failures import (
    Cancelled,
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
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value
from chokaq_core.policy.backoff import RetryRules, backoff_delay, clamped, throttled_delay

if TYPE_CHECKING:
    from collections.abc import Mapping


class AttemptFacts(Value):
    """
    What the decision needs to know of the job.

    Attributes:
        attempt: number of this run, 1 or more.
        max_attempts: the registration's limit, else `Retry.MaxAttempts`.
        lifetime_start_at: creation, first due time of a delayed job, or resurrection.
        now: the database's clock.
    """

    attempt: int
    max_attempts: int
    lifetime_start_at: datetime
    now: datetime


class Verdict(Value):
    """
    The move to make, with its delay or its reason.
    """

    move: Move
    delay: timedelta | None = None
    reason: FailureReason | None = None


_COMPLETE = Verdict(Move.COMPLETE)
_ENDS: Mapping[type, FailureReason] = {
    Rejected: FailureReason.REJECTED,
    TimedOut: FailureReason.TIMEOUT,
    Cancelled: FailureReason.CANCELLED,
    HeartbeatLost: FailureReason.HEARTBEAT_FAILURE,
}


def decide(outcome: Outcome, facts: AttemptFacts, rules: RetryRules, roll: float) -> Verdict:
    """
    The move that follows an attempt's outcome.

    Args:
        roll: a random number in [0, 1) for the jitter.
    """
    match outcome:
        case Succeeded():
            return _COMPLETE
        case Postponed(delay=delay):
            return Verdict(Move.POSTPONE, delay=clamped(delay if _is_duration(delay) else rules.circuit_breaker_delay))
        case Interrupted():
            return _within_lifetime(Verdict(Move.HAND_BACK, delay=timedelta(0)), facts, rules)
        case Rejected() | TimedOut() | Cancelled() | HeartbeatLost():
            return _dead(_ENDS[type(outcome)])
        case Failed():
            return _after_failure(outcome, facts, rules, roll)
        case _:
            assert_never(outcome)


def _after_failure(failed: Failed, facts: AttemptFacts, rules: RetryRules, roll: float) -> Verdict:
    if failed.kind is FailureKind.FATAL:
        return _dead(FailureReason.FATAL_ERROR)
    if facts.attempt >= facts.max_attempts:
        is_throttled = failed.kind is FailureKind.THROTTLED
        return _dead(FailureReason.THROTTLED if is_throttled else FailureReason.MAX_RETRIES_EXCEEDED)
    delay = _delay(failed, facts, rules, roll)
    return _within_lifetime(Verdict(Move.RETRY, delay=delay), facts, rules)


def _delay(failed: Failed, facts: AttemptFacts, rules: RetryRules, roll: float) -> timedelta:
    if failed.kind is FailureKind.THROTTLED and _is_duration(failed.retry_after):
        return throttled_delay(rules, retry_after=failed.retry_after)
    return backoff_delay(rules, failures=facts.attempt, roll=roll)


def _is_duration(wish: object) -> TypeGuard[timedelta]:
    """
    Whether a wish of user code can be met: a number, say, counts as none, since nobody knows its unit.
    """
    return isinstance(wish, timedelta)


def _within_lifetime(verdict: Verdict, facts: AttemptFacts, rules: RetryRules) -> Verdict:
    """
    The verdict, unless the next run would start after the job's lifetime; then the DLQ.
    """
    if rules.max_job_age is None or verdict.delay is None:
        return verdict
    age_at_next_run = facts.now - facts.lifetime_start_at + verdict.delay
    if age_at_next_run > rules.max_job_age:
        return _dead(FailureReason.RETRY_LIFETIME_EXPIRED)
    return verdict


def _dead(reason: FailureReason) -> Verdict:
    return Verdict(Move.DEAD_LETTER, reason=reason)
