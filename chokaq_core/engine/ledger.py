"""
The one place that the threads of a process share.

Handlers report here, the store thread takes its work from here, the heartbeat asks what is alive, visits wait for it to
run dry. One lock guards the book and the visits, and nobody calls out while holding it.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import HeartbeatLost, Outcome, TimedOut
from chokaq_core.engine.book import Book, LeaseKey, PendingCancel, Work
from chokaq_core.engine.run import Run, Stop, StopReason
from chokaq_core.engine.visits import Look, Visit, Visits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from chokaq_core.domain.job import ClaimedJob, Lease
    from chokaq_core.domain.moves import Settlement
    from chokaq_core.policy.running import WorkerRules

GATHER_SECONDS = 0.001
"""How long an outcome waits for others that are about to end, so that one turn settles them all."""

STUCK_SECONDS = 2.0
"""How long handlers that were told to stop may go on before a worker whose every slot they hold counts as exhausted."""
CLAIM_SECONDS = 1.0
"""How long a claim may take before the time of a claimed job begins; counted only for jobs claimed past the budget."""
NEVER = float("inf")


class Ledger:
    """
    The shared book of one process, with the waiting around it.

    Args:
        shortest_timeout: no job here has a shorter one.
    """

    def __init__(
        self,
        rules: WorkerRules,
        shortest_timeout: timedelta,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capacity = rules.max_concurrency
        self._prefetch = rules.prefetch
        self._shortest_timeout = shortest_timeout
        self._monotonic = monotonic
        self._book = Book()
        self._visits = Visits(rules)
        self._is_stopping = False
        self._is_in_trouble = False
        self._is_gathering = False
        self._watched_until = NEVER
        self._claims_end_by = NEVER
        lock = threading.RLock()
        self._has_work = threading.Condition(lock)
        self._has_moved = threading.Condition(lock)
        self._has_runs = threading.Condition(lock)
        self._waiters = 0

    # Visits

    def arrive(self) -> Visit:
        """
        Opens a visit: work is wanted from now on.
        """
        with self._has_work:
            visit = self._visits.arrive(self._monotonic())
            self._claims_end_by = NEVER
            self._is_in_trouble = False
            self._has_work.notify_all()
        return visit

    def wait_until_done(self, visit: Visit) -> None:
        """
        Blocks until the visit may end.

        The last one out waits for every live job, and until every outcome is settled and told.
        """
        with self._has_moved:
            while not self._is_done(visit):
                is_notified = self._has_moved.wait(self._patience(visit))
                if not is_notified:
                    self._has_work.notify_all()

    def leave(self, visit: Visit) -> bool:
        """
        Closes a visit; True for the last one out.
        """
        with self._has_moved:
            self._visits.leave(visit)
            self._has_moved.notify_all()
            return len(self._visits) == 0

    def has_visits(self) -> bool:
        """
        Whether anybody wants work done.
        """
        with self._has_work:
            return len(self._visits) > 0

    def is_answer_due(self) -> bool:
        """
        Whether a turn is under way, or was sent and never answered.
        """
        with self._has_work:
            return self._book.is_turning

    def look_now(self) -> None:
        """
        Makes the store thread look for work at once, if anybody wants it done.
        """
        with self._has_work:
            self._visits.look_now()
            self._has_work.notify_all()

    # The store thread

    def next_work(self) -> Work | None:
        """
        Waits for something to do; None once the engine stops and everything is settled.
        """
        with self._has_work:
            while True:
                if self._book.ended or self._book.settlements:
                    self._gather()
                    return self._take_work()
                if self._has_startable() or self._is_look_due():
                    return self._take_work()
                if self._is_stopping and not self._book.live:
                    return None
                self._has_work.wait(self._seconds_to_look())

    def wait_in_trouble(self, seconds: float) -> bool:
        """
        Marks the store as away and waits before the next try, longer while nobody needs it; False to give up for good.
        """
        deadline = self._monotonic() + seconds
        with self._has_work:
            self._is_in_trouble = True
            self._has_moved.notify_all()
            while self._is_in_trouble and self._is_needed() and (left := deadline - self._monotonic()) > 0:
                self._has_work.wait(left)
            self._has_work.wait_for(lambda: self._is_needed() or self._is_stopping)
            return self._is_needed()

    def hold(self, runs: Sequence[Run], fetched: Sequence[ClaimedJob]) -> tuple[bool, list[Run]]:
        """
        Takes claimed jobs into the book before they start.

        A cancel that reached the heartbeat before the claim's answer came is passed on now.

        Returns:
            Whether a deadline is nearer than the watch knows, and the runs that were told to cancel.
        """
        now = self._monotonic()
        with self._has_work:
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
        with self._has_work:
            self._book.keep_cancel(lease, PendingCancel(by, now + retention.total_seconds()), now)

    def turn_taken(self, work: Work, look: Look) -> None:
        """
        Notes that a turn is stored and what its look found. Claimed jobs are in the book already.

        Nobody leaves yet: what happened is told first, or the process could be gone before.
        """
        now = self._monotonic()
        with self._has_moved:
            self._has_runs.notify_all()
            self._is_in_trouble = False
            self._book.answer_turn()
            is_idle = not self._book.is_busy() and not self._book.fetched
            if work.is_look:
                self._visits.looked(look, now, is_idle=is_idle)
            elif not is_idle:
                self._visits.worked()

    def turn_over(self) -> None:
        """
        Ends a turn of which everything is told, or that met a fault of ours, so that nobody waits for it any more.
        """
        with self._has_moved:
            self._book.end_turn()
            # A lone visitor stays as long as anything runs: waking it after each turn took a tenth of a drain's time.
            if self._waiters > 0 or not self._book.is_busy() or len(self._visits) != 1:
                self._has_moved.notify_all()

    def add_settlements(self, settlements: Iterable[Settlement]) -> None:
        """
        Queues settlements that need no outcome, such as a postponement.
        """
        with self._has_work:
            self._book.settlements.extend(settlements)
            self._has_work.notify_all()

    # Runs

    def run_ended(self, run: Run, outcome: Outcome) -> None:
        """
        A handler ended: its slot is free, and its outcome counts unless the run had concluded before.
        """
        with self._has_work:
            if not self._book.run_ended(run, outcome):
                self._has_moved.notify_all()
            if not self._is_gathering or not self._book.live:
                self._has_work.notify_all()

    def expire(self) -> tuple[list[Run], float | None]:
        """
        Concludes runs whose timeout has passed; answers them, and the seconds until the next deadline.
        """
        now = self._monotonic()
        with self._has_work:
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
        with self._has_work:
            stops_by = [(run, (run.abandoned_at or 0.0) + STUCK_SECONDS) for run in self._book.abandoned.values()]
            waiting = [(run, at) for run, at in stops_by if not run.has_overstayed]
            overstayed = [run for run, at in waiting if at <= now]
            for run in overstayed:
                run.has_overstayed = True
        nearest = min((at for _, at in waiting if at > now), default=NEVER)
        return overstayed, None if nearest == NEVER else nearest - now

    def drop_outlived(self, leases: Iterable[Lease]) -> list[tuple[Run, Outcome]]:
        """
        Takes out the outcomes under leases that were given anew by the claim which is answered now.
        """
        with self._has_work:
            return self._book.drop_outlived(leases)

    def lose(self, run: Run) -> bool:
        """
        Gives up a run whose lease is gone: nothing is stored for it. False if it had concluded anyway.
        """
        with self._has_work:
            is_lost = self._abandon(run, None)
        if is_lost:
            _tell([run], StopReason.LEASE_LOST)
        return is_lost

    def occupants(self, job_ids: Collection[str]) -> dict[str, Run]:
        """
        The runs of these jobs whose handlers go on here, abandoned ones included.
        """
        with self._has_work:
            if self._book.live.keys().isdisjoint(job_ids) and self._book.abandoned.keys().isdisjoint(job_ids):
                return {}
            found = ((i, self._book.live.get(i) or self._book.abandoned.get(i)) for i in job_ids)
            return {job_id: run for job_id, run in found if run is not None}

    def fail_heartbeats(self, failures: int) -> list[Run]:
        """
        Concludes every live run because heartbeats cannot be written.
        """
        with self._has_work:
            runs = list(self._book.live.values())
            failed = [run for run in runs if self._abandon(run, HeartbeatLost(failures))]
        _tell(failed, StopReason.HEARTBEAT_LOST)
        return failed

    def drop_fetched(self, lease: LeaseKey) -> None:
        """
        Forgets a fetched job whose lease is gone.
        """
        with self._has_moved:
            self._book.drop_fetched(lease)
            self._has_moved.notify_all()

    def live(self) -> list[Run]:
        """
        Runs whose row is this worker's and not decided yet.
        """
        with self._has_work:
            return list(self._book.live.values())

    def fetched(self) -> list[ClaimedJob]:
        """
        Jobs that wait here for a slot.
        """
        with self._has_work:
            return list(self._book.fetched)

    def unreleased(self) -> list[ClaimedJob]:
        """
        Fetched jobs, and those whose giving back has not been answered.
        """
        with self._has_work:
            return [*self._book.fetched, *self._book.releasing]

    def abandoned(self) -> list[Run]:
        """
        Runs whose row is decided and whose handler goes on all the same.
        """
        with self._has_work:
            return list(self._book.abandoned.values())

    def is_exhausted(self) -> bool:
        """
        Whether every slot is taken by a handler that nobody waits for, and none of them ends soon.
        """
        with self._has_work:
            return self._is_clogged() and self._seconds_to_stuck() <= 0

    def leases(self) -> set[LeaseKey]:
        """
        Job id and lease number of everything that is accounted for here.
        """
        with self._has_work:
            return self._book.leases()

    def turns(self) -> tuple[int, int]:
        """
        How many turns have begun, and the number of the last one whose answer is booked.
        """
        with self._has_work:
            return self._book.turns_begun, self._book.turns_answered

    def set_capacity(self, capacity: int) -> int:
        """
        Sets how many jobs run at once, from the next start on; answers what it was. Jobs that run beyond it go on.
        """
        with self._has_work:
            before, self.capacity = self.capacity, capacity
            self._visits.look_now()
            self._has_work.notify_all()
            self._has_moved.notify_all()
        return before

    # The ends

    def stop(self) -> None:
        """
        No more claims, for good.
        """
        with self._has_work:
            self._is_stopping = True
            for condition in (self._has_work, self._has_moved, self._has_runs):
                condition.notify_all()

    @property
    def is_stopping(self) -> bool:
        """
        Whether the engine was told to stop.
        """
        return self._is_stopping

    def wait_until_settled(self, seconds: float) -> bool:
        """
        Waits until nothing is live, fetched or unsettled; False if that took too long.
        """
        return self._wait_until(self._is_settled, seconds)

    def wait_until_released(self, seconds: float) -> bool:
        """
        Waits until every fetched job is given back; False if that took too long.
        """
        return self._wait_until(lambda: not self._is_releasing(), seconds)

    def wait_for_runs(self) -> None:
        """
        Blocks while nothing runs or waits to be stored; ends with the engine too.
        """
        with self._has_runs:
            self._has_runs.wait_for(lambda: self._book.is_busy() or self._is_stopping)

    def is_busy(self) -> bool:
        """
        Whether anything runs here or waits to be stored.
        """
        with self._has_work:
            return self._book.is_busy()

    def _wait_until(self, has_come: Callable[[], bool], seconds: float) -> bool:
        with self._has_moved:
            self._waiters += 1
            try:
                return self._has_moved.wait_for(has_come, seconds)
            finally:
                self._waiters -= 1

    # Inside, under the lock

    def _is_done(self, visit: Visit) -> bool:
        now = self._monotonic()
        if self._is_stopping:
            return True
        if self._book.is_busy():
            return len(self._visits) > 1 and not self._visits.has_budget(visit, now)
        if self._is_in_trouble:
            return True
        if self._book.is_turning or self._book.fetched:
            return False
        if self._is_clogged():
            return self._seconds_to_stuck() <= 0
        return not self._visits.has_budget(visit, now) or self._visits.is_over(visit, now)

    def _patience(self, visit: Visit) -> float | None:
        """
        How long to wait before time alone may end the visit.
        """
        patience = self._visits.patience(visit, self._monotonic())
        if not self._is_clogged():
            return patience
        seconds = max(0.0, self._seconds_to_stuck())
        return seconds if patience is None else min(seconds, patience)

    def _is_clogged(self) -> bool:
        """
        Whether every slot is taken by a handler that was told to stop and goes on.
        """
        return len(self._book.abandoned) >= self.capacity

    def _seconds_to_stuck(self) -> float:
        """
        Seconds until the last of the abandoned handlers has had its time to stop.
        """
        told_at = max((run.abandoned_at or 0.0 for run in self._book.abandoned.values()), default=0.0)
        return told_at + STUCK_SECONDS - self._monotonic()

    def _is_settled(self) -> bool:
        is_answered = not self._book.is_turning or self._is_in_trouble
        return is_answered and not self._book.is_busy() and not self._book.fetched

    def _is_releasing(self) -> bool:
        """
        Whether fetched jobs are here, are on their way back, or may come with the answer to a turn.
        """
        may_claim = self._book.is_turning and not self._is_in_trouble and not self._book.live
        return bool(self._book.fetched or self._book.releasing) or may_claim

    def _is_needed(self) -> bool:
        return self._book.is_busy() or (len(self._visits) > 0 and not self._is_stopping)

    def _wants_claims(self) -> bool:
        return not self._is_stopping and self._visits.have_budget(self._monotonic())

    def _wants_starts(self) -> bool:
        return self._wants_claims() and not self._is_clogged()

    def _free_slots(self) -> int:
        return self.capacity - len(self._book.live) - len(self._book.abandoned)

    def _wants_short_jobs(self) -> bool:
        """
        Whether every budget is spent, and jobs may end before the longest of those that still run.
        """
        if self._is_stopping or len(self._visits) == 0 or self._visits.have_budget(self._monotonic()):
            return False
        return self._time_left() >= self._shortest_timeout

    def _time_left(self) -> timedelta:
        """
        The longest timeout that a job claimed past the budget may have.

        What it is measured by never moves back, so that a slow claim makes no visit longer.
        """
        now = self._monotonic()
        longest = max((run.deadline for run in self._book.live.values()), default=now)
        self._claims_end_by = min(self._claims_end_by, longest)
        return timedelta(seconds=max(0.0, self._claims_end_by - now - CLAIM_SECONDS))

    def _room(self) -> tuple[int, int]:
        """
        How many jobs to claim for slots and for the wait behind them; none waits past the budget.
        """
        if self._wants_starts():
            return max(0, self._free_slots()), max(0, self._prefetch - len(self._book.fetched))
        return (max(0, self._free_slots()), 0) if self._wants_short_jobs() else (0, 0)

    def _has_startable(self) -> bool:
        return bool(self._book.fetched) and (self._free_slots() > 0 or not self._wants_starts())

    def _is_look_due(self) -> bool:
        return self._seconds_to_look() == 0

    def _seconds_to_look(self) -> float | None:
        return self._visits.seconds_to_look(self._monotonic()) if sum(self._room()) > 0 else None

    def _gather(self) -> None:
        """
        Waits a moment for running jobs that are about to end; never when nothing else runs.
        """
        deadline = self._monotonic() + GATHER_SECONDS
        self._is_gathering = True
        while self._book.live and (left := deadline - self._monotonic()) > 0:
            self._has_work.wait(left)
        self._is_gathering = False

    def _take_work(self) -> Work:
        book, wants_starts = self._book, self._wants_starts()
        starts = book.take_starts(self._free_slots()) if wants_starts else ()
        unfetched = () if wants_starts else book.take_fetched()
        want, prefetch = self._room()
        work = Work(
            ended=book.take_ended(),
            settlements=book.take_settlements(),
            starts=starts,
            unfetched=unfetched,
            want=max(0, want - len(starts)),
            prefetch=prefetch,
            longest_timeout=self._time_left() if self._wants_short_jobs() else None,
            looks_again_within=self._promise(),
        )
        if work.is_look:
            self._visits.look_begins(self._monotonic())
        book.in_turn = [(lease.job_id, lease.number) for lease in work.leases()]
        book.releasing = unfetched
        book.turns_begun += 1
        return work

    def _promise(self) -> timedelta:
        if not self._wants_claims() or self._free_slots() <= 0:
            return timedelta(0)
        is_idle = not self._book.live and not self._book.fetched
        return self._visits.promise(self._monotonic(), is_idle=is_idle)

    def _abandon(self, run: Run, outcome: Outcome | None) -> bool:
        """
        Concludes a run whose handler still goes on; its slot stays taken until the handler ends.
        """
        is_abandoned = self._book.abandon(run, outcome)
        if is_abandoned:
            run.abandoned_at = self._monotonic()
            self._has_work.notify_all()
            self._has_moved.notify_all()
        return is_abandoned


def _tell(runs: Iterable[Run], reason: StopReason) -> None:
    for run in runs:
        run.tell_to_stop(Stop(reason))
