"""
What a setting may hold: how its text becomes a value, which values are refused, and how a value is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from chokaq_core.config.periods import EXPRESSIBLE, is_expressible
from chokaq_core.domain.durations import RULE as DURATION_RULE
from chokaq_core.domain.durations import DurationError, format_duration, parse_duration
from chokaq_core.domain.secret import MASK, Secret
from chokaq_core.domain.value import Value

ZERO = timedelta(0)
TEN_YEARS = timedelta(days=3650)
SHORTEST_KEY = 32

# Kept as text: `re` compiles a pattern at its first use, and most starts use none of these.
_WHOLE = r"-?[0-9]{1,18}"
_NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?"
_KEY = rf"[!-~]{{{SHORTEST_KEY},}}"
_FLAGS = {"true": True, "false": False}


class RefusedError(Exception):
    """
    A value breaks its rule. The texts name the rule and the way out, never the value.
    """

    def __init__(self, *rules: str, hint: str = "") -> None:
        self.rules = rules
        self.hint = hint
        super().__init__("; ".join(rules))


class Kind(Value):
    """
    The type and the range of a setting.

    Attributes:
        type_name: the type, as documentation names it.
        rule: the rule, worded to stand after the setting's name: `must be …`.
        parse: makes the value of a text, or raises RefusedError.
        show: makes the text of a value, which `parse` would read again.
        as_json: the value as a settings file holds it.
        is_secret: whether values are never shown.
    """

    type_name: str
    rule: str
    parse: Callable[[str], object]
    show: Callable[[Any], str] = str
    as_json: Callable[[Any], object] = str
    is_secret: bool = False


def whole(low: int, high: int, hint: str = "") -> Kind:
    """
    A whole number within bounds.

    Args:
        hint: what to do instead of the value that people try.
    """
    rule = f"must be a whole number from {low} to {high}"

    def parse(given: str) -> int:
        if re.fullmatch(_WHOLE, given) is None or not low <= int(given) <= high:
            raise RefusedError(rule, hint=hint)
        return int(given)

    return Kind("whole number", rule, parse, as_json=int)


def count_of(unit: timedelta, low: int, high: int) -> Kind:
    """
    A whole number of a unit, which the setting's name ends with; the value is a duration.
    """
    count = whole(low, high)

    def parse(given: str) -> timedelta:
        count.parse(given)
        return unit * int(given)

    return Kind(
        count.type_name, count.rule, parse, show=lambda value: str(value // unit), as_json=lambda value: value // unit
    )


def number(low: float, high: float) -> Kind:
    """
    A decimal number within bounds.
    """
    rule = f"must be a number from {low} to {high}, with a point before its decimals"

    def parse(given: str) -> float:
        if re.fullmatch(_NUMBER, given) is None or not low <= float(given) <= high:
            raise RefusedError(rule)
        return float(given)

    return Kind("number", rule, parse, as_json=float)


def duration(low: timedelta | None = None, high: timedelta = TEN_YEARS) -> Kind:
    """
    A duration within bounds; `low` None means any that is longer than zero.
    """
    least = "longer than 00:00:00" if low is None else f"at least {format_duration(low)}"
    rule = f"must be {least} and at most {format_duration(high)}"

    def parse(given: str) -> timedelta:
        value = _read_duration(given)
        is_long_enough = value > ZERO if low is None else value >= low
        if not is_long_enough or value > high:
            raise RefusedError(rule)
        return value

    return Kind("duration", rule, parse, show=format_duration, as_json=format_duration)


def text(pattern: str, form: str) -> Kind:
    """
    Text that matches a pattern, which `form` describes in words.
    """
    rule = f"must be {form}"

    def parse(given: str) -> str:
        if re.fullmatch(pattern, given) is None:
            raise RefusedError(rule)
        return given

    return Kind("text", rule, parse)


def _parse_flag(given: str) -> bool:
    value = _FLAGS.get(given.lower())
    if value is None:
        raise RefusedError(FLAG.rule)
    return value


def _parse_period(given: str) -> timedelta:
    value = _read_duration(given)
    if not is_expressible(value):
        nearest = min(EXPRESSIBLE, key=lambda period: abs(period - value))
        raise RefusedError(PERIOD.rule, hint=f"the nearest is {format_duration(nearest)}")
    return value


def _parse_key(given: str) -> Secret:
    if re.fullmatch(_KEY, given) is None:
        raise RefusedError(KEY.rule, hint="make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'")
    return Secret(given)


def _read_duration(given: str) -> timedelta:
    try:
        return parse_duration(given)
    except DurationError as error:
        raise RefusedError(DURATION_RULE, hint=error.hint) from error


FLAG = Kind(
    "true or false",
    "must be true or false",
    _parse_flag,
    show=lambda value: "true" if value else "false",
    as_json=bool,
)
"""True or false, in any letter case."""

PERIOD = Kind(
    "duration",
    "must be a period that a timer can express: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60 seconds or minutes",
    _parse_period,
    show=format_duration,
    as_json=format_duration,
)
"""A duration that a timer's schedule can express."""

KEY = Kind(
    "secret text",
    f"must be at least {SHORTEST_KEY} printable ASCII characters without blanks",
    _parse_key,
    show=lambda _: MASK,
    is_secret=True,
)
"""A secret that people present to be let in; it travels in a header, hence its characters."""
