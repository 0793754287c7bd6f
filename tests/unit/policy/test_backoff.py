from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.policy.backoff import RetryRules, backoff_delay, throttled_delay

DEFAULTS = RetryRules()
THOUSAND_YEARS = timedelta(days=366_000)


def seconds(rules: RetryRules, failures: int, roll: float = 0.0) -> float:
    return backoff_delay(rules, failures=failures, roll=roll).total_seconds()


@pytest.mark.parametrize(
    "failures,expected",
    [(1, 3.0), (2, 6.0), (3, 12.0), (4, 24.0), (10, 1_536.0), (11, 3_072.0), (12, 3_600.0), (13, 3_600.0)],
)
def test_the_wait_doubles_from_three_seconds_up_to_an_hour(failures: int, expected: float) -> None:
    assert seconds(DEFAULTS, failures) == expected


@pytest.mark.parametrize(
    "multiplier,expected",
    [(1.0, [3.0, 3.0, 3.0]), (1.5, [3.0, 4.5, 6.75]), (10.0, [3.0, 30.0, 300.0])],
)
def test_the_wait_grows_by_the_multiplier(multiplier: float, expected: list[float]) -> None:
    rules = RetryRules(multiplier=multiplier)
    assert [seconds(rules, failures) for failures in (1, 2, 3)] == expected


def test_a_base_of_zero_never_waits() -> None:
    rules = RetryRules(base_delay=timedelta(0), jitter_max_delay=timedelta(0))
    assert [seconds(rules, failures) for failures in (1, 2, 2_000)] == [0.0, 0.0, 0.0]


def test_a_base_over_the_cap_waits_for_the_cap() -> None:
    assert seconds(RetryRules(base_delay=timedelta(hours=2)), 1) == 3_600.0


@pytest.mark.parametrize("roll,expected", [(0.0, 3.0), (0.25, 3.25), (0.5, 3.5)])
def test_jitter_is_added_in_proportion_to_the_roll(roll: float, expected: float) -> None:
    assert seconds(DEFAULTS, 1, roll) == expected


def test_jitter_has_only_the_room_that_is_left_under_the_cap() -> None:
    rules = RetryRules(max_delay=timedelta(seconds=10), base_delay=timedelta(seconds=8), jitter_max_delay=timedelta(60))
    assert [seconds(rules, 1, 0.5), seconds(rules, 2, 0.5)] == [9.0, 10.0]


@pytest.mark.case("C-011")
@pytest.mark.parametrize(
    "failures,expected",
    [
        *[(1, 5.0), (2, 25.0), (3, 125.0), (4, 625.0), (5, 3_125.0)],
        *[(failures, 3_600.0) for failures in (*range(6, 61), 1_023, 1_024, 1_025, 2_000)],
    ],
)
def test_the_wait_under_a_cap_stops_at_the_cap_however_many_failures(failures: int, expected: float) -> None:
    rules = RetryRules(base_delay=timedelta(seconds=5), multiplier=5.0)
    assert seconds(rules, failures) == expected


@pytest.mark.case("C-011")
@pytest.mark.parametrize("failures", [1_023, 1_024, 1_025, 2_000, 1_000_000])
@pytest.mark.parametrize("multiplier", [1.001, 5.0, 1e308, float("inf")])
def test_the_wait_under_the_largest_cap_stops_at_a_thousand_years(failures: int, multiplier: float) -> None:
    rules = RetryRules(base_delay=timedelta(days=200_000), multiplier=multiplier, max_delay=timedelta.max)
    assert backoff_delay(rules, failures=failures, roll=0.999) == THOUSAND_YEARS


@pytest.mark.case("C-011")
@given(
    base=st.timedeltas(min_value=timedelta(0)),
    cap=st.timedeltas(min_value=timedelta(0)),
    jitter=st.timedeltas(min_value=timedelta(0)),
    multiplier=st.floats(min_value=1.0, allow_nan=False),
    failures=st.integers(min_value=1, max_value=10**6),
    roll=st.floats(min_value=0.0, max_value=1.0, exclude_max=True),
)
def test_no_numbers_make_the_wait_raise_or_leave_its_bounds(
    base: timedelta, cap: timedelta, jitter: timedelta, multiplier: float, failures: int, roll: float
) -> None:
    rules = RetryRules(base_delay=base, max_delay=cap, jitter_max_delay=jitter, multiplier=multiplier)
    assert timedelta(0) <= backoff_delay(rules, failures=failures, roll=roll) <= min(cap, THOUSAND_YEARS)


@given(failures=st.integers(min_value=1, max_value=100), multiplier=st.floats(min_value=1.0, max_value=100.0))
def test_one_more_failure_never_shortens_the_wait(failures: int, multiplier: float) -> None:
    rules = RetryRules(multiplier=multiplier)
    assert seconds(rules, failures) <= seconds(rules, failures + 1)


@pytest.mark.case("C-018")
def test_jobs_that_fail_together_come_back_spread_over_the_jitter_window() -> None:
    rules = RetryRules(base_delay=timedelta(seconds=30), jitter_max_delay=timedelta(seconds=10))
    dice = random.Random(18)  # noqa: S311 - repeatable dice
    waits = [seconds(rules, 1, dice.random()) for _ in range(500)]
    jobs_per_second = Counter(int(wait) for wait in waits)
    assert min(waits) >= 30.0
    assert max(waits) <= 40.0
    assert max(jobs_per_second.values()) <= 125
    assert len(jobs_per_second) == 10


@pytest.mark.parametrize(
    "asked,expected",
    [
        (timedelta(days=-3), timedelta(0)),
        (timedelta.min, timedelta(0)),
        (timedelta(0), timedelta(0)),
        (timedelta(seconds=90), timedelta(seconds=90)),
        (timedelta(hours=1), timedelta(hours=1)),
        (timedelta(hours=1, microseconds=1), timedelta(hours=1)),
        (timedelta.max, timedelta(hours=1)),
    ],
)
def test_a_wish_of_the_other_side_is_kept_within_zero_and_the_cap(asked: timedelta, expected: timedelta) -> None:
    assert throttled_delay(DEFAULTS, retry_after=asked) == expected


@pytest.mark.case("C-011")
def test_a_wish_under_the_largest_cap_stops_at_a_thousand_years() -> None:
    assert throttled_delay(RetryRules(max_delay=timedelta.max), retry_after=timedelta.max) == THOUSAND_YEARS
