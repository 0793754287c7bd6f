"""
What the idempotency middleware goes by: which keys and lifetimes are allowed, and how long things are remembered.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.domain.value import Value
from chokaq_core.policy.error_text import storable

MAX_KEY_CHARACTERS = 255
LONGEST_RESULT_TTL = timedelta(days=3650)
"""As in the settings: far beyond it no database can add it to its time, and the work would fail after it was done."""
IN_PROGRESS_DELAY = timedelta(seconds=5)
"""How long a job waits before it looks again whether the other job that holds its key is done."""


class IdempotencyRules(Value):
    """
    The settings of section `Idempotency`.

    Attributes:
        in_progress_ttl: how long a running job holds its key before another may claim it.
        default_result_ttl: how long a result is remembered when the job does not say; None means for ever.
        min_result_ttl: no job may ask for less; None sets no bound.
        max_result_ttl: no job may ask for more; None sets no bound.
    """

    in_progress_ttl: timedelta = timedelta(minutes=30)
    default_result_ttl: timedelta | None = None
    min_result_ttl: timedelta | None = None
    max_result_ttl: timedelta | None = None


def result_ttl_problem(own: object, rules: IdempotencyRules) -> str | None:
    """
    What is wrong with the time that a job wants its result remembered; None when nothing is.

    Args:
        own: what the job says; None leaves it to the settings.
    """
    if own is not None and not isinstance(own, timedelta):
        return f"must be a timedelta or None; got a {type(own).__name__}"
    if own is not None and own <= timedelta(0):
        return f"must be longer than zero; got {own}"
    if own is not None and own > LONGEST_RESULT_TTL:
        return f"is {own}, longer than {LONGEST_RESULT_TTL.days} days; None means for ever"
    ttl = own if own is not None else rules.default_result_ttl
    if rules.min_result_ttl is not None and ttl is not None and ttl < rules.min_result_ttl:
        return f"is {ttl}, shorter than Idempotency.MinResultTtl ({rules.min_result_ttl})"
    if rules.max_result_ttl is not None and (ttl is None or ttl > rules.max_result_ttl):
        return f"is {ttl or 'for ever'}, longer than Idempotency.MaxResultTtl ({rules.max_result_ttl})"
    return None


def key_problem(key: object) -> str | None:
    """
    What is wrong with an idempotency key; None when nothing is. A blank one is allowed and protects nothing.
    """
    if not isinstance(key, str):
        return f"must be text; got a {type(key).__name__}"
    if len(key) > MAX_KEY_CHARACTERS:
        return f"has {len(key)} characters; the limit is {MAX_KEY_CHARACTERS}"
    if storable(key) != key:
        return "holds a NUL or half of a surrogate pair, which no database keeps"
    return None


def lifetime(own: timedelta | None, rules: IdempotencyRules) -> timedelta | None:
    """
    How long a result is remembered; None means for ever.

    Bounds that became tighter after the job was accepted are kept, and do not refuse it.
    """
    ttl = min(own, LONGEST_RESULT_TTL) if own is not None else rules.default_result_ttl
    if rules.max_result_ttl is not None:
        ttl = rules.max_result_ttl if ttl is None else min(ttl, rules.max_result_ttl)
    if rules.min_result_ttl is not None and ttl is not None:
        ttl = max(ttl, rules.min_result_ttl)
    return ttl
