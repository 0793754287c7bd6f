"""
One order for the members of sets, so that a job has the same text in every process.

Python walks a set by the hashes of its members, and those of texts change from process to process: an enqueue that is
repeated elsewhere would look like another payload.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

AnyModel = TypeVar("AnyModel", bound=BaseModel)

_SET = re.compile(r"'type': '(?:frozen)?set'")


class _OrderedSet(set[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(_sorted(super().__iter__()))


class _OrderedFrozenSet(frozenset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(_sorted(super().__iter__()))


def with_ordered_sets(model: AnyModel) -> AnyModel:
    """
    The model, or a copy of it whose sets are walked in one order: numbers by size, all else by their JSON text.
    """
    return _ordered(model) if has_sets(type(model)) else model


@cache
def has_sets(model_type: type[BaseModel]) -> bool:
    """
    Whether a field of the model, or of a model within it, is declared as a set.
    """
    return _SET.search(repr(model_type.__pydantic_core_schema__)) is not None


def _ordered(value: Any) -> Any:  # noqa: ANN401 - any value of a field
    match value:
        case BaseModel():
            changed = _changed(dict(value).items())
            return value.model_copy(update=changed) if changed else value
        case set() | frozenset() | dict() | list() | tuple():
            return _ordered_collection(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _with(value, _changed((field.name, getattr(value, field.name)) for field in fields(value)))
        case _:
            return value


def _ordered_collection(value: Any) -> Any:  # noqa: ANN401 - a collection
    match value:
        case set():
            return _OrderedSet(map(_ordered, value))
        case frozenset():
            return _OrderedFrozenSet(map(_ordered, value))
        case dict():
            return {name: _ordered(item) for name, item in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(_ordered, value))
        case _:
            return tuple(map(_ordered, value)) if isinstance(value, tuple) else list(map(_ordered, value))


def _changed(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """
    The fields whose value holds a set, by name: what is left alone keeps whatever it is.
    """
    pairs = ((name, item, _ordered(item)) for name, item in items)
    return {name: ordered for name, item, ordered in pairs if ordered is not item}


def _with(value: Any, changed: dict[str, Any]) -> Any:  # noqa: ANN401 - a dataclass
    twin = copy.copy(value)
    for name, item in changed.items():
        object.__setattr__(twin, name, item)
    return twin


def _sorted(members: Iterable[Any]) -> list[Any]:
    listed = list(members)
    if all(type(member) is int for member in listed) or all(type(member) is str for member in listed):
        return sorted(listed)
    return sorted(listed, key=_text)


def _text(member: object) -> bytes:
    return to_json(member, bytes_mode="base64", inf_nan_mode="constants", fallback=repr)
