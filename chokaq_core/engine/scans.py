"""
What the timers do: rescue what lost its worker, wake workers for what waits, keep the app's own pulse.
"""

from __future__ import annotations

import math
import random
import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.domain.job import Place
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value
from chokaq_core.policy.circuit import permits_released
from chokaq_core.policy.rescue import RescueRules, Suspect, loss_error, may_bury, verdict_on
from chokaq_core.ports import Burial, ClaimStore, JobStore, MaintenanceStore, OperatorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.policy.backoff import RetryRules
    from chokaq_core.policy.retention import RetentionRules
    from chokaq_core.ports import Events, MovedJob, WakeSender

RESCUE_TIMER = "rescue"
POLL_TIMER = "poll"
HEARTBEAT_TIMER = "heartbeat"
MAINTENANCE_TIMER = "maintenance"

RESCUE_BATCH = 200
JOBS_FOR_ONE_WORKER = 500
"""Claimable jobs that one wake stands for."""
FORGET_WORKERS_AFTER = timedelta(days=1)
FORGET_LANES_AFTER = timedelta(days=1)
MAINTENANCE_BUDGET = timedelta(minutes=2)
"""How long one run of the maintenance goes on at most, well within the limit of a function."""


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


class MaintainedStore(JobStore, ClaimStore, MaintenanceStore, Protocol):
    """
    What maintenance needs of a store.
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


class Poll:
    """
    The guarantee behind lost wakes: counts what is claimable, and sends as many wakes as that needs.
    """

    def __init__(self, store: JobStore, sender: WakeSender, max_wakes: int, events: Events) -> None:
        self._store = store
        self._sender = sender
        self._max_wakes = max_wakes
        self._events = events

    def scan(self) -> bool:
        """
        Sends the wakes that are wanted; False when one was wanted and could not be sent, so the caller must drain.

        Raises:
            StoreError: the database is away.
        """
        self._store.timer_started(POLL_TIMER)
        demand = self._store.demand(JOBS_FOR_ONE_WORKER * self._max_wakes)
        wanted = wakes_wanted(demand.claimable, demand.looking_workers, self._max_wakes)
        if wanted:
            wanted = max(0, wanted - self._waiting())
        is_sent = all(self._send() for _ in range(wanted))
        self._store.timer_finished(POLL_TIMER, f"{demand.claimable} claimable, {wanted} wakes", has_succeeded=is_sent)
        return is_sent

    def _waiting(self) -> int:
        """
        Wakes that are on their way to a worker; none where they cannot be counted, since one too many costs little.
        """
        try:
            return self._sender.waiting()
        except OSError:
            return 0

    def _send(self) -> bool:
        try:
            self._sender.send(delay=None)
        except OSError as error:
            self._events.publish([Event(EventName.NOTIFICATION_FAILED, error=error)])
            return False
        return True


class MaintenanceReport(Value):
    """
    Rows that a maintenance run removed, by what they were; not complete when its time was over before the work.
    """

    removed: Mapping[str, int]
    is_complete: bool

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.removed.items() if count) or "nothing"
        return f"{counts} removed" if self.is_complete else f"{counts} removed, more next time"


class Maintenance:
    """
    Deletes what is old and folds counters, batch by batch, until nothing is left or its time is over.

    Args:
        budget: no batch begins later; what is left is the next run's.
    """

    def __init__(
        self,
        store: MaintainedStore,
        rules: RetentionRules,
        *,
        budget: timedelta = MAINTENANCE_BUDGET,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._rules = rules
        self._budget = budget
        self._monotonic = monotonic

    def run(self) -> MaintenanceReport:
        """
        One run. Safe to run twice at once, and repeatable at any point: what a batch did is done.

        Raises:
            StoreError: the database is away; the next run goes on.
        """
        self._store.timer_started(MAINTENANCE_TIMER)
        ends_at = self._monotonic() + self._budget.total_seconds()
        removed: dict[str, int] = {}
        is_complete = True
        for name, step in self._steps():
            removed[name], is_over = self._repeat(step, ends_at)
            is_complete = is_complete and is_over
        report = MaintenanceReport(removed, is_complete)
        self._store.timer_finished(MAINTENANCE_TIMER, str(report), has_succeeded=True)
        return report

    def _repeat(self, step: Callable[[], int], ends_at: float) -> tuple[int, bool]:
        """
        Takes batches until one was not full; answers the rows, and whether nothing is left.
        """
        total = 0
        while self._monotonic() < ends_at:
            count = step()
            total += count
            if count < self._rules.batch_size:
                return total, True
        return total, False

    def _steps(self) -> Iterator[tuple[str, Callable[[], int]]]:
        """
        What there is to do, the short work first, so that a long one holds up nothing else.
        """
        store, rules, most = self._store, self._rules, self._rules.batch_size
        yield "lanes", partial(store.prune_lanes, FORGET_LANES_AFTER)
        yield "counters", partial(store.fold_counters, most)
        yield "claims", partial(store.prune_keys, most)
        if rules.operator_log is not None:
            yield "log entries", partial(store.prune_operator_log, rules.operator_log, most)
        if rules.metric_buckets is not None:
            yield "metric buckets", partial(store.prune_buckets, rules.metric_buckets, most)
        if rules.dlq is not None:
            yield "dead jobs", partial(store.purge_expired, Place.DLQ, rules.dlq, most)
        if rules.archive is not None:
            yield "archived jobs", partial(store.purge_expired, Place.ARCHIVE, rules.archive, most)


class Pulse:
    """
    The app's own heartbeat: shows that timers run, and forgets workers that are long gone.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def scan(self) -> None:
        """
        One beat of the app.

        Raises:
            StoreError: the database is away.
        """
        self._store.timer_started(HEARTBEAT_TIMER)
        pruned = self._store.prune_workers(FORGET_WORKERS_AFTER)
        self._store.timer_finished(HEARTBEAT_TIMER, f"{pruned} workers pruned", has_succeeded=True)


def wakes_wanted(claimable: int, looking_workers: int, most: int) -> int:
    """
    Wakes for so many claimable jobs, less the workers that are there for them.
    """
    return max(0, min(math.ceil(claimable / JOBS_FOR_ONE_WORKER) - looking_workers, most))


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
