"""
Which models hold nothing but plain fields, told from the annotations alone: to make a schema takes milliseconds.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from annotated_types import BaseMetadata, GroupedMetadata
from pydantic import AfterValidator, BaseModel, BeforeValidator, JsonValue
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from chokaq_core.contracts.job import Job

_PLAIN: frozenset[object] = frozenset(
    {str, int, float, bool, bytes, NoneType, date, datetime, time, timedelta, Decimal, UUID, Any, JsonValue, ...}
)
_CONTAINERS: frozenset[object] = frozenset({list, dict, set, frozenset, tuple, Union, UnionType})
_CHECKS = (AfterValidator, BeforeValidator, BaseMetadata, GroupedMetadata)
"""What may stand beside a type and changes nothing about how its values are written."""


def has_plain_fields(model: type[Job]) -> bool:
    """
    Whether no field can hold a secret, and none is written in a way of its own. False leaves it open.
    """
    return _is_written_plainly(model) and all(map(_is_plain_field, model.model_fields.values()))


def _is_written_plainly(model: type[Job]) -> bool:
    own = model.__pydantic_decorators__
    hooks = ("__get_pydantic_core_schema__", "__get_pydantic_json_schema__")
    return (
        not (own.field_serializers or own.model_serializers or own.computed_fields)
        and model.model_config.get("json_schema_extra") is None
        and all(getattr(model, hook).__func__ is getattr(BaseModel, hook).__func__ for hook in hooks)
    )


def _is_plain_field(info: FieldInfo) -> bool:
    return info.json_schema_extra is None and _is_plain(info.annotation) and all(map(_is_check, info.metadata))


def _is_check(item: object) -> bool:
    return isinstance(item, _CHECKS) or (isinstance(item, FieldInfo) and item.json_schema_extra is None)


def _is_plain(annotation: object) -> bool:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_plain(arguments[0]) and all(map(_is_check, arguments[1:]))
    if origin is None:
        return annotation in _PLAIN or (isinstance(annotation, type) and issubclass(annotation, Enum))
    return origin is Literal or (origin in _CONTAINERS and all(map(_is_plain, arguments)))
