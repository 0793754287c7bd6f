"""
Between job objects and the text that is stored.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from chokaq_core.domain.errors import FieldProblem, InvalidJobError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.contracts.job import Job

AnyJob = TypeVar("AnyJob", bound="Job")


class JobSerializer(Protocol):
    """
    Turns jobs into strict JSON text and back. Replacing it changes how old rows are read: keep both readable.
    """

    def dumps(self, job: Job) -> str:
        """
        The job as JSON text.

        Raises:
            InvalidJobError: the job cannot be expressed; each problem names the path of its field.
        """

    def loads(self, job_type: type[AnyJob], text: str) -> AnyJob:
        """
        The job that a text describes.

        Raises:
            InvalidJobError: the text does not fit the model; each problem names the path of its field.
        """


class JsonSerializer:
    """
    The default: pydantic's own JSON, by alias, compact.
    """

    def dumps(self, job: Job) -> str:
        """
        The job as JSON text.
        """
        try:
            text = job.model_dump_json(by_alias=True, warnings="error")
        except (PydanticSerializationError, UnicodeEncodeError) as error:
            raise InvalidJobError([FieldProblem("payload", f"cannot be written as JSON: {error}")]) from error
        if "NaN" in text or "Infinity" in text:
            _refuse_non_finite(job)
        return text

    def loads(self, job_type: type[AnyJob], text: str) -> AnyJob:
        """
        The job that a text describes.
        """
        try:
            job = job_type.model_validate_json(text)
        except ValidationError as error:
            raise InvalidJobError(list(_problems(error))) from error
        return job


def _problems(error: ValidationError) -> Iterator[FieldProblem]:
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        path = ".".join(["payload", *(str(part) for part in problem["loc"])])
        yield FieldProblem(path, problem["msg"])


def _refuse_non_finite(job: Job) -> None:
    problems = [FieldProblem(path, "must be a finite number; JSON has no NaN or Infinity") for path in _non_finite(job)]
    if problems:
        raise InvalidJobError(problems)


def _non_finite(value: Any, path: str = "payload") -> Iterator[str]:  # noqa: ANN401 - walks whatever a model holds
    match value:
        case float() if not math.isfinite(value):
            yield path
        case Decimal() if not value.is_finite():
            yield path
        case BaseModel():
            yield from _non_finite(dict(value), path)
        case dict():
            for key, item in value.items():
                yield from _non_finite(item, f"{path}.{key}")
        case list() | tuple() | set() | frozenset():
            for index, item in enumerate(value):
                yield from _non_finite(item, f"{path}.{index}")


@dataclass(frozen=True, slots=True)
class StoredResult:
    """
    A handler's return value as it is stored: JSON text, or a note saying why there is none.
    """

    text: str | None
    note: str | None = None


_NOTHING = StoredResult(None)


def stored_result(value: object, max_bytes: int) -> StoredResult:
    """
    A return value as strict JSON text; one that cannot be kept never fails the finished job.
    """
    if value is None:
        return _NOTHING
    try:
        text = to_json(value, inf_nan_mode="constants").decode()
        if "NaN" in text or "Infinity" in text:
            json.loads(text, parse_constant=_refuse_constant)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        return StoredResult(None, f"the result of type {type(value).__name__} is not JSON: {str(error)[:200]}")
    size = len(text.encode())
    if size > max_bytes:
        return StoredResult(None, f"the result is {size} bytes of JSON; the limit is {max_bytes}")
    return StoredResult(text)


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)
