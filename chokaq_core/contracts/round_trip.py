"""
Whether the values of a job survive the way into JSON text and back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from chokaq_core.domain.errors import FieldProblem
from chokaq_core.policy.envelope import MAX_DEPTH

_ALWAYS_WRITABLE = frozenset({str, int, bool, type(None)})
_FROM_PLAIN_JSON = (str, int, float, bool, type(None), list, dict)
"""What a field is read as when its type leaves the choice to JSON."""


def is_plainly_writable(job: BaseModel) -> bool:
    """
    Whether the job holds nothing but texts, whole numbers and the like, as most do: told at once.
    """
    return not job.__pydantic_extra__ and _ALWAYS_WRITABLE.issuperset(map(type, job.__dict__.values()))


def unwritable(value: Any, path: str = "payload", level: int = 1) -> Iterator[FieldProblem]:  # noqa: ANN401 - any value
    """
    Values that JSON has no spelling for, and iterators, which writing would use up. To be asked before writing.
    """
    if _is_non_finite(value):
        yield FieldProblem(path, "must be a finite number; JSON has no NaN or Infinity")
    elif level > MAX_DEPTH and _items(value):
        yield FieldProblem(path, f"is nested deeper than {MAX_DEPTH} levels; flatten it")
    elif not isinstance(value, BaseModel) and hasattr(type(value), "__next__"):
        yield FieldProblem(path, f"is an iterator of type {type(value).__name__}; send the items as a list")
    else:
        for name, item in _items(value):
            if not _is_plain(item):
                yield from unwritable(item, f"{path}.{name}", level + 1)


def altered(sent: Any, read: Any, path: str = "payload") -> Iterator[FieldProblem]:  # noqa: ANN401 - any value
    """
    Values that would be read back as less than was sent, because the type of their field does not say what they are.

    Whatever comes back as its declared type is fine, also where the value sent was looser: a list for a tuple, text
    for a URL.
    """
    if _are_equal(sent, read):
        return
    match sent, read:
        case (BaseModel(), BaseModel()) if type(sent) is type(read):
            yield from altered(dict(sent), dict(read), path)
        case dict(), dict() if sent.keys() == read.keys():
            for name, item in sent.items():
                yield from altered(item, read[name], f"{path}.{name}")
        case list() | tuple(), list() | tuple() if len(sent) == len(read):
            for index, item in enumerate(sent):
                yield from altered(item, read[index], f"{path}.{index}")
        case dict(), dict():
            yield FieldProblem(path, "has keys that would be read back as text; declare their type, or send text")
        case _ if _is_less(sent, read):
            rule = f"is a {type(sent).__name__} that would be read back as a {type(read).__name__}"
            yield FieldProblem(path, f"{rule}; declare the field's type, or send the latter")


def have_equal_fields(sent: BaseModel, read: BaseModel) -> bool:
    """
    Whether nothing is altered at first sight; False leaves it open.
    """
    return _are_equal((sent.__dict__, sent.__pydantic_extra__), (read.__dict__, read.__pydantic_extra__))


def _is_plain(value: object) -> bool:
    """
    Whether it is plainly writable: told at once, since most values are.
    """
    return type(value) in _ALWAYS_WRITABLE or (type(value) is float and math.isfinite(value))


def _is_non_finite(value: object) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Decimal():
            return not value.is_finite()
        case _:
            return False


def _items(value: object) -> list[tuple[object, Any]]:
    match value:
        case BaseModel() | dict():
            return list(dict(value).items())
        case list() | tuple() | set() | frozenset():
            return list(enumerate(value))
        case _ if is_dataclass(value):
            return [(field.name, getattr(value, field.name)) for field in fields(value)]
        case _:
            return []


def _are_equal(sent: object, read: object) -> bool:
    try:
        return bool(sent == read)
    except Exception:  # noqa: BLE001 - arrays and the like compare in ways of their own
        return False


def _is_less(sent: object, read: object) -> bool:
    """
    Whether different values stand for a loss: plain JSON where something else was sent, or a model of another class.
    """
    return type(read) is not type(sent) and (type(read) in _FROM_PLAIN_JSON or isinstance(sent, BaseModel))
