"""
How long to wait before the next attempt.

    >>> rules = RetryRules()
    >>> [backoff_delay(rules, failures=n, roll=0.0).total_seconds() for n in (1, 2, 3)]
    [3.0, 6.0, 12.0]
    >>> backoff_delay(rules, failures=2000, roll=1.0)
    datetime.timedelta(seconds=3600)
"""

from __future__ import annotations

import math
from datetime import timedelta

from chokaq_core.domain.value import Value
from chokaq_core.policy.envelope import MAX_DELAY


class RetryRules(Value):
    """
    The settings of section `Retry`.

    Attributes:
        max_attempts: runs in all, the first included; at least 1.
        base_delay: wait after the first failure.
        max_delay: no wait is longer, jitter included; nor is one longer than a thousand years, whatever this says.
        multiplier: growth per failure; at least 1.
        jitter_max_delay: upper bound of the random addition.
        circuit_breaker_delay: how long a fetched job of an open circuit is put off.
        max_job_age: lifetime budget for retries; None means no limit.
    """

    max_attempts: int = 3
    base_delay: timedelta = timedelta(seconds=3)
    max_delay: timedelta = timedelta(hours=1)
    multiplier: float = 2.0
    jitter_max_delay: timedelta = timedelta(seconds=1)
    circuit_breaker_delay: timedelta = timedelta(seconds=5)
    max_job_age: timedelta | None = timedelta(days=1)


def backoff_delay(rules: RetryRules, *, failures: int, roll: float) -> timedelta:
    """
    The wait after the given number of failures: exponential, capped, with jitter inside the cap.

    Args:
        failures: failed attempts so far, 1 or more.
        roll: a random number in [0, 1).
    """
    base = rules.base_delay.total_seconds()
    cap = clamped(rules.max_delay).total_seconds()
    nominal = _grown(base, rules.multiplier, failures - 1, cap)
    jitter = min(rules.jitter_max_delay.total_seconds(), cap - nominal)
    return clamped(timedelta(seconds=nominal + roll * jitter), rules.max_delay)


def throttled_delay(rules: RetryRules, *, retry_after: timedelta) -> timedelta:
    """
    The wait that the other side asked for, clamped to 0 … MaxDelay, without jitter.
    """
    return clamped(retry_after, rules.max_delay)


def clamped(delay: timedelta, longest: timedelta = MAX_DELAY) -> timedelta:
    """
    The delay within 0 … `longest`, and within what the database's calendar has room for.
    """
    return max(timedelta(0), min(delay, longest, MAX_DELAY))


def _grown(base: float, multiplier: float, steps: int, cap: float) -> float:
    """
    `base * multiplier**steps`, at most `cap`; compares logarithms so that no step count can overflow.
    """
    if min(base, cap) <= 0:
        return 0.0
    if multiplier > 1 and math.log(base) + steps * math.log(multiplier) > math.log(cap):
        return cap
    return float(min(base * multiplier**steps, cap))
