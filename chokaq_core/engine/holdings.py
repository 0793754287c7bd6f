"""
What this process holds, for the threads that look after it: runs, fetched jobs, and what waits to be stored.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import HeartbeatLost, Outcome, TimedOut
from chokaq_core.engine.book import NEVER, Book, LeaseKey, PendingCancel
from chokaq_core.engine.lone_waiter import LoneWaiter
from chokaq_core.engine.run import Run, Stop, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import timedelta

    from chokaq_core.domain.job import ClaimedJob, Lease
    from chokaq_core.domain.moves import Settlement


class Holdings:
    """
    The book of one process with the lock that guards it, as the heartbeat and the watch see it.

    The lock has three conditions: there is work for the store thread, something has moved for who waits, and there are
    runs for the heartbeat. Nobody calls out while holding it.
    """

    def __init__(self, book: Book, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._book = book
        self._monotonic = monotonic
        self._watched_until = NEVER
        self._lock = threading.RLock()
        self._has_work = LoneWaiter(self._lock)
        self._has_moved = threading.Condition(self._lock)
        self._has_runs = threading.Condition(self._lock)

    @property
    def capacity(self) -> int:
        """
        How many jobs run at once.
        """
        return self._book.capacity

    def hold(self, runs: Sequence[Run], fetched: Sequence[ClaimedJob]) -> tuple[bool, list[Run]]:
        """
        Takes claimed jobs into the book before they start.

        A cancel that reached the heartbeat before the claim's answer came is passed on now.

        Returns:
            Whether a deadline is nearer than the watch knows, and the runs that were told to cancel.
        """
        now = self._monotonic()
        with self._lock:
            self._book.hold(runs, fetched)
            cancels = [(run, self._book.take_cancel(run, now)) for run in runs] if self._book.cancels else []
            is_nearer = min((run.deadline for run in runs), default=NEVER) < self._watched_until
        orders = [(run, Stop(StopReason.CANCELLED, cancel.by)) for run, cancel in cancels if cancel is not None]
        return is_nearer, [run for run, order in orders if run.tell_to_stop(order)]

    def keep_cancel(self, lease: LeaseKey, by: str | None, retention: timedelta) -> None:
        """
        Keeps a cancel for a job that is about to start here; after `retention` it is forgotten.
        """
        now = self._monotonic()
        with self._lock:
            self._book.keep_cancel(lease, PendingCancel(by, now + retention.total_seconds()), now)

    def add_settlements(self, settlements: Iterable[Settlement]) -> None:
        """
        Queues settlements that need no outcome, such as a postponement.
        """
        with self._lock:
            self._book.settlements.extend(settlements)
            self._has_work.notify()

    def drop_outlived(self, leases: Iterable[Lease]) -> list[tuple[Run, Outcome]]:
        """
        Takes out the outcomes under leases that were given anew by the claim which is answered now.
        """
        with self._lock:
            return self._book.drop_outlived(leases)

    def drop_fetched(self, lease: LeaseKey) -> None:
        """
        Forgets a fetched job whose lease is gone.
        """
        with self._lock:
            self._book.drop_fetched(lease)
            self._has_moved.notify_all()

    def lose(self, run: Run) -> bool:
        """
        Gives up a run whose lease is gone: nothing is stored for it. False if it had concluded anyway.
        """
        with self._lock:
            is_lost = self._abandon(run, None)
        if is_lost:
            _tell([run], StopReason.LEASE_LOST)
        return is_lost

    def fail_heartbeats(self, failures: int) -> list[Run]:
        """
        Concludes every live run because heartbeats cannot be written.
        """
        with self._lock:
            runs = list(self._book.live.values())
            failed = [run for run in runs if self._abandon(run, HeartbeatLost(failures))]
        _tell(failed, StopReason.HEARTBEAT_LOST)
        return failed

    def expire(self) -> tuple[list[Run], float | None]:
        """
        Concludes runs whose timeout has passed; answers them, and the seconds until the next deadline.
        """
        now = self._monotonic()
        with self._lock:
            overdue = [run for run in self._book.live.values() if run.deadline <= now]
            expired = [run for run in overdue if self._abandon(run, TimedOut(run.timeout))]
            nearest = min((run.deadline for run in self._book.live.values()), default=NEVER)
            self._watched_until = nearest
        _tell(expired, StopReason.TIMED_OUT)
        return expired, None if nearest == NEVER else max(0.0, nearest - now)

    def take_overstayed(self) -> tuple[list[Run], float | None]:
        """
        Runs whose handlers had their time to stop and go on, each once; and the seconds until more may have had it.
        """
        now = self._monotonic()
        with self._lock:
            waiting = [(run, run.stuck_at) for run in self._book.abandoned.values() if not run.has_overstayed]
            overstayed = [run for run, at in waiting if at <= now]
            for run in overstayed:
                run.has_overstayed = True
        nearest = min((at for _, at in waiting if at > now), default=NEVER)
        return overstayed, None if nearest == NEVER else nearest - now

    def occupants(self, job_ids: Collection[str]) -> dict[str, Run]:
        """
        The runs of these jobs whose handlers go on here, abandoned ones included.
        """
        with self._lock:
            if self._book.live.keys().isdisjoint(job_ids) and self._book.abandoned.keys().isdisjoint(job_ids):
                return {}
            found = ((i, self._book.live.get(i) or self._book.abandoned.get(i)) for i in job_ids)
            return {job_id: run for job_id, run in found if run is not None}

    def live(self) -> list[Run]:
        """
        Runs whose row is this worker's and not decided yet.
        """
        with self._lock:
            return list(self._book.live.values())

    def fetched(self) -> list[ClaimedJob]:
        """
        Jobs that wait here for a slot.
        """
        with self._lock:
            return list(self._book.fetched)

    def unreleased(self) -> list[ClaimedJob]:
        """
        Fetched jobs, and those whose giving back has not been answered.
        """
        with self._lock:
            return [*self._book.fetched, *self._book.in_turn.unfetched]

    def abandoned(self) -> list[Run]:
        """
        Runs whose row is decided and whose handler goes on all the same.
        """
        with self._lock:
            return list(self._book.abandoned.values())

    def leases(self) -> set[LeaseKey]:
        """
        Job id and lease number of everything that is accounted for here.
        """
        with self._lock:
            return self._book.leases()

    def turns(self) -> tuple[int, int]:
        """
        How many turns have begun, and the number of the last one whose answer is booked.
        """
        with self._lock:
            return self._book.turns_begun, self._book.turns_answered

    def is_busy(self) -> bool:
        """
        Whether anything runs here or waits to be stored.
        """
        with self._lock:
            return self._book.is_busy()

    @property
    def is_stopping(self) -> bool:
        """
        Whether the engine was told to stop.
        """
        return self._book.is_stopping

    def wait_for_runs(self) -> None:
        """
        Blocks while nothing runs or waits to be stored; ends with the engine too.
        """
        with self._has_runs:
            self._has_runs.wait_for(lambda: self._book.is_busy() or self._book.is_stopping)

    def _abandon(self, run: Run, outcome: Outcome | None) -> bool:
        """
        Concludes a run whose handler still goes on; its slot stays taken until the handler ends.
        """
        is_abandoned = self._book.abandon(run, outcome)
        if is_abandoned:
            run.abandoned_at = self._monotonic()
            self._has_work.notify()
            self._has_moved.notify_all()
        return is_abandoned


def _tell(runs: Iterable[Run], reason: StopReason) -> None:
    for run in runs:
        run.tell_to_stop(Stop(reason))
