"""
What the rescue timer does: gives back what was fetched and forgotten, buries what lost its worker.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value
from chokaq_core.policy.circuit import permits_released
from chokaq_core.policy.rescue import RescueRules, Suspect, loss_error, may_bury, verdict_on
from chokaq_core.ports import Burial, JobStore, OperatorStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.policy.backoff import RetryRules
    from chokaq_core.ports import Events, MovedJob

RESCUE_TIMER = "rescue"
RESCUE_BATCH = 200


class RescueReport(Value):
    """
    What a rescue scan did.
    """

    is_armed: bool
    recovered: int = 0
    buried: int = 0

    def __str__(self) -> str:
        return "armed" if self.is_armed else f"{self.recovered} recovered, {self.buried} buried"


class RescuedStore(JobStore, OperatorStore, Protocol):
    """
    What rescue needs of a store.
    """


class Rescue:
    """
    Gives back what was fetched and forgotten; buries, or retries, what lost its worker.
    """

    def __init__(
        self, store: RescuedStore, catalog: Catalog, rules: RescueRules, retry: RetryRules, events: Events
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._rules = rules
        self._retry = retry
        self._events = events

    def scan(self) -> RescueReport:
        """
        One scan. Safe to run twice at once, and repeatable at any point.

        Raises:
            StoreError: the database is away; the next scan goes on.
        """
        try:
            timer = self._store.timer_started(RESCUE_TIMER)
            report = self._rescue(timer.now, timer.last_succeeded_at)
            self._store.timer_finished(RESCUE_TIMER, str(report), has_succeeded=True)
        except StoreError as error:
            self._events.publish([Event(EventName.ZOMBIE_RESCUE_CYCLE_FAILED, error=error)])
            raise
        return report

    def _rescue(self, now: datetime, last_succeeded_at: datetime | None) -> RescueReport:
        if not may_bury(self._rules, now=now, last_succeeded_at=last_succeeded_at):
            self._events.publish([Event(EventName.ZOMBIE_RESCUE_ARMED)])
            return RescueReport(is_armed=True)
        recovered = self._repeat(self._recover)
        buried = self._repeat(self._bury)
        facts = {"recovered": recovered, "buried": buried}
        self._events.publish([Event(EventName.ZOMBIE_RESCUE_STARTED, facts=facts)])
        return RescueReport(is_armed=False, recovered=recovered, buried=buried)

    @staticmethod
    def _repeat(step: Callable[[], int]) -> int:
        """
        Takes batches until one was not full.
        """
        total = 0
        while (count := step()) > 0:
            total += count
            if count < RESCUE_BATCH:
                break
        return total

    def _recover(self) -> int:
        circuits = self._store.circuits()
        moved = self._store.recover(self._rules.fetched_job_timeout, RESCUE_BATCH)
        events = [Event(EventName.ABANDONED_JOBS_RECOVERED, _moved_ref(job)) for job in moved]
        self._events.publish([*events, *permits_released(circuits, [job.job_id for job in moved])])
        return len(moved)

    def _bury(self) -> int:
        suspects = self._store.suspects(self._rules.processing_zombie_timeout, RESCUE_BATCH)
        burials = [self._judge(suspect, suspects.now) for suspect in suspects.jobs]
        if not burials:
            return 0
        circuits = self._store.circuits()
        applied = self._store.bury(burials)
        buried = [burial for burial, is_applied in zip(burials, applied, strict=True) if is_applied]
        released = permits_released(circuits, [burial.suspect.job_id for burial in buried])
        self._events.publish([*(_burial_event(burial) for burial in buried), *released])
        return len(buried)

    def _judge(self, suspect: Suspect, now: datetime) -> Burial:
        registration = self._catalog.find(suspect.type_key)
        own = registration.max_attempts if registration is not None else None
        verdict = verdict_on(
            suspect,
            self._retry,
            rerun_after_loss=registration is not None and registration.rerun_after_loss,
            max_attempts=own or self._retry.max_attempts,
            now=now,
            roll=random.random(),  # noqa: S311 - jitter, not a secret
        )
        return Burial(suspect, verdict, loss_error(suspect))


def _burial_event(burial: Burial) -> Event:
    suspect = burial.suspect
    ref = JobRef(suspect.job_id, suspect.type_key, suspect.queue, attempt=suspect.attempt, worker_id=suspect.worker_id)
    facts: dict[str, object] = {"heartbeat_at": suspect.heartbeat_at.isoformat()}
    if burial.verdict.move is Move.RETRY and burial.verdict.delay is not None:
        facts["delay_s"] = burial.verdict.delay.total_seconds()
        return Event(EventName.JOB_TRANSIENT_RETRY_SCHEDULED, ref, facts | {"error_type": burial.error.type})
    return Event(EventName.ZOMBIE_JOBS_ARCHIVED, ref, facts | {"reason": "Zombie"})


def _moved_ref(job: MovedJob) -> JobRef:
    return JobRef(job.job_id, job.type_key, job.queue, attempt=job.attempt, worker_id=job.worker_id)
