"""
The engine: one for each process, started at the first visit, shared by overlapping ones, parked when the last leaves.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from chokaq_core.contracts.idempotent import is_idempotent
from chokaq_core.contracts.serializer import CheckedSerializer, JobSerializer, JsonSerializer
from chokaq_core.domain.errors import RegistrationError, StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.value import Value, field
from chokaq_core.engine.execution import Executor
from chokaq_core.engine.heartbeat import Heartbeat
from chokaq_core.engine.home import Home
from chokaq_core.engine.idempotency import Idempotency
from chokaq_core.engine.ledger import Ledger
from chokaq_core.engine.own_threads import OwnThreads
from chokaq_core.engine.pending_turn import job_ref
from chokaq_core.engine.producer import Producer
from chokaq_core.engine.reach import Reach
from chokaq_core.engine.run import Run, Stop, StopReason
from chokaq_core.engine.turns import RunRules, StoreThread
from chokaq_core.engine.untraced import Untraced
from chokaq_core.engine.waker import Waker, is_work_left
from chokaq_core.engine.watch import Watch
from chokaq_core.engine.worker_row import WorkerRow, new_worker_id
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.idempotency import IdempotencyRules
from chokaq_core.policy.running import ExecutionRules, WorkerRules
from chokaq_core.ports import WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.ports import ClaimStore, Events, JobStore, Tracing, WakeSender

UNANSWERED_WAKE = timedelta(minutes=1)
"""When somebody should come back after a visit that ended without an answer: it may have claimed jobs, and nobody else
can tell those from jobs that run."""
END_SECONDS = 5.0
"""How long handlers get to end after they were told to stop at a shutdown."""


class EngineRules(Value):
    """
    All settings that the engine goes by.
    """

    worker: WorkerRules = field(default_factory=WorkerRules)
    execution: ExecutionRules = field(default_factory=ExecutionRules)
    retry: RetryRules = field(default_factory=RetryRules)
    heartbeat: HeartbeatRules = field(default_factory=HeartbeatRules)
    envelope: EnvelopeLimits = field(default_factory=EnvelopeLimits)
    idempotency: IdempotencyRules = field(default_factory=IdempotencyRules)


def _leave_unmarked() -> None:
    """
    What there is to do with a thread where nobody tells threads apart.
    """


class Engine:
    """
    Claims and runs jobs while somebody visits, and accepts jobs at any time.

    Args:
        claims: where jobs that are `IdempotentJob`s claim their keys.
        mark_thread: called on the engine's own threads before a handler runs there, for a host that tells log lines
            apart by thread.
        on_exhausted: called when a visit ends and every slot is taken by a handler that ignores its timeout; a host
            that can replace the process does so, since nothing else frees a thread.
    """

    def __init__(
        self,
        store: JobStore,
        catalog: Catalog,
        wakes: WakeSender,
        events: Events,
        *,
        rules: EngineRules | None = None,
        middleware: Sequence[Middleware] = (),
        serializer: JobSerializer | None = None,
        tracing: Tracing | None = None,
        claims: ClaimStore | None = None,
        mark_thread: Callable[[], object] = _leave_unmarked,
        on_exhausted: Callable[[], object] | None = None,
    ) -> None:
        tracing = tracing if tracing is not None else Untraced()
        rules = rules if rules is not None else EngineRules()
        serializer = CheckedSerializer(serializer) if serializer is not None else JsonSerializer()
        self.worker_id = new_worker_id()
        self._store = store
        self._events = events
        self._rules = rules
        self._on_exhausted = on_exhausted
        shortest_timeout = rules.execution.shortest(catalog.timeouts().values())
        self._ledger = Ledger(rules.worker, shortest_timeout)
        self._waker = Waker(wakes, events, is_work_left=partial(is_work_left, store))
        self._reach = Reach(self.worker_id, events)
        self._row = WorkerRow(self.worker_id, store, self._reach)
        self._home = Home()
        self.producer = Producer(
            store=store,
            catalog=catalog,
            serializer=serializer,
            limits=rules.envelope,
            idempotency=rules.idempotency,
            waker=self._waker,
            events=events,
            tracing=tracing,
            on_stored=self._ledger.look_now,
            home=self._home,
        )
        self._watch = Watch(self._ledger, events)
        self._heartbeat = Heartbeat(
            worker_id=self.worker_id,
            store=store,
            ledger=self._ledger,
            watch=self._watch,
            rules=rules.heartbeat,
            stray_delay=rules.retry.circuit_breaker_delay,
            cancel_retention=rules.execution.pending_cancellation_retention,
            events=events,
        )
        self._store_thread = StoreThread(
            worker_id=self.worker_id,
            store=store,
            ledger=self._ledger,
            executor=Executor(
                catalog,
                serializer,
                middleware,
                rules.envelope,
                self._ledger,
                events=events,
                tracing=tracing,
                mark_thread=mark_thread,
                idempotency=_idempotency(claims, catalog, rules, events),
            ),
            watch=self._watch,
            catalog=catalog,
            rules=RunRules(rules.retry, rules.execution, rules.worker.retry_base_delay),
            waker=self._waker,
            reach=self._reach,
            events=events,
            enqueue=self.producer.enqueue,
        )
        self._lock = threading.Lock()
        bodies = {"store": self._store_thread.run, "heartbeat": self._heartbeat.run, "watch": self._watch.run}
        self._threads = OwnThreads(bodies, rules.worker.retry_base_delay, events, self._facts)

    def attend(self) -> None:
        """
        One visit: claims and runs jobs until nothing is due or the drain budget is spent.

        Overlapping visits share the engine. The last one out waits for every live job, parks the engine, and sends the
        wake that continues the work. A store that is away ends the visit without an error.

        Raises:
            ForkedEngineError: this process was forked from the one that the engine was built in.
        """
        self._home.check()
        with self._lock:
            self._threads.start()
            if not self._row.register(self._ledger.capacity):
                return
            # Under the lock, so that nobody parks the engine between these two.
            visit = self._ledger.arrive()
        try:
            self._ledger.wait_until_done(visit)
        finally:
            is_last = self._ledger.leave(visit)
        if is_last:
            self._park()

    def expect_work(self) -> None:
        """
        Sees to it that somebody looks for work soon: jobs were brought back, or a queue was opened.
        """
        self._ledger.look_now()
        self._waker.brought_back()

    def set_capacity(self, capacity: int) -> None:
        """
        Sets how many jobs run at once in this process, from the next claim on. Jobs that run beyond it go on.

        Raises:
            ValueError: it is less than 1.
        """
        if capacity < 1:
            raise ValueError(f"a worker's capacity must be at least 1; got {capacity}")
        before = self._ledger.set_capacity(capacity)
        if before == capacity:
            return
        self._events.publish([Event(EventName.WORKER_CAPACITY_CHANGED, facts={**self._facts(), "before": before})])
        with self._lock:
            self._row.change_capacity(self._ledger.capacity)

    def stop(self) -> bool:
        """
        Stops for good: no more claims, fetched jobs given back, running ones awaited, told to stop, and handed back.

        Returns:
            False when handlers still run, or outcomes could not be stored: the heartbeat of those goes on, and what can
            still be stored is, until the process ends. The store must stay open.
        """
        self._events.publish([Event(EventName.PROCESSING_TASK_DRAIN_STARTED, facts=self._facts())])
        self._ledger.stop()
        if not self._threads.threads:
            return True
        self._release_fetched()
        if self._ledger.live():
            self._row.write(WorkerState.DRAINING, self._ledger.capacity)
        grace = self._rules.worker.shutdown_grace_period.total_seconds()
        is_drained = self._ledger.wait_until_settled(grace)
        if not is_drained:
            self._interrupt(self._ledger.live())
            is_drained = self._ledger.wait_until_settled(END_SECONDS)
        if is_drained:
            self._row.retire()
            self._end_threads()
        else:
            self._tell_of_left_runs()
        return is_drained

    def _release_fetched(self) -> None:
        """
        Waits until fetched jobs are given back; what is not by then is left to recovery.
        """
        if not self._ledger.wait_until_released(self._rules.worker.release_timeout.total_seconds()):
            left = self._ledger.unreleased()
            events = [Event(EventName.PREFETCHED_JOB_RELEASE_FAILED, job_ref(job)) for job in left]
            self._events.publish(events or [Event(EventName.PREFETCHED_JOB_RELEASE_FAILED, facts=self._facts())])

    def _park(self) -> None:
        """
        Leaves nothing running between visits, and sees to it that somebody comes back for what is left.
        """
        with self._lock:
            if self._ledger.has_visits():
                return
            is_exhausted = self._ledger.is_exhausted()
            self._heartbeat.tell_abandoned()
            wake_in = self._row.retire()
            if is_exhausted or self._ledger.is_busy():
                # Its handlers still run: it is not gone, and health tells of it.
                self._row.write(WorkerState.DRAINING, self._ledger.capacity)
            self._rest()
        if self._ledger.is_answer_due():
            wake_in = min(wake_in or UNANSWERED_WAKE, UNANSWERED_WAKE)
        self._waker.hand_over(wake_in)
        if is_exhausted:
            self._events.publish([Event(EventName.WORKER_ALL_SLOTS_ABANDONED, facts=self._facts())])
            if self._on_exhausted is not None:
                self._on_exhausted()

    def _rest(self) -> None:
        try:
            self._store.rest()
        except StoreError as error:
            self._reach.lost(error)

    def _interrupt(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if run.tell_to_stop(Stop(StopReason.SHUTDOWN)):
                self._events.publish([Event(EventName.PROCESSING_TASK_SHUTDOWN_OBSERVED, run.ref)])

    def _end_threads(self) -> None:
        self._heartbeat.stop()
        self._watch.look_again()
        name = EventName.WORKER_STOPPED if self._threads.join(END_SECONDS) else EventName.WORKER_SHUTDOWN_TIMED_OUT
        self._events.publish([Event(name, facts=self._facts())])

    def _tell_of_left_runs(self) -> None:
        left = [Event(EventName.PROCESSING_TASK_DRAIN_TIMED_OUT, run.ref) for run in self._ledger.live()]
        self._events.publish([*left, Event(EventName.WORKER_SHUTDOWN_TIMED_OUT, facts=self._facts())])

    def _facts(self) -> dict[str, object]:
        return {"worker_id": self.worker_id, "capacity": self._ledger.capacity}


def _idempotency(claims: ClaimStore | None, catalog: Catalog, rules: EngineRules, events: Events) -> Idempotency | None:
    if claims is not None:
        return Idempotency(claims, rules.idempotency, rules.envelope, events)
    for registration in catalog:
        if is_idempotent(registration.job_type):
            msg = f"handler of {registration.type_key!r}: its jobs are idempotent, which needs a claim store"
            raise RegistrationError(msg)
    return None
