"""
Which handler runs which type of job, and under which rules.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from chokaq_core.contracts.handler_shape import check_pipe, is_async, model_of, wants_context
from chokaq_core.contracts.job import Job
from chokaq_core.contracts.model_rules import check_model
from chokaq_core.domain.errors import RegistrationError
from chokaq_core.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE
from chokaq_core.domain.value import Value, field
from chokaq_core.policy.classify import ErrorRules
from chokaq_core.policy.envelope import MAX_PRIORITY, QUEUE_NAME, TYPE_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Handler = TypeVar("Handler", bound="Callable[..., Any]")


class Registration(Value):
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
            model = model_of(function, job_type)
            key = type_key if type_key is not None else identity_of(model)
            registration = Registration(
                type_key=key,
                job_type=model,
                handler=function,
                is_async=is_async(function),
                wants_context=wants_context(function),
                has_own_key=type_key is not None,
                queue=queue,
                priority=priority,
                max_attempts=max_attempts,
                timeout=timeout,
                errors=ErrorRules(fatal, transient),
                rerun_after_loss=rerun_after_loss,
            )
            _check(registration)
            check_model(key, model)
            self._registrations.append(registration)
            return function

        return register


def pipe_registration(handler: Callable[..., Any]) -> Registration:
    """
    The registration of a pipe-mode handler: `(type_key, payload_text, ctx)` for every job.

    Raises:
        RegistrationError: it cannot be called in that way.
    """
    check_pipe(handler)
    return Registration("*", None, handler, is_async=is_async(handler))


def identity_of(job_type: type[Job]) -> str:
    """
    The fallback name of a class: its import path. It changes with every rename, so a type key is better.
    """
    return f"{job_type.__module__}:{job_type.__qualname__}"


def _check(registration: Registration) -> None:
    for is_broken, rule in _rules(registration):
        if is_broken:
            msg = f"handler of {registration.type_key!r}: {rule}"
            raise RegistrationError(msg)


def _rules(registration: Registration) -> Iterator[tuple[bool, str]]:
    key, queue, timeout = registration.type_key, registration.queue, registration.timeout
    errors = (registration.errors.fatal, registration.errors.transient)
    yield not _is_text(key, TYPE_KEY), "a type key has 1 to 255 printable ASCII characters without blanks"
    yield not _is_text(queue, QUEUE_NAME), f"queue {queue!r} must match {QUEUE_NAME.pattern}"
    yield not _is_whole(registration.priority, 0, MAX_PRIORITY), f"priority must be 0 to {MAX_PRIORITY}"
    yield (
        registration.max_attempts is not None and not _is_whole(registration.max_attempts, 1),
        "max_attempts must be at least 1",
    )
    yield timeout is not None and not _is_positive(timeout), "timeout must be a positive timedelta"
    yield not all(_are_exceptions(classes) for classes in errors), "fatal and transient are tuples of exception classes"


def _is_text(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_whole(value: object, least: int, most: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_positive(value: object) -> bool:
    return isinstance(value, timedelta) and value > timedelta(0)


def _are_exceptions(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, type) and issubclass(item, BaseException) for item in value
    )
