"""
The store thread: one round trip a turn settles what ended, starts what was fetched, claims for what is free.

It is the only thread that takes turns. A turn that got no answer is repeated with the same number until it has one, so
nothing is lost or done twice when the answer, and not the turn, went missing.
"""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING

from chokaq_core.domain import moves
from chokaq_core.domain.circuit import CircuitReport, CircuitSignal, CircuitState
from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ClaimedJob, Status
from chokaq_core.domain.value import Value
from chokaq_core.engine.pending_turn import PendingTurn, cancel_told, starts
from chokaq_core.engine.run import Run
from chokaq_core.engine.settling import Ended, event_of, settle
from chokaq_core.engine.visits import Look
from chokaq_core.policy.circuit import signal_of
from chokaq_core.policy.error_text import error_facts
from chokaq_core.ports import MAX_BATCH, Turn, TurnAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.profile import Registration
    from chokaq_core.domain.failures import Outcome
    from chokaq_core.domain.job import EnqueueResult
    from chokaq_core.domain.lanes import LaneFilter
    from chokaq_core.domain.moves import Settlement
    from chokaq_core.engine.book import Work
    from chokaq_core.engine.execution import Executor
    from chokaq_core.engine.ledger import Ledger
    from chokaq_core.engine.reach import Reach
    from chokaq_core.engine.waker import Waker
    from chokaq_core.engine.watch import Watch
    from chokaq_core.policy.backoff import RetryRules
    from chokaq_core.policy.running import ExecutionRules
    from chokaq_core.ports import Events, JobStore

# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_PROCESSING = Status.PROCESSING
_FAILURE, _RELEASED = CircuitSignal.FAILURE, CircuitSignal.RELEASED
MAX_PAUSE_SECONDS = 60.0
LONGEST_TIMEOUT = timedelta(seconds=TIMEOUT_MAX)
"""No thread can wait longer than this (292 years), so a longer timeout counts as this one."""
BUSY_ELSEWHERE_DELAY = timedelta(seconds=30)
"""How long a job is put off while a thread of its own earlier run still goes on here."""


class RunRules(Value):
    """
    What a claimed job is run by.
    """

    retry: RetryRules
    execution: ExecutionRules
    retry_base_delay: timedelta


class _Handling(Value):
    """
    What the jobs of a lane have in common here.
    """

    registration: Registration | None
    timeout: timedelta


class StoreThread:
    """
    The body of the store thread.
    """

    def __init__(
        self,
        *,
        worker_id: str,
        store: JobStore,
        ledger: Ledger,
        executor: Executor,
        watch: Watch,
        catalog: Catalog,
        rules: RunRules,
        waker: Waker,
        reach: Reach,
        events: Events,
        enqueue: Callable[..., EnqueueResult],
    ) -> None:
        self._worker_id = worker_id
        self._store = store
        self._ledger = ledger
        self._executor = executor
        self._watch = watch
        self._catalog = catalog
        self._rules = rules
        self._waker = waker
        self._reach = reach
        self._events = events
        self._enqueue = enqueue
        self._seq = 0
        self._last_queue = ""
        self._clock: tuple[datetime, float] | None = None
        self._pending: PendingTurn | None = None
        self._circuits: Collection[str] = ()
        self._held: dict[str, str | None] = {}
        self._timeouts = catalog.timeouts()
        self._handlings: dict[tuple[str, str], _Handling] = {}

    def run(self) -> None:
        """
        Takes turns until the engine stops and everything is settled.

        Begun again after a fault of ours, it repeats the turn that met it, once somebody needs it.
        """
        if self._pending is not None and not self._ledger.wait_in_trouble(0.0):
            return
        while True:
            if self._pending is None:
                work = self._ledger.next_work()
                if work is None:
                    return
                self._pending = self._turn_for(work)
            answer = self._try(self._pending)
            if answer is not None:
                pending, self._pending = self._pending, None
                try:
                    self._apply(pending, answer)
                finally:
                    self._ledger.turn_over()
            elif not self._ledger.wait_in_trouble(self._pause()):
                return

    def _turn_for(self, work: Work) -> PendingTurn:
        self._seq += 1
        now = self._now()
        ended = tuple(self._ended(run, outcome, now) for run, outcome in work.ended)
        releases = (moves.release(job.lease) for job in work.unfetched)
        # The circuits of these have opened since they were fetched.
        held = self._held
        held_back = [j for j in work.starts if j.type_key in held and held[j.type_key] != j.lease.job_id]
        put_off = (moves.postpone(job.lease, self._rules.retry.circuit_breaker_delay) for job in held_back)
        turn = Turn(
            worker_id=self._worker_id,
            seq=self._seq,
            settlements=(*[e.settlement for e in ended], *work.settlements, *releases, *put_off),
            starts=tuple(job.lease for job in work.starts if job not in held_back),
            want=min(work.want, MAX_BATCH),
            prefetch=min(work.prefetch, MAX_BATCH),
            after_queue=self._last_queue,
            looks_again_within=work.looks_again_within,
            reports=self._reports(ended),
            lanes=self._lanes(work),
        )
        return PendingTurn(turn, work, ended, tuple(held_back))

    def _lanes(self, work: Work) -> LaneFilter | None:
        """
        Where to claim from, given how long the claimed jobs may run.
        """
        if not work.is_look or work.longest_timeout is None:
            return None
        return self._rules.execution.lanes_within(work.longest_timeout, self._timeouts)

    def _ended(self, run: Run, outcome: Outcome, now: datetime) -> Ended:
        """
        The run's end, decided; a fault in deciding ends this job and leaves the others of the turn alone.
        """
        try:
            return settle(run, outcome, self._rules.retry, now)
        except Exception as error:  # noqa: BLE001 - our own fault, told with the job that met it
            self._events.publish([Event(EventName.PROCESSING_TASK_WRAPPER_FAILED, run.ref, error=error)])
            settlement = moves.dead_letter(run.lease, FailureReason.FATAL_ERROR, error_facts(error), run.duration_ms)
            return Ended(run, outcome, settlement)

    def _try(self, pending: PendingTurn) -> TurnAnswer | None:
        """
        The answer to a turn, or None when the store gave none. Only a change of state is told.
        """
        try:
            answer = self._store.turn(pending.turn)
        except StoreError as error:
            self._reach.lost(error)
            return None
        self._reach.found()
        return answer

    def _apply(self, pending: PendingTurn, answer: TurnAnswer) -> None:
        """
        Books what the turn did, starts the runs, and tells what happened.
        """
        self._clock = (answer.now, time.monotonic())
        self._circuits = {circuit.type_key for circuit in answer.circuits}
        self._held = {c.type_key: c.probe_job_id for c in answer.circuits if c.state is not CircuitState.CLOSED}
        self._last_queue = answer.last_queue
        processing = [job for job in answer.claimed if job.status is _PROCESSING]
        fetched = [job for job in answer.claimed if job.status is not _PROCESSING]
        begun = [*pending.started(answer), *processing]
        busy = self._ledger.occupants([job.lease.job_id for job in (*begun, *fetched)])
        self._give_up_former(busy.values(), answer.claimed)
        runs, put_off = self._runs(begun, busy.keys())
        is_nearer, told_to_cancel = self._ledger.hold(runs, fetched)
        # Handlers come first: everything after this wakes other threads, which would be served before them.
        self._executor.start(runs)
        if put_off:
            self._ledger.add_settlements(put_off)
        self._ledger.turn_taken(pending.work, _look(pending, answer))
        if is_nearer:
            self._watch.look_again()
        breaker_delay = self._rules.retry.circuit_breaker_delay
        cancels = (cancel_told(run) for run in told_to_cancel)
        self._events.publish([*pending.events(answer, breaker_delay), *starts(runs), *cancels])
        self._wake(pending, answer)

    def _reports(self, ended: Iterable[Ended]) -> tuple[CircuitReport, ...]:
        """
        What runs have to tell their circuits; a success has something to tell only where there were failures.
        """
        told = [(e.run.job, signal_of(e.outcome)) for e in ended]
        failing = {job.type_key for job, signal in told if signal is _FAILURE}.union(self._circuits)
        return tuple(
            CircuitReport(job.type_key, job.lease.job_id, job.circuit_generation, signal)
            for job, signal in told
            if job.is_probe or (job.type_key in failing and signal is not _RELEASED)
        )

    def _runs(self, jobs: Sequence[ClaimedJob], busy: Collection[str]) -> tuple[list[Run], list[Settlement]]:
        """
        Runs for the jobs; those whose own earlier handler still goes on here are put off instead.
        """
        runs = [self._run(job) for job in jobs if job.lease.job_id not in busy]
        return runs, [moves.postpone(job.lease, BUSY_ELSEWHERE_DELAY) for job in jobs if job.lease.job_id in busy]

    def _give_up_former(self, former: Iterable[Run], claimed: Sequence[ClaimedJob]) -> None:
        """
        Stops earlier runs of claimed jobs: their own leases are gone, though no heartbeat has said so yet.

        What came of one is not stored under the new lease, which may have the same number: a job that was purged and
        enqueued again under its id begins to count anew.
        """
        lost = [run for run in former if self._ledger.lose(run)]
        if lost:
            self._watch.look_again()
            self._events.publish([Event(EventName.JOB_EXECUTION_LEASE_REJECTED, run.ref, _CLAIM) for run in lost])
        if outlived := self._ledger.drop_outlived(job.lease for job in claimed):
            now = self._now()
            ended = [self._ended(run, outcome, now) for run, outcome in outlived]
            self._events.publish([event_of(e, is_stale=True, is_cancelled=False) for e in ended])

    def _run(self, job: ClaimedJob) -> Run:
        lane = (job.queue, job.type_key)
        if (handling := self._handlings.get(lane)) is None:
            registration = self._catalog.find(job.type_key)
            own = registration.timeout if registration is not None else None
            timeout = min(self._rules.execution.timeout_for(job.queue, own), LONGEST_TIMEOUT)
            handling = _Handling(registration, timeout)
            if registration is not None:  # so that unknown types, of which anybody may make up more, take no room
                self._handlings[lane] = handling
        attempt = job.attempt if job.status is _PROCESSING else job.attempt + 1
        return Run(job, handling.registration, handling.timeout, self._enqueue, attempt=attempt)

    def _wake(self, pending: PendingTurn, answer: TurnAnswer) -> None:
        """
        Lets the waker know whether this worker is full, and of a due time that nobody else comes for.
        """
        # A look at some lanes says nothing of the others, where more may wait all the same.
        if pending.work.is_look and (answer.is_full or pending.turn.lanes is None):
            self._waker.looked(is_full=answer.is_full)
        if answer.wake_in is not None:
            self._waker.put_off(answer.wake_in)

    def _now(self) -> datetime:
        """
        The database's time by this host's stopwatch; before the first answer, this host's.
        """
        if self._clock is None:
            return datetime.now(UTC)
        at, measured = self._clock
        return at + timedelta(seconds=time.monotonic() - measured)

    def _pause(self) -> float:
        """
        Seconds before the next try: doubling from the base, at most a minute, with jitter.
        """
        base = self._rules.retry_base_delay.total_seconds()
        pause = min(base * 2.0 ** min(self._reach.failures - 1, 16), MAX_PAUSE_SECONDS)
        return pause * (0.5 + random.random() / 2)  # noqa: S311 - jitter, not a secret


_CLAIM = {"transition": "claim"}


def _look(pending: PendingTurn, answer: TurnAnswer) -> Look:
    due = None if answer.next_due_at is None else (answer.next_due_at - answer.now).total_seconds()
    return Look(
        is_full=answer.is_full,
        claimed=len(answer.claimed),
        seconds_to_due=due,
        has_open_queue=answer.has_open_queue,
        has_lost_fetched=pending.has_lost_fetched(answer),
    )
