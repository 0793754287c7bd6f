"""
Between job objects and the text that is stored.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from chokaq_core.contracts.round_trip import altered, have_equal_fields, is_plainly_writable, unwritable
from chokaq_core.contracts.set_order import with_ordered_sets
from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.domain.value import Value
from chokaq_core.policy.envelope import field_problem_of_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_core import ErrorDetails

    from chokaq_core.contracts.job import Job

AnyJob = TypeVar("AnyJob", bound="Job")

_BUILDING = threading.Lock()


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

    What is written is read back at once, so that a job which its handler could not be given is refused by `dumps`.
    """

    def dumps(self, job: Job) -> str:
        """
        The job as JSON text.
        """
        if not is_plainly_writable(job):
            _refuse(unwritable(job))
        text = _written(job)
        read = self.loads(type(job), text)
        if not have_equal_fields(job, read):
            _refuse(altered(job, read))
        return text

    def loads(self, job_type: type[AnyJob], text: str) -> AnyJob:
        """
        The job that a text describes.
        """
        try:
            return _built(job_type).model_validate_json(text)
        except ValidationError as error:
            raise InvalidJobError(_problems(error)) from error
        except Exception as error:
            # A validator's own fault would otherwise be retried, and take a batch's other jobs with it.
            raise InvalidJobError([FieldProblem("payload", _fault("model", error))]) from error


def _built(job_type: type[AnyJob]) -> type[AnyJob]:
    """
    The model with its validator. Threads ask for it at once, and not every pydantic builds one safely for several.
    """
    if not job_type.__pydantic_complete__:
        with _BUILDING:
            job_type.model_rebuild()
    return job_type


class CheckedSerializer:
    """
    A serializer of the app's own, held to its contract: strict JSON text, and no fault but that of the one job.
    """

    def __init__(self, serializer: JobSerializer) -> None:
        self._serializer = serializer

    def dumps(self, job: Job) -> str:
        """
        The job as JSON text.
        """
        with _faults_refused():
            text = self._serializer.dumps(job)
        if not isinstance(text, str):
            _refuse([FieldProblem("payload", f"must be JSON text; the serializer gave a {type(text).__name__}")])
        if (problem := field_problem_of_json(text)) is not None:
            _refuse([problem])
        return text

    def loads(self, job_type: type[AnyJob], text: str) -> AnyJob:
        """
        The job that a text describes.
        """
        with _faults_refused():
            return self._serializer.loads(job_type, text)


@contextmanager
def _faults_refused() -> Iterator[None]:
    try:
        yield
    except InvalidJobError:
        raise
    except Exception as error:
        raise InvalidJobError([FieldProblem("payload", _fault("serializer", error))]) from error


_RULES: Mapping[str, str] = {
    "extra_forbidden": "there is no such field; mind the spelling, or leave it out",
    "model_type": "must be a JSON object",
    "timezone_aware": "needs a time zone, as in 2030-05-10T12:00:00Z",
}
"""What pydantic says in words of Python, by its types of errors."""


MAX_NAME, MAX_RULE = 200, 2_000
"""
Characters of a caller's name for a field, and of a validator's words, that an error repeats: both may hold what was
sent, and each of a hundred errors names the whole way to its field.
"""


def rule_of(problem: ErrorDetails) -> str:
    """
    What pydantic found as a rule for whoever sent it: without the prefix that stands before a validator's own words.
    """
    return _RULES.get(problem["type"]) or _cut(problem["msg"].removeprefix("Value error, "), MAX_RULE)


def path_of(problem: ErrorDetails, *above: str) -> str:
    """
    Where pydantic found it, as names with dots between them.
    """
    return ".".join([*above, *(_cut(str(part), MAX_NAME) for part in problem["loc"])])


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _problems(error: ValidationError) -> Iterator[FieldProblem]:
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        yield FieldProblem(path_of(problem, "payload"), rule_of(problem))


def _fault(culprit: str, error: Exception) -> str:
    """
    Where the app's own code failed. Without the error's text, since that may hold values of the payload.
    """
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    place = f"{PurePath(frame.f_code.co_filename).name}:{line}"
    return f"could not be judged: the {culprit} failed with {type(error).__name__} at {place}"


def _written(job: Job) -> str:
    try:
        return _dump(job)
    except (PydanticSerializationError, ValueError) as error:
        raise InvalidJobError([FieldProblem(_culprit(job), f"cannot be written as JSON: {error}")]) from error


def _dump(job: Job, *fields: str) -> str:
    """
    The job, or some of its fields, as strict JSON text. What is derived from other fields is left out.
    """
    ordered = with_ordered_sets(job)
    text = ordered.model_dump_json(by_alias=True, round_trip=True, warnings=False, include=set(fields) or None)
    if "NaN" in text or "Infinity" in text:
        json.loads(text, parse_constant=_refuse_constant)
    return text


def _culprit(job: Job) -> str:
    """
    The path of the first field that cannot be written.
    """
    for name in type(job).model_fields:
        try:
            _dump(job, name)
        except (PydanticSerializationError, ValueError):
            return f"payload.{name}"
    return "payload"


def _refuse(problems: Iterable[FieldProblem]) -> None:
    rest = iter(problems)
    if (first := next(rest, None)) is not None:
        raise InvalidJobError(chain([first], rest))


class StoredResult(Value):
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
        _refuse(unwritable(value, "result"))
        text = to_json(value, inf_nan_mode="constants").decode()
        if "NaN" in text or "Infinity" in text:
            json.loads(text, parse_constant=_refuse_constant)
    except (InvalidJobError, PydanticSerializationError, ValueError, RecursionError) as error:
        return StoredResult(None, f"the result of type {type(value).__name__} is not JSON: {str(error)[:200]}")
    size = len(text.encode())
    if size > max_bytes:
        return StoredResult(None, f"the result is {size} bytes of JSON; the limit is {max_bytes}")
    return StoredResult(text)


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)
