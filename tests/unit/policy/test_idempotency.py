from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.policy.idempotency import IdempotencyRules, key_problem, lifetime, result_ttl_problem

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BOUNDED = IdempotencyRules(default_result_ttl=12 * HOUR, min_result_ttl=HOUR, max_result_ttl=DAY)


@pytest.mark.parametrize(
    "own,rules,problem",
    [
        (None, IdempotencyRules(), None),
        (HOUR, IdempotencyRules(), None),
        (timedelta(microseconds=1), IdempotencyRules(), None),
        (None, BOUNDED, None),
        (HOUR, BOUNDED, None),
        (DAY, BOUNDED, None),
        (timedelta(0), IdempotencyRules(), "must be longer than zero; got 0:00:00"),
        (-HOUR, IdempotencyRules(), "must be longer than zero; got -1 day, 23:00:00"),
        (timedelta(days=3650), IdempotencyRules(), None),
        (
            timedelta(days=3650, microseconds=1),
            IdempotencyRules(),
            "is 3650 days, 0:00:00.000001, longer than 3650 days; None means for ever",
        ),
        ("1h", IdempotencyRules(), "must be a timedelta or None; got a str"),
        (timedelta(minutes=59), BOUNDED, "is 0:59:00, shorter than Idempotency.MinResultTtl (1:00:00)"),
        (2 * DAY, BOUNDED, "is 2 days, 0:00:00, longer than Idempotency.MaxResultTtl (1 day, 0:00:00)"),
        (
            None,
            IdempotencyRules(max_result_ttl=DAY),
            "is for ever, longer than Idempotency.MaxResultTtl (1 day, 0:00:00)",
        ),
    ],
)
def test_a_lifetime_lies_within_the_bounds_of_the_settings(
    own: object, rules: IdempotencyRules, problem: str | None
) -> None:
    assert result_ttl_problem(own, rules) == problem


@pytest.mark.parametrize(
    "own,rules,kept_for",
    [
        (None, IdempotencyRules(), None),
        (HOUR, IdempotencyRules(), HOUR),
        (None, IdempotencyRules(default_result_ttl=DAY), DAY),
        (HOUR, IdempotencyRules(default_result_ttl=DAY), HOUR),
        (None, IdempotencyRules(max_result_ttl=DAY), DAY),
        (2 * DAY, IdempotencyRules(max_result_ttl=DAY), DAY),
        (HOUR, IdempotencyRules(min_result_ttl=DAY), DAY),
        (timedelta.max, IdempotencyRules(), timedelta(days=3650)),
        (None, IdempotencyRules(min_result_ttl=DAY), None),
    ],
)
def test_bounds_that_have_changed_are_kept_and_refuse_no_accepted_job(
    own: timedelta | None, rules: IdempotencyRules, kept_for: timedelta | None
) -> None:
    assert lifetime(own, rules) == kept_for


@pytest.mark.parametrize(
    "key,problem",
    [
        ("order-7", None),
        ("", None),
        ("   ", None),
        ("é" * 255, None),
        ("x" * 256, "has 256 characters; the limit is 255"),
        (7, "must be text; got a int"),
        (None, "must be text; got a NoneType"),
        ("a\x00b", "holds a NUL or half of a surrogate pair, which no database keeps"),
        ("a\ud800", "holds a NUL or half of a surrogate pair, which no database keeps"),
    ],
)
def test_a_key_is_text_that_every_database_keeps(key: object, problem: str | None) -> None:
    assert key_problem(key) == problem
