"""
The idempotency middleware: outermost around handlers of protected jobs, it runs the work behind a key once.
"""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from chokaq_core.contracts.serializer import stored_result
from chokaq_core.domain.errors import FatalJobError, JobPostponedError, StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.value import Value
from chokaq_core.engine.chain import Entry, await_call, refuse_unawaited
from chokaq_core.policy.idempotency import IN_PROGRESS_DELAY, IdempotencyRules, key_problem, lifetime
from chokaq_core.ports import Claim, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.contracts.context import JobContext
    from chokaq_core.contracts.idempotent import IdempotentJob
    from chokaq_core.engine.chain import Bridge
    from chokaq_core.engine.run import Run
    from chokaq_core.policy.envelope import EnvelopeLimits
    from chokaq_core.ports import ClaimStore, Events


class _Work(Value):
    """
    A run that is about to do the work behind a key, and how long its result will be remembered.
    """

    run: Run
    claim: Claim
    result_ttl: timedelta | None


class _Done(Value):
    """
    Work that was done before, with its result.
    """

    result: str | None

    def value(self) -> Any:  # noqa: ANN401 - whatever the JSON says
        return None if self.result is None else json.loads(self.result)


class Idempotency:
    """
    Claims a job's key before its handler runs, completes it after a success, releases it after anything else.
    """

    def __init__(self, claims: ClaimStore, rules: IdempotencyRules, limits: EnvelopeLimits, events: Events) -> None:
        self._claims = claims
        self._rules = rules
        self._limits = limits
        self._events = events

    def around(self, entry: Entry, bridge: Bridge) -> Entry:
        """
        The guarded entry, of the same colour.
        """
        if entry.is_async:
            return Entry(partial(self._run_async, entry.call, bridge), is_async=True)
        return Entry(partial(self._run, entry.call), is_async=False)

    def _run(self, call: Callable[..., Any], run: Run, job: IdempotentJob, ctx: JobContext) -> Any:  # noqa: ANN401
        begun = self._begin(run, job)
        if not isinstance(begun, _Work):
            return begun.value() if begun is not None else call(run, job, ctx)
        try:
            value = call(run, job, ctx)
            refuse_unawaited(value)
        except BaseException as error:
            self._give_up(begun, error)
            raise
        self._finish(begun, value)
        return value

    async def _run_async(
        self, call: Callable[..., Any], bridge: Bridge, run: Run, job: IdempotentJob, ctx: JobContext
    ) -> Any:  # noqa: ANN401 - whatever the handler returns
        begun = await await_call(bridge, partial(self._begin, run, job))
        if not isinstance(begun, _Work):
            return begun.value() if begun is not None else await call(run, job, ctx)
        try:
            run.raise_if_told_to_stop()
            value = await call(run, job, ctx)
            refuse_unawaited(value)
        except BaseException as error:
            await await_call(bridge, partial(self._give_up, begun, error))
            raise
        await await_call(bridge, partial(self._finish, begun, value))
        return value

    def _begin(self, run: Run, job: IdempotentJob) -> _Work | _Done | None:
        """
        The work to do, or what it came to before; None where nothing is protected.

        Raises:
            JobPostponedError: another job does the work now, or nobody can tell.
        """
        key = job.idempotency_key
        if problem := key_problem(key):
            raise FatalJobError(f"idempotency_key {problem}")
        if not key.strip():
            self._tell(run, "empty_key")
            return None
        work = _Work(run, Claim(run.job.type_key, key, run.lease.job_id), lifetime(job.result_ttl, self._rules))
        return self._claim(work)

    def _claim(self, work: _Work) -> _Work | _Done:
        try:
            answer = self._claims.claim_key(work.claim, self._rules.in_progress_ttl)
        except StoreError as error:
            raise JobPostponedError(f"the claim store does not answer: {error}", IN_PROGRESS_DELAY) from error
        match answer.state:
            case ClaimState.CLAIMED:
                self._tell(work.run, "claimed")
                return work
            case ClaimState.COMPLETED:
                self._tell(work.run, "completed_duplicate")
                return _Done(answer.result)
            case ClaimState.IN_PROGRESS:
                self._tell(work.run, "in_progress_duplicate")
                raise JobPostponedError("another job with the same idempotency key runs now", IN_PROGRESS_DELAY)

    def _finish(self, work: _Work, value: object) -> None:
        """
        Completes the claim. Whatever becomes of that, the job has succeeded.
        """
        result = stored_result(value, self._limits.max_payload_bytes)
        try:
            is_completed = self._claims.complete_key(work.claim, result.text, work.result_ttl)
        except StoreError as error:
            self._tell(work.run, "complete_conflict", error)
            return
        self._tell(work.run, "completed" if is_completed else "complete_conflict")

    def _give_up(self, work: _Work, error: BaseException) -> None:
        """
        Releases the claim after a failure, which stays the job's error whatever becomes of that.
        """
        try:
            is_released = self._claims.release_key(work.claim)
        except StoreError as lost:
            error.add_note(f"its idempotency claim could not be released and ends by itself: {lost}")
            return
        if is_released:
            self._tell(work.run, "released")

    def _tell(self, run: Run, claim: str, error: StoreError | None = None) -> None:
        self._events.publish([Event(EventName.IDEMPOTENCY_CLAIM_ANSWERED, run.ref, {"claim": claim}, error)])
