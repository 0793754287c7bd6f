"""
The heartbeat: one thread, one statement for all running jobs, and what its answer tells.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

from chokaq_core.domain import moves
from chokaq_core.domain.errors import StoreError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.job import Lease
from chokaq_core.domain.value import Value
from chokaq_core.engine.pending_turn import cancel_told
from chokaq_core.engine.run import Run, Stop, StopReason
from chokaq_core.policy.heartbeat import HeartbeatVerdict, next_interval, verdict_on_failures
from chokaq_core.ports import Beat

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from chokaq_core.engine.holdings import Holdings
    from chokaq_core.engine.watch import Watch
    from chokaq_core.policy.heartbeat import HeartbeatRules
    from chokaq_core.ports import BeatAnswer, Events, HeldJob, JobStore, Progress


class _Snapshot(Value):
    """
    What this process believed to hold before the statement was sent.
    """

    runs: tuple[Run, ...]
    fetched: frozenset[tuple[str, int]]
    progress: tuple[tuple[Run, Progress], ...]


class Heartbeat:
    """
    The body of the heartbeat thread.
    """

    def __init__(
        self,
        *,
        worker_id: str,
        store: JobStore,
        ledger: Holdings,
        watch: Watch,
        rules: HeartbeatRules,
        stray_delay: timedelta,
        cancel_retention: timedelta,
        events: Events,
    ) -> None:
        self._worker_id = worker_id
        self._store = store
        self._ledger = ledger
        self._watch = watch
        self._rules = rules
        self._stray_delay = stray_delay
        self._cancel_retention = cancel_retention
        self._events = events
        self._failures = 0
        self._abandoned_told = 0
        self._strangers: dict[tuple[str, int], int] = {}
        self._stop = threading.Event()

    def stop(self) -> None:
        """
        Ends the thread; to be called once nothing is live any more.
        """
        self._stop.set()

    def run(self) -> None:
        """
        Beats while anything runs or waits to be stored, and rests while nothing does.
        """
        while not self._stop.is_set():
            self._ledger.wait_for_runs()
            interval = next_interval(self._rules, random.random())  # noqa: S311 - jitter, not a secret
            self._stop.wait(interval.total_seconds())
            if self._ledger.is_busy():
                self.beat()

    def beat(self) -> None:
        """
        Writes one heartbeat and acts on the answer.
        """
        snapshot = self._snapshot()
        try:
            answer = self._store.beat(self._message(snapshot))
        except StoreError as error:
            self._failed(snapshot, error)
            return
        self._failures = 0
        self._give_up_lost(snapshot, answer)
        self._pass_on_cancels(snapshot, answer)
        self._put_off_strays(answer)

    def tell_abandoned(self) -> None:
        """
        Writes how many slots are held by handlers that nobody waits for, if the last heartbeat said otherwise.

        Heartbeats rest while nothing runs, and such handlers do not count as running.
        """
        if len(self._ledger.abandoned()) == self._abandoned_told:
            return
        nothing = _Snapshot((), frozenset(), ())
        try:
            self._store.beat(self._message(nothing))
        except StoreError as error:
            self._failed(nothing, error)

    def _snapshot(self) -> _Snapshot:
        fetched = frozenset((job.lease.job_id, job.lease.number) for job in self._ledger.fetched())
        runs = tuple(self._ledger.live())
        progress = tuple((run, news) for run in runs if (news := run.take_progress()) is not None)
        return _Snapshot(runs, fetched, progress)

    def _message(self, snapshot: _Snapshot) -> Beat:
        self._abandoned_told = len(self._ledger.abandoned())
        return Beat(
            worker_id=self._worker_id,
            progress=tuple(news for _, news in snapshot.progress),
            active=len(snapshot.runs),
            abandoned=self._abandoned_told,
            capacity=self._ledger.capacity,
        )

    def _failed(self, snapshot: _Snapshot, error: StoreError) -> None:
        """
        Counts a failed heartbeat once for each job, and acts when there were too many in a row.
        """
        self._failures += 1
        for run, news in snapshot.progress:
            run.give_back_progress(news)
        facts = {"failures": self._failures}
        self._events.publish(
            [Event(EventName.JOB_HEARTBEAT_WRITE_FAILED, run.ref, facts, error) for run in snapshot.runs]
        )
        match verdict_on_failures(self._rules, self._failures):
            case HeartbeatVerdict.DEGRADED:
                self._events.publish([Event(EventName.JOB_HEARTBEAT_DEGRADED, run.ref, facts) for run in snapshot.runs])
            case HeartbeatVerdict.CANCEL:
                self._ledger.fail_heartbeats(self._failures)
                self._watch.look_again()
            case HeartbeatVerdict.GO_ON:
                return

    def _give_up_lost(self, snapshot: _Snapshot, answer: BeatAnswer) -> None:
        """
        What was held before the statement and is not any more was taken away. What concluded meanwhile is no loss.
        """
        lost = [run for run in snapshot.runs if not _is_held(run.lease, answer.held) and self._ledger.lose(run)]
        if lost:
            self._watch.look_again()
            self._events.publish([Event(EventName.JOB_EXECUTION_LEASE_REJECTED, run.ref, _BEAT) for run in lost])
        for job_id, number in snapshot.fetched:
            if not _is_held(Lease(job_id, self._worker_id, number), answer.held):
                self._ledger.drop_fetched((job_id, number))

    def _pass_on_cancels(self, snapshot: _Snapshot, answer: BeatAnswer) -> None:
        for run in snapshot.runs:
            held = answer.held.get(run.lease.job_id)
            if held is None or not held.is_cancel_requested or not _is_held(run.lease, answer.held):
                continue
            if run.tell_to_stop(Stop(StopReason.CANCELLED, held.cancel_requested_by)):
                self._events.publish([cancel_told(run)])
        self._keep_early_cancels(answer)

    def _keep_early_cancels(self, answer: BeatAnswer) -> None:
        """
        Keeps cancels of jobs whose claim is stored and whose run this process has not begun yet.
        """
        known = self._ledger.leases()
        for job_id, held in answer.held.items():
            lease = (job_id, held.lease_number)
            if held.is_running and held.is_cancel_requested and lease not in known:
                self._ledger.keep_cancel(lease, held.cancel_requested_by, self._cancel_retention)

    def _put_off_strays(self, answer: BeatAnswer) -> None:
        """
        Jobs in this worker's name that it does not know, twice in a row: the answer to their claim was lost for good.

        Not so while the turn that may have claimed them waits for its answer, which may only be slow.
        """
        held = {(job_id, job.lease_number) for job_id, job in answer.held.items()}
        begun, answered = self._ledger.turns()
        strangers = {lease: self._strangers.get(lease, begun) for lease in held - self._ledger.leases()}
        strays = {lease for lease in strangers if lease in self._strangers and strangers[lease] <= answered}
        self._strangers = {lease: turn for lease, turn in strangers.items() if lease not in strays}
        leases = [Lease(job_id, self._worker_id, number) for job_id, number in strays]
        self._ledger.add_settlements([moves.postpone(lease, self._stray_delay) for lease in leases])


_BEAT = {"transition": "beat"}


def _is_held(lease: Lease, held: Mapping[str, HeldJob]) -> bool:
    return lease.job_id in held and held[lease.job_id].lease_number == lease.number
