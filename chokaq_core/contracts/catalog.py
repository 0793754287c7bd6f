"""
Type resolution: from a type key to its registration, and from a job object to its type key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chokaq_core.contracts.idempotent import IdempotentJob, type_problem
from chokaq_core.contracts.job import Job
from chokaq_core.contracts.profile import Registration, identity_of, pipe_registration
from chokaq_core.domain.errors import FieldProblem, InvalidJobError, RegistrationError
from chokaq_core.policy.idempotency import IdempotencyRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import timedelta

    from chokaq_core.contracts.profile import Profile


class Catalog:
    """
    All registrations of one app. Rows name types by key, and nothing is ever imported because a row names it.

    Args:
        profiles: the app's profiles.
        pipe: one handler `(type_key, payload_text, ctx)` for every job, instead of profiles.
        require_registered_types: refuse handlers without a type key of their own.
        idempotency: bounds for what protected jobs may ask.

    Raises:
        RegistrationError: a key or a model is registered twice, a key is missing, or pipe and profiles are mixed.
    """

    def __init__(
        self,
        profiles: Iterable[Profile] = (),
        *,
        pipe: Callable[..., Any] | None = None,
        require_registered_types: bool = True,
        idempotency: IdempotencyRules | None = None,
    ) -> None:
        self._idempotency = idempotency if idempotency is not None else IdempotencyRules()
        self._pipe = pipe_registration(pipe) if pipe is not None else None
        self._by_key: dict[str, Registration] = {}
        self._by_model: dict[type[Job], Registration] = {}
        for profile in profiles:
            for registration in profile:
                self._add(registration, require_registered_types=require_registered_types)
        if self._pipe is not None and self._by_key:
            msg = "pipe mode takes every job with one handler; remove the profiles or the pipe handler"
            raise RegistrationError(msg)

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._by_key.values())

    @property
    def pipe(self) -> Registration | None:
        """
        The pipe-mode registration, or None.
        """
        return self._pipe

    def timeouts(self) -> dict[str, timedelta]:
        """
        The timeouts of the registrations that have one of their own, by type key.
        """
        return {key: entry.timeout for key, entry in self._by_key.items() if entry.timeout is not None}

    def find(self, type_key: str) -> Registration | None:
        """
        The registration for a type key by exact characters, or None when this app does not know it.
        """
        return self._pipe if self._pipe is not None else self._by_key.get(type_key)

    def of(self, job: Job) -> Registration:
        """
        The registration for a job object's own class.

        Raises:
            InvalidJobError: its class has no handler here.
        """
        registration = self._by_model.get(type(job))
        if registration is None:
            raise InvalidJobError([FieldProblem("type", _rule_for(job), "unknown_type")])
        return registration

    def require(self, type_key: str) -> Registration:
        """
        The registration for a type key.

        Raises:
            InvalidJobError: this app does not know the key.
        """
        registration = self.find(type_key)
        if registration is None:
            advice = "mind the spelling, or register a handler for it"
            rule = f"{type_key[:255]!a} is not a registered type of this app; {advice}"
            raise InvalidJobError([FieldProblem("type", rule, "unknown_type")])
        return registration

    def _add(self, registration: Registration, *, require_registered_types: bool) -> None:
        key, model = registration.type_key, registration.job_type
        if require_registered_types and not registration.has_own_key:
            msg = f"handler of {key!r} needs a type key, or TypeResolution.RequireRegisteredJobTypes=false"
            raise RegistrationError(msg)
        if key in self._by_key:
            msg = f"type key {key!r} has two handlers; every key has exactly one"
            raise RegistrationError(msg)
        if model is None or model in self._by_model:
            msg = f"{key!r}: model {model} already belongs to another type key; every key has a model of its own"
            raise RegistrationError(msg)
        if issubclass(model, IdempotentJob) and (problem := type_problem(model, self._idempotency)):
            msg = f"handler of {key!r}: {problem}"
            raise RegistrationError(msg)
        self._by_key[key] = registration
        self._by_model[model] = registration


def _rule_for(job: object) -> str:
    if isinstance(job, Job):
        return f"{identity_of(type(job))} has no registered handler; register it in a profile of this app"
    shown = f"the class {job.__name__} itself" if isinstance(job, type) else f"a {type(job).__name__}"
    return f"give an object of a registered class of jobs; got {shown}"
