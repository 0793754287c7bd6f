"""
Jobs whose work is done once for each key, however many jobs ask for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import timedelta

from chokaq_core.contracts.job import Job
from chokaq_core.domain.errors import FieldProblem
from chokaq_core.policy.idempotency import IdempotencyRules, key_problem, result_ttl_problem


class IdempotentJob(Job):
    """
    A job whose work is done once for each key, however many jobs ask for it.

    While one job runs, others with its key wait. Once one has succeeded, the others are archived with its result, and
    their handlers are not run.

        class ChargeOrder(IdempotentJob):
            result_ttl: ClassVar[timedelta | None] = timedelta(days=30)
            order_id: str

            @property
            def idempotency_key(self) -> str:
                return self.order_id

    The key belongs to the type: jobs of other types may use the same one.
    """

    @property
    def idempotency_key(self) -> str:
        """
        Names the work, in at most 255 characters. A blank key protects nothing: the handler runs.
        """
        msg = f"{type(self).__name__} must define idempotency_key"
        raise NotImplementedError(msg)

    @property
    def result_ttl(self) -> timedelta | None:
        """
        How long the result is remembered; None leaves it to `Idempotency.DefaultResultTtl`.
        """
        return None


def is_idempotent(job_type: type[Job] | None) -> bool:
    """
    Whether jobs of a type are protected.
    """
    return job_type is not None and issubclass(job_type, IdempotentJob)


def type_problem(job_type: type[Job], rules: IdempotencyRules) -> str | None:
    """
    What can be told to be wrong before any job of a protected type is made: no key, or a lifetime out of bounds.
    """
    if inspect.getattr_static(job_type, "idempotency_key") is inspect.getattr_static(IdempotentJob, "idempotency_key"):
        return f"{job_type.__name__} must define idempotency_key, a property that returns text"
    own = inspect.getattr_static(job_type, "result_ttl")
    if own is inspect.getattr_static(IdempotentJob, "result_ttl"):
        own = None
    is_told_by_each_job = hasattr(type(own), "__get__")
    problem = None if is_told_by_each_job else result_ttl_problem(own, rules)
    return f"{job_type.__name__}.result_ttl {problem}" if problem is not None else None


def job_problems(job: IdempotentJob, rules: IdempotencyRules) -> Iterator[FieldProblem]:
    """
    What is wrong with a job's key and lifetime, to be told while it can still be refused.
    """
    try:
        found = {
            "idempotency_key": key_problem(job.idempotency_key),
            "result_ttl": result_ttl_problem(job.result_ttl, rules),
        }
    except Exception as error:  # noqa: BLE001 - the properties are the user's own code
        found = {"idempotency_key": f"cannot be told: {type(error).__name__}: {error}"}
    yield from (FieldProblem(f"payload.{name}", rule) for name, rule in found.items() if rule is not None)
