"""
Which handler runs which type of job, and under which rules.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from pydantic.errors import PydanticInvalidForJsonSchema

from chokaq_core.contracts.job import Job
from chokaq_core.domain.errors import RegistrationError
from chokaq_core.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE
from chokaq_core.policy.classify import ErrorRules
from chokaq_core.policy.envelope import MAX_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Handler = TypeVar("Handler", bound="Callable[..., Any]")

_TYPE_KEY = re.compile(r"[!-~]{1,255}")
_QUEUE = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")


@dataclass(frozen=True, slots=True)
class Registration:
    """
    One handler with its rules.

    Attributes:
        type_key: persisted name of the type.
        job_type: the payload's model; None in pipe mode, where the handler gets the text.
        has_own_key: False when the key is only the class's import path, see `TypeResolution.RequireRegisteredJobTypes`.
        is_async: whether the handler is `async def`.
        wants_context: whether it takes the context as its last argument.
    """

    type_key: str
    job_type: type[Job] | None
    handler: Callable[..., Any]
    is_async: bool
    wants_context: bool = True
    has_own_key: bool = True
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    max_attempts: int | None = None
    timeout: timedelta | None = None
    errors: ErrorRules = field(default_factory=ErrorRules)
    rerun_after_loss: bool = False


class Profile:
    """
    A named set of handlers, written at import time and handed to the app.

        mailing = Profile("mailing")

        @mailing.handler("email.send.v1", queue="mail", max_attempts=5)
        def send(job: SendEmail, ctx: JobContext) -> None: ...
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._registrations: list[Registration] = []

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._registrations)

    def handler(
        self,
        type_key: str | None = None,
        *,
        job_type: type[Job] | None = None,
        queue: str = DEFAULT_QUEUE,
        priority: int = DEFAULT_PRIORITY,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
        fatal: tuple[type[BaseException], ...] = (),
        transient: tuple[type[BaseException], ...] = (),
        rerun_after_loss: bool = False,
    ) -> Callable[[Handler], Handler]:
        """
        Registers a function as the handler of one type of job.

        Args:
            type_key: persisted name, 1 to 255 printable ASCII characters, by custom `area.verb.v1`. Without it the
                class's import path is used, which only `TypeResolution.RequireRegisteredJobTypes=false` accepts.
            job_type: the payload's model; read from the first argument's annotation when left out.
            queue: default queue for jobs of this type.
            priority: default priority, 0 to 1 000 000, higher first.
            max_attempts: runs in all; None means `Retry.MaxAttempts`.
            timeout: wall-clock limit; None means the queue's, else `Execution.DefaultTimeout`.
            fatal: exception types that are never retried.
            transient: exception types that are retried though a rule says otherwise.
            rerun_after_loss: "this handler is idempotent": a run whose worker was lost is retried as a failed attempt
                instead of waiting in the DLQ for a person.

        Raises:
            RegistrationError: the declaration breaks a rule.
        """

        def register(function: Handler) -> Handler:
            model = job_type if job_type is not None else _annotated_model(function)
            key = type_key if type_key is not None else identity_of(model)
            registration = Registration(
                type_key=key,
                job_type=model,
                handler=function,
                is_async=_is_async(function),
                wants_context=_wants_context(function, key),
                has_own_key=type_key is not None,
                queue=queue,
                priority=priority,
                max_attempts=max_attempts,
                timeout=timeout,
                errors=ErrorRules(fatal, transient),
                rerun_after_loss=rerun_after_loss,
            )
            _check(registration)
            self._registrations.append(registration)
            return function

        return register


def pipe_registration(handler: Callable[..., Any]) -> Registration:
    """
    The registration of a pipe-mode handler: `(type_key, payload_text, ctx)` for every job.
    """
    return Registration("*", None, handler, is_async=_is_async(handler))


def identity_of(job_type: type[Job]) -> str:
    """
    The fallback name of a class: its import path. It changes with every rename, so a type key is better.
    """
    return f"{job_type.__module__}:{job_type.__qualname__}"


def _annotated_model(function: Callable[..., Any]) -> type[Job]:
    name = getattr(function, "__qualname__", repr(function))
    parameters = list(inspect.signature(function).parameters)
    try:
        model = get_type_hints(function).get(parameters[0]) if parameters else None
    except NameError as error:
        msg = f"handler {name}: the annotation of its first argument cannot be resolved ({error}); pass job_type="
        raise RegistrationError(msg) from error
    if not (isinstance(model, type) and issubclass(model, Job)):
        msg = f"handler {name}: annotate its first argument with a subclass of Job, or pass job_type="
        raise RegistrationError(msg)
    return model


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _wants_context(function: Callable[..., Any], type_key: str) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    required = [p for p in positional if p.default is inspect.Parameter.empty]
    if len(required) > 2 or not positional:  # noqa: PLR2004 - the job and the context
        msg = f"handler of {type_key}: takes {len(required)} arguments; it is called with (job, ctx) or (job)"
        raise RegistrationError(msg)
    return len(positional) > 1


def _check(registration: Registration) -> None:
    key = registration.type_key
    problems = [
        (_TYPE_KEY.fullmatch(key) is None, "a type key has 1 to 255 printable ASCII characters without blanks"),
        (_QUEUE.fullmatch(registration.queue) is None, f"queue {registration.queue!r} must match {_QUEUE.pattern}"),
        (not 0 <= registration.priority <= MAX_PRIORITY, f"priority must be 0 to {MAX_PRIORITY}"),
        (registration.max_attempts is not None and registration.max_attempts < 1, "max_attempts must be at least 1"),
        (registration.timeout is not None and registration.timeout <= timedelta(0), "timeout must be positive"),
    ]
    for is_broken, rule in problems:
        if is_broken:
            msg = f"handler of {key!r}: {rule}"
            raise RegistrationError(msg)
    if registration.job_type is not None:
        _check_model(key, registration.job_type)


def _check_model(key: str, model: type[Job]) -> None:
    for name, info in model.model_fields.items():
        read, written = info.validation_alias, info.serialization_alias
        if written is not None and read is not None and read != written:
            msg = f"handler of {key!r}: field {name} is written as {written!r} but read as {read!r}; give one alias"
            raise RegistrationError(msg)
    try:
        secret = _secret_path(model.model_json_schema(mode="serialization"))
    except PydanticInvalidForJsonSchema as error:
        msg = f"handler of {key!r}: {model.__name__} cannot travel as JSON: {error.message}"
        raise RegistrationError(msg) from error
    if secret is not None:
        msg = f"handler of {key!r}: {secret} is a secret type; operators read payloads, send its name instead"
        raise RegistrationError(msg)


def _secret_path(schema: object, path: str = "the payload") -> str | None:
    """
    Where in a JSON schema a secret hides, or None; pydantic marks secrets as write-only.
    """
    if isinstance(schema, list):
        return next((found for item in schema if (found := _secret_path(item, path))), None)
    if not isinstance(schema, dict):
        return None
    if schema.get("writeOnly") is True:
        return path
    return next((found for name, item in _children(schema) if (found := _secret_path(item, name))), None)


def _children(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, item in schema.items():
        if name in ("properties", "$defs") and isinstance(item, dict):
            yield from ((f"field {child}", value) for child, value in item.items())
        else:
            yield name, item
