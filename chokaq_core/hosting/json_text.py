"""
JSON as it comes over HTTP: strict, and with numbers that keep their digits on the way into the store.

Python's own parser takes NaN, lets the last of two equal names win, and turns 0.10 into 0.1; a payload must not change.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Self

from chokaq_core.policy.envelope import json_fault


class Digits(float):
    """
    A number with a fraction or exponent, together with its spelling.
    """

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        """
        The number that a text spells.
        """
        number = super().__new__(cls, text)
        if math.isinf(number):
            raise ValueError(f"the number {text[:40]} is too large")
        number.text = text
        return number


def parse(body: bytes) -> object:
    """
    The value of a JSON text in UTF-8.

    Raises:
        ValueError: not UTF-8, not JSON, not strict, names twice in one object, or nested too deep.
    """
    try:
        return json.loads(
            body.decode(), parse_float=Digits, parse_constant=_refuse_constant, object_pairs_hook=_without_twins
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
    except ValueError as error:
        raise ValueError(json_fault(error)) from error


def write(value: object) -> str:
    """
    Compact JSON text of a parsed value, every number as it was spelled.
    """
    match value:
        case Digits():
            return value.text
        case dict():
            return "{" + ",".join(f"{_string(name)}:{write(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(write(item) for item in value) + "]"
        case str():
            return _string(value)
        case _:
            return json.dumps(value)


def _string(text: str) -> str:
    """
    A JSON string; lone surrogates are escaped, so that the check of the payload finds and names them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        # One pass: a body of a megabyte can hold a hundred thousand names, and its twin at the end.
        twin = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"has the name {twin[:60]!a} twice in one object")
    return members


def _refuse_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is not a JSON number")
