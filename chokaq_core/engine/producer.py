"""
From a caller's job to a stored row: typed, checked, written, and a wake sent.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from chokaq_core.contracts.idempotent import IdempotentJob, job_problems
from chokaq_core.contracts.request import JobRequest, RawRequest
from chokaq_core.domain.errors import FieldProblem, InvalidJobError, KeyConflictError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.job import EnqueueResult, NewJob, new_job_id
from chokaq_core.domain.value import replace
from chokaq_core.policy.envelope import (
    Envelope,
    EnvelopeLimits,
    envelope_problems,
    field_problem_of_json,
    payload_problems,
    seal,
)
from chokaq_core.ports import MAX_BATCH, EnqueueItem, EnqueueOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.job import Job
    from chokaq_core.contracts.profile import Registration
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.engine.home import Home
    from chokaq_core.engine.waker import Waker
    from chokaq_core.policy.idempotency import IdempotencyRules
    from chokaq_core.ports import EnqueueAnswer, Events, JobStore, Tracing

Accepted = EnqueueResult | InvalidJobError
"""What an item of a batch came to."""

_CREATED: Final = EnqueueOutcome.CREATED
_TOLD = {_CREATED: EventName.JOB_ENQUEUED, EnqueueOutcome.DUPLICATE: EventName.ENQUEUE_DUPLICATE_SKIPPED}


class Producer:
    """
    Accepts jobs. Safe to use from any thread; one for each process.
    """

    def __init__(
        self,
        *,
        store: JobStore,
        catalog: Catalog,
        serializer: JobSerializer,
        limits: EnvelopeLimits,
        idempotency: IdempotencyRules,
        waker: Waker,
        events: Events,
        tracing: Tracing,
        home: Home,
        on_stored: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._serializer = serializer
        self._limits = limits
        self._idempotency = idempotency
        self._waker = waker
        self._events = events
        self._tracing = tracing
        self._home = home
        self._on_stored = on_stored

    def enqueue(
        self,
        job: Job,
        *,
        queue: str | None = None,
        priority: int | None = None,
        delay: timedelta | None = None,
        due_at: datetime | None = None,
        idempotency_key: str | None = None,
        tags: str | None = None,
        created_by: str | None = None,
        job_id: str | None = None,
    ) -> EnqueueResult:
        """
        Stores one job; when this returns it will run, wait for a retry, or be visible in the DLQ.

        Args:
            job: an instance of a class that has a registered handler.
            queue: 1 to 255 of a-z, 0-9, '.', '_', '-'; None means the registration's.
            priority: 0 to 1 000 000, higher first; None means the registration's.
            delay: wait before the first run; not together with `due_at`.
            due_at: earliest first run, with a time zone; one in the past counts as now.
            idempotency_key: at most 255 characters; while an active job holds the key, the same job again is a
                duplicate of it and nothing is written.
            tags: free text for searches, at most 1000 characters.
            created_by: who asks, at most 100 characters.
            job_id: an id of the caller's own, 1 to 50 of A-Z, a-z, 0-9, '.', '_', '~', '-'; makes a repeat safe.

        Raises:
            InvalidJobError: refused; every problem is listed and nothing was written.
            KeyConflictError: the key is held by an active job of another type or payload.
            StoreError: the database did not take it; repeat the call, with a job_id to be sure of one job.
        """
        request = JobRequest(job, queue, priority, delay, due_at, idempotency_key, tags, created_by, job_id)
        return _one(self.enqueue_many([request]))

    def enqueue_many(self, requests: Iterable[Job | JobRequest | RawRequest]) -> list[Accepted]:
        """
        Stores many jobs; answers one entry for each, in order: a result, or the error that refused it.

        Each 1000 accepted jobs are one transaction. An empty list does nothing.

        Raises:
            StoreError: the database did not take a batch; earlier batches are stored.
            ForkedEngineError: this process was forked from the one that the engine was built in.
        """
        self._home.check()
        jobs: list[NewJob] = []
        places: list[int] = []
        refusals: dict[int, Accepted] = {}
        for place, request in enumerate(requests):
            try:
                jobs.append(self._seal(request))
                places.append(place)
            except InvalidJobError as error:
                refusals[place] = error
        batches = (self._store_batch(jobs[start : start + MAX_BATCH]) for start in range(0, len(jobs), MAX_BATCH))
        stored = list(chain.from_iterable(batches))
        if not refusals:
            return stored
        answers = refusals | dict(zip(places, stored, strict=True))
        return [answers[place] for place in range(len(answers))]

    def enqueue_raw(self, request: RawRequest) -> EnqueueResult:
        """
        Stores one job given as type key and JSON text, as it comes over HTTP.

        Raises:
            InvalidJobError: refused, as in `enqueue`.
        """
        return _one(self.enqueue_many([request]))

    def stored_text(self, type_key: str, payload: str) -> str:
        """
        The text that a payload is stored as, for changing the payload of a stored job.

        Raises:
            InvalidJobError: a new job of this type and payload would be refused.
        """
        text = self._raw_text(self._catalog.require(type_key), payload)
        # The model may have filled in fields that the given text left out.
        if problems := list(payload_problems(text, self._limits)):
            raise InvalidJobError(problems)
        return text

    def _seal(self, request: Job | JobRequest | RawRequest) -> NewJob:
        if isinstance(request, RawRequest):
            registration = self._catalog.require(request.type_key)
            text = partial(self._raw_text, registration, request.payload)
            return self._sealed(request.type_key, text, registration, request)
        options = request if isinstance(request, JobRequest) else JobRequest(request)
        registration = self._catalog.of(options.job)
        return self._sealed(registration.type_key, partial(self._text_of, options.job), registration, options)

    def _sealed(
        self, type_key: str, text: Callable[[], str], registration: Registration, options: JobRequest | RawRequest
    ) -> NewJob:
        refusal = None
        try:
            payload = text()
        except InvalidJobError as error:
            refusal, payload = error, ""
        envelope = Envelope(
            type_key=type_key,
            payload=payload,
            queue=options.queue if options.queue is not None else registration.queue,
            priority=options.priority if options.priority is not None else registration.priority,
            delay=options.delay,
            due_at=options.due_at,
            idempotency_key=options.idempotency_key,
            tags=options.tags,
            created_by=options.created_by,
            job_id=options.job_id,
        )
        if refusal is not None:
            # What is wrong with the rest is told in the same answer.
            raise refusal.joined(envelope_problems(envelope, self._limits)) from refusal
        return seal(envelope, self._limits, new_job_id())

    def _raw_text(self, registration: Registration, payload: str) -> str:
        """
        What the model makes of a payload's text, so that the same job is stored as the same text whoever sends it.
        """
        problems = list(payload_problems(payload, self._limits))
        if not problems and (problem := field_problem_of_json(payload)) is not None:
            problems = [problem]
        if problems:
            raise InvalidJobError(problems)
        if registration.job_type is None:
            return payload
        return self._text_of(self._serializer.loads(registration.job_type, payload))

    def _text_of(self, job: Job) -> str:
        """
        The job's text; a protected job's key and lifetime are looked at while it can still be refused.
        """
        text = self._serializer.dumps(job)
        if isinstance(job, IdempotentJob) and (problems := list(job_problems(job, self._idempotency))):
            raise InvalidJobError(problems)
        return text

    def _store_batch(self, jobs: Sequence[NewJob]) -> list[Accepted]:
        with self._tracing.enqueuing(jobs) as trace_parent:
            if trace_parent is not None:
                jobs = [replace(job, trace_parent=trace_parent) for job in jobs]
            answer = self._store.enqueue(jobs)
        self._publish(jobs, answer)
        self._wake(jobs, answer)
        return list(map(_accepted, answer.items))

    def _publish(self, jobs: Sequence[NewJob], answer: EnqueueAnswer) -> None:
        self._events.publish(
            [
                Event(name, JobRef(item.job_id, job.type_key, job.queue))
                for job, item in zip(jobs, answer.items, strict=True)
                if (name := _TOLD.get(item.outcome)) is not None
            ]
        )

    def _wake(self, jobs: Sequence[NewJob], answer: EnqueueAnswer) -> None:
        """
        Sees to it that somebody comes for what was created.
        """
        is_due = any(
            item.outcome is _CREATED and job.is_due_at_once for job, item in zip(jobs, answer.items, strict=True)
        )
        if is_due:
            self._on_stored()
        self._waker.enqueued(
            is_due=answer.is_claimable, is_worker_looking=answer.is_worker_looking, wake_in=answer.wake_in
        )


def _accepted(item: EnqueueItem) -> Accepted:
    if item.outcome is _CREATED:
        return EnqueueResult(item.job_id)
    match item.outcome:
        case EnqueueOutcome.DUPLICATE:
            return EnqueueResult(item.job_id, is_duplicate=True)
        case EnqueueOutcome.KEY_CONFLICT:
            return KeyConflictError(item.job_id)
        case EnqueueOutcome.ID_TAKEN:
            rule = f"a job with id {item.job_id} exists with another type or payload; choose another id"
            return InvalidJobError([FieldProblem("id", rule, "exists")])


def _one(answers: list[Accepted]) -> EnqueueResult:
    answer = answers[0]
    if isinstance(answer, InvalidJobError):
        raise answer
    return answer
