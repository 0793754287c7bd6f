"""
Which models can be payloads: checked once, when a handler is registered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import AliasChoices
from pydantic.errors import PydanticUserError

from chokaq_core.contracts.plain_fields import has_plain_fields
from chokaq_core.domain.errors import RegistrationError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from chokaq_core.contracts.job import Job

_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Parts of a JSON schema that hold a field's values and no schema."""


def check_model(type_key: str, model: type[Job]) -> None:
    """
    Refuses a model whose text could not be read back, or that would show a secret to operators.

    Raises:
        RegistrationError: names the field and the rule.
    """
    secrets = () if has_plain_fields(model) else _secret_fields(model)
    for problem in (*_unreadable_fields(model), *secrets):
        msg = f"handler of {type_key!r}: {problem}"
        raise RegistrationError(msg)


def _unreadable_fields(model: type[Job]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        written, readable = info.serialization_alias or name, _names_read(name, info, model)
        if written not in readable:
            names = " or ".join(repr(readable_name) for readable_name in readable)
            yield f"field {name} is written as {written!r} but read as {names}; give it one alias for both"


def _names_read(name: str, info: FieldInfo, model: type[Job]) -> list[str]:
    """
    The names under which the field is looked for in JSON text.
    """
    alias, config = info.validation_alias, model.model_config
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias if alias is not None else name]
    by_name = [name] if config.get("populate_by_name") or config.get("validate_by_name") else []
    if config.get("validate_by_alias") is False:
        return by_name
    return [choice if isinstance(choice, str) else str(choice) for choice in choices] + by_name


def _secret_fields(model: type[Job]) -> Iterator[str]:
    try:
        schema = model.model_json_schema(mode="serialization")
    except PydanticUserError as error:
        yield f"{model.__name__} cannot be a payload: {error.message}"
        return
    for field in _write_only(schema, model.__name__):
        yield f"{field} is a secret; operators read payloads, so send its name and read the secret in the handler"


def _write_only(schema: object, where: str) -> Iterator[str]:
    """
    Where a JSON schema says write-only, which is how pydantic marks secrets.
    """
    match schema:
        case {"writeOnly": True}:
            yield where
        case dict():
            for place, item in _children(schema, where):
                yield from _write_only(item, place)
        case list():
            for item in schema:
                yield from _write_only(item, where)


def _children(schema: Mapping[str, object], where: str) -> Iterator[tuple[str, object]]:
    for name, item in schema.items():
        if name == "properties" and isinstance(item, dict):
            yield from ((f"{where}.{field}", value) for field, value in item.items())
        elif name == "$defs" and isinstance(item, dict):
            yield from item.items()
        elif name not in _VALUES:
            yield where, item
