from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from chokaq_core.domain.moves import Move
from chokaq_core.policy.after_failure import AttemptFacts, Verdict, decide
from chokaq_core.policy.backoff import RetryRules

CREATED = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
ERROR = ErrorFacts("RuntimeError", "nope", "RuntimeError: nope")
DEFAULTS = RetryRules()
EVER = RetryRules(max_job_age=None)


def facts(attempt: int = 1, max_attempts: int = 3, age: timedelta = timedelta(seconds=10)) -> AttemptFacts:
    return AttemptFacts(attempt, max_attempts, lifetime_start_at=CREATED, now=CREATED + age)


def failed(kind: FailureKind = FailureKind.TRANSIENT, retry_after: timedelta | None = None) -> Failed:
    return Failed(kind, ERROR, retry_after)


def throttled(retry_after: timedelta | None) -> Failed:
    return failed(FailureKind.THROTTLED, retry_after)


def verdict(outcome: Outcome, about: AttemptFacts | None = None, rules: RetryRules = DEFAULTS) -> Verdict:
    return decide(outcome, about if about is not None else facts(), rules, roll=0.0)


def retry_in(seconds: float) -> Verdict:
    return Verdict(Move.RETRY, delay=timedelta(seconds=seconds))


def dead(reason: FailureReason) -> Verdict:
    return Verdict(Move.DEAD_LETTER, reason=reason)


def test_a_success_is_completed() -> None:
    assert verdict(Succeeded("7")) == Verdict(Move.COMPLETE)


@pytest.mark.parametrize(
    "outcome,reason",
    [
        (Rejected(ERROR), FailureReason.REJECTED),
        (TimedOut(timedelta(minutes=15)), FailureReason.TIMEOUT),
        (Cancelled("anna"), FailureReason.CANCELLED),
        (HeartbeatLost(10), FailureReason.HEARTBEAT_FAILURE),
        (failed(FailureKind.FATAL), FailureReason.FATAL_ERROR),
    ],
)
def test_what_a_retry_cannot_mend_goes_to_the_dlq_though_attempts_are_left(
    outcome: Outcome, reason: FailureReason
) -> None:
    assert verdict(outcome) == dead(reason)


@pytest.mark.parametrize(
    "attempt,expected",
    [(1, retry_in(3)), (2, retry_in(6)), (3, dead(FailureReason.MAX_RETRIES_EXCEEDED))],
)
def test_a_failure_is_retried_until_the_last_attempt(attempt: int, expected: Verdict) -> None:
    assert verdict(failed(), facts(attempt)) == expected


@pytest.mark.case("C-015")
@pytest.mark.parametrize("max_attempts", [1, 2, 3, 25])
def test_a_job_that_always_fails_runs_exactly_as_often_as_allowed(max_attempts: int) -> None:
    verdicts = [verdict(failed(), facts(run, max_attempts), EVER) for run in range(1, max_attempts + 1)]
    assert [v.move for v in verdicts] == [Move.RETRY] * (max_attempts - 1) + [Move.DEAD_LETTER]


def test_a_limit_lowered_below_the_runs_made_ends_the_job() -> None:
    assert verdict(failed(), facts(attempt=7, max_attempts=3)) == dead(FailureReason.MAX_RETRIES_EXCEEDED)


@pytest.mark.case("C-011")
@pytest.mark.parametrize("attempt,delay", [(16, 3_600), (1_024, 3_600), (1_999, 3_600)])
def test_a_job_with_very_many_attempts_comes_back_after_the_longest_wait(attempt: int, delay: int) -> None:
    rules = RetryRules(base_delay=timedelta(seconds=5), multiplier=5.0, max_job_age=None)
    assert verdict(failed(), facts(attempt, 2_000), rules) == retry_in(delay)


@pytest.mark.case("C-011")
def test_the_largest_wait_leads_to_a_retry_and_not_to_an_overflow() -> None:
    rules = RetryRules(base_delay=timedelta.max, max_delay=timedelta.max, max_job_age=timedelta.max)
    assert verdict(failed(), facts(), rules) == Verdict(Move.RETRY, delay=timedelta(days=366_000))


@pytest.mark.parametrize(
    "asked,delay",
    [
        (timedelta(seconds=90), 90),
        (timedelta(0), 0),
        (timedelta(days=-1), 0),
        (timedelta(hours=9), 3_600),
        (timedelta.max, 3_600),
        (None, 3),
    ],
)
def test_throttling_waits_as_asked_within_the_cap(asked: timedelta | None, delay: int) -> None:
    assert verdict(throttled(asked)) == retry_in(delay)


@pytest.mark.parametrize("wish", [30, 0.5, "00:00:30", float("nan")])
def test_a_wish_that_is_no_duration_counts_as_none(wish: Any) -> None:  # noqa: ANN401 - wrong on purpose
    assert verdict(throttled(wish)) == retry_in(3)
    assert verdict(Postponed("claimed elsewhere", wish)) == Verdict(Move.POSTPONE, delay=timedelta(seconds=5))


def test_throttling_that_names_a_delay_gets_no_jitter() -> None:
    assert decide(throttled(timedelta(seconds=90)), facts(), DEFAULTS, roll=0.9) == retry_in(90)


def test_throttling_without_a_delay_gets_the_backoff_with_jitter() -> None:
    assert decide(throttled(None), facts(), DEFAULTS, roll=0.5) == retry_in(3.5)


def test_throttling_at_the_last_attempt_ends_as_throttled() -> None:
    assert verdict(throttled(timedelta(seconds=1)), facts(attempt=3)) == dead(FailureReason.THROTTLED)


@pytest.mark.parametrize(
    "age,expected",
    [
        (timedelta(hours=23, minutes=59, seconds=57), retry_in(3)),
        (
            timedelta(hours=23, minutes=59, seconds=57, microseconds=1),
            dead(FailureReason.RETRY_LIFETIME_EXPIRED),
        ),
        (timedelta(days=400), dead(FailureReason.RETRY_LIFETIME_EXPIRED)),
    ],
)
def test_a_retry_that_would_start_after_the_lifetime_is_not_made(age: timedelta, expected: Verdict) -> None:
    assert verdict(failed(), facts(age=age)) == expected


def test_a_lifetime_without_limit_never_ends_a_job() -> None:
    assert verdict(failed(), facts(age=timedelta(days=4_000)), EVER) == retry_in(3)


def test_the_lifetime_counts_for_throttling_too() -> None:
    rules = RetryRules(max_job_age=timedelta(minutes=1))
    assert verdict(throttled(timedelta(minutes=1)), rules=rules) == dead(FailureReason.RETRY_LIFETIME_EXPIRED)


@pytest.mark.parametrize(
    "outcome,reason",
    [
        (failed(FailureKind.FATAL), FailureReason.FATAL_ERROR),
        (throttled(None), FailureReason.THROTTLED),
        (failed(), FailureReason.MAX_RETRIES_EXCEEDED),
    ],
)
def test_a_job_with_no_retry_to_come_does_not_end_by_its_age(outcome: Outcome, reason: FailureReason) -> None:
    assert verdict(outcome, facts(attempt=3, age=timedelta(days=400))) == dead(reason)


def test_a_handler_that_stopped_for_the_shutdown_is_handed_back_at_once() -> None:
    assert verdict(Interrupted(), facts(attempt=3)) == Verdict(Move.HAND_BACK, delay=timedelta(0))


@pytest.mark.parametrize(
    "age,move",
    [
        (timedelta(days=1), Move.HAND_BACK),
        (timedelta(days=1, microseconds=1), Move.DEAD_LETTER),
    ],
)
def test_the_lifetime_counts_for_handing_back_too(age: timedelta, move: Move) -> None:
    assert verdict(Interrupted(), facts(age=age)).move is move


@pytest.mark.parametrize(
    "asked,delay",
    [
        (timedelta(seconds=5), timedelta(seconds=5)),
        (timedelta(days=2), timedelta(days=2)),
        (timedelta(seconds=-5), timedelta(0)),
        (timedelta.max, timedelta(days=366_000)),
    ],
)
def test_a_postponement_waits_as_asked_within_the_calendar(asked: timedelta, delay: timedelta) -> None:
    assert verdict(Postponed("circuit open", asked)) == Verdict(Move.POSTPONE, delay=delay)


def test_a_postponement_is_not_ended_by_attempts_or_age() -> None:
    about = facts(attempt=3, age=timedelta(days=400))
    assert verdict(Postponed("claimed elsewhere", timedelta(seconds=5)), about).move is Move.POSTPONE


@given(
    attempt=st.integers(min_value=1, max_value=3_000),
    max_attempts=st.integers(min_value=1, max_value=3_000),
    kind=st.sampled_from(FailureKind),
    retry_after=st.none() | st.timedeltas(),
    max_job_age=st.none() | st.timedeltas(min_value=timedelta(0)),
    age=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=365_000)),
)
def test_a_failure_is_retried_only_with_attempts_left_and_otherwise_has_a_reason(
    attempt: int,
    max_attempts: int,
    kind: FailureKind,
    retry_after: timedelta | None,
    max_job_age: timedelta | None,
    age: timedelta,
) -> None:
    now = datetime(9_000, 1, 1, tzinfo=UTC)
    about = AttemptFacts(attempt, max_attempts, lifetime_start_at=now - age, now=now)
    answer = decide(failed(kind, retry_after), about, RetryRules(max_job_age=max_job_age), roll=0.5)
    if answer.move is Move.RETRY:
        assert attempt < max_attempts
        assert answer.reason is None
        assert answer.delay is not None
        assert timedelta(0) <= answer.delay <= timedelta(hours=1)
    else:
        assert answer.move is Move.DEAD_LETTER
        assert answer.reason is not None
