"""
What this process holds, as plain data: who runs, who waits, what is to be stored, and handlers that nobody waits for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chokaq_core.domain.failures import Outcome
    from chokaq_core.domain.job import ClaimedJob, Lease
    from chokaq_core.domain.moves import Settlement
    from chokaq_core.engine.run import Run

NEVER = float("inf")
"""A time that does not come."""

LeaseKey = tuple[str, int]
"""Job id and lease number."""


class Work(Value):
    """
    What the next turn is about.

    Attributes:
        ended: runs with their outcomes, to be decided and settled.
        settlements: settlements that need no decision.
        starts: fetched jobs that have a slot now.
        unfetched: fetched jobs to give back.
        longest_timeout: of the jobs to claim; None for any.
        looks_again_within: the promise to look again; zero promises nothing.
    """

    ended: tuple[tuple[Run, Outcome], ...] = ()
    settlements: tuple[Settlement, ...] = ()
    starts: tuple[ClaimedJob, ...] = ()
    unfetched: tuple[ClaimedJob, ...] = ()
    want: int = 0
    prefetch: int = 0
    longest_timeout: timedelta | None = None
    looks_again_within: timedelta = timedelta(0)

    @property
    def is_look(self) -> bool:
        """
        Whether the turn looks for work.
        """
        return self.want + self.prefetch > 0

    @property
    def has_leases(self) -> bool:
        """
        Whether the turn is to change any lease.
        """
        return bool(self.ended or self.settlements or self.starts or self.unfetched)

    def leases(self) -> Iterator[Lease]:
        """
        Every lease that the turn is to change.
        """
        yield from (run.lease for run, _ in self.ended)
        yield from (settlement.lease for settlement in self.settlements)
        yield from (job.lease for job in (*self.starts, *self.unfetched))


_NOTHING = Work()


class PendingCancel(Value):
    """
    A cancel for a job that is about to start, until it is too old to mean that run.
    """

    by: str | None
    expires_at: float


@dataclass(slots=True)
class Book:
    """
    The contents of the ledger, which guards it with its lock.

    Attributes:
        capacity: how many jobs run at once.
        is_stopping: the engine was told to stop: no more claims, for good.
        live: runs whose row is this worker's and not decided yet.
        abandoned: runs whose row is decided and whose handler goes on all the same; each holds a slot.
        fetched: jobs that wait here for a slot.
        ended: outcomes that wait to be stored.
        settlements: settlements that wait to be stored and need no outcome.
        in_turn: what the turn under way is about, until its answer is entered here.
        cancels: cancels that came before the run they are for.
        turns_begun: how many turns this process has taken so far.
        turns_answered: the number of the last one whose answer is entered here.
    """

    capacity: int
    is_stopping: bool = False
    live: dict[str, Run] = field(default_factory=dict)
    abandoned: dict[str, Run] = field(default_factory=dict)
    fetched: deque[ClaimedJob] = field(default_factory=deque)
    ended: list[tuple[Run, Outcome]] = field(default_factory=list)
    settlements: list[Settlement] = field(default_factory=list)
    in_turn: Work = _NOTHING
    cancels: dict[LeaseKey, PendingCancel] = field(default_factory=dict)
    turns_begun: int = 0
    turns_answered: int = 0

    @property
    def is_turning(self) -> bool:
        """
        Whether a turn is under way.
        """
        return self.turns_begun > self.turns_answered

    def is_busy(self) -> bool:
        """
        Whether anything runs or waits to be stored.
        """
        return bool(self.live or self.ended or self.settlements or self.in_turn.has_leases)

    def free_slots(self) -> int:
        """
        Slots that no handler holds; below zero after the capacity was lowered.
        """
        return self.capacity - len(self.live) - len(self.abandoned)

    def is_clogged(self) -> bool:
        """
        Whether every slot is taken by a handler that was told to stop and goes on.
        """
        return len(self.abandoned) >= self.capacity

    def seconds_to_stuck(self, now: float) -> float:
        """
        Seconds until the last of the abandoned handlers has had its time to stop.
        """
        return max((run.stuck_at for run in self.abandoned.values()), default=now) - now

    def answer_turn(self) -> None:
        """
        Notes that what the turn under way was about is stored.
        """
        self.in_turn = _NOTHING

    def end_turn(self) -> None:
        """
        Notes that no turn is under way any more.
        """
        self.answer_turn()
        self.turns_answered = self.turns_begun

    def hold(self, runs: Iterable[Run], fetched: Iterable[ClaimedJob]) -> None:
        """
        Enters claimed jobs.
        """
        for run in runs:
            self.live[run.lease.job_id] = run
        self.fetched.extend(fetched)

    def drop_outlived(self, leases: Iterable[Lease]) -> list[tuple[Run, Outcome]]:
        """
        Takes out the outcomes under leases that were given anew.

        The job was purged, and another one enqueued under its id: its leases are counted from the beginning.
        """
        if not self.ended:
            return []
        anew = {(lease.job_id, lease.number) for lease in leases}
        outlived = [ended for ended in self.ended if (ended[0].lease.job_id, ended[0].lease.number) in anew]
        self.ended = [ended for ended in self.ended if ended not in outlived]
        return outlived

    def keep_cancel(self, lease: LeaseKey, cancel: PendingCancel, now: float) -> None:
        """
        Keeps a cancel, and drops those that are too old.
        """
        self.cancels = {key: kept for key, kept in self.cancels.items() if kept.expires_at > now}
        self.cancels.setdefault(lease, cancel)

    def take_cancel(self, run: Run, now: float) -> PendingCancel | None:
        """
        The cancel that came before this run, unless it is too old.
        """
        cancel = self.cancels.pop((run.lease.job_id, run.lease.number), None)
        return cancel if cancel is not None and cancel.expires_at > now else None

    def run_ended(self, run: Run, outcome: Outcome) -> bool:
        """
        Enters the end of a handler; False when the run had been decided before, and only its slot is free now.
        """
        job_id = run.lease.job_id
        if run.conclude():
            self.live.pop(job_id, None)
            self.ended.append((run, outcome))
            return True
        if self.abandoned.get(job_id) is run:
            del self.abandoned[job_id]
        return False

    def abandon(self, run: Run, outcome: Outcome | None) -> bool:
        """
        Decides a run whose handler still goes on; False when it had been decided before. None stores nothing for it.
        """
        if not run.conclude():
            return False
        self.live.pop(run.lease.job_id, None)
        self.abandoned[run.lease.job_id] = run
        if outcome is not None:
            self.ended.append((run, outcome))
        return True

    def drop_fetched(self, lease: LeaseKey) -> None:
        """
        Forgets a fetched job whose lease is gone.
        """
        self.fetched = deque(job for job in self.fetched if (job.lease.job_id, job.lease.number) != lease)

    def take_starts(self, slots: int) -> tuple[ClaimedJob, ...]:
        """
        Takes fetched jobs for so many free slots.
        """
        return tuple(self.fetched.popleft() for _ in range(min(len(self.fetched), slots)))

    def take_fetched(self) -> tuple[ClaimedJob, ...]:
        """
        Takes all fetched jobs.
        """
        fetched, self.fetched = tuple(self.fetched), deque()
        return fetched

    def take_ended(self) -> tuple[tuple[Run, Outcome], ...]:
        """
        Takes all outcomes.
        """
        ended, self.ended = tuple(self.ended), []
        return ended

    def take_settlements(self) -> tuple[Settlement, ...]:
        """
        Takes all other settlements, but for jobs that turned out to be held here after all.
        """
        if not self.settlements:
            return ()
        held = {*self._live_leases(), *self._fetched_leases()}
        settlements = tuple(s for s in self.settlements if (s.lease.job_id, s.lease.number) not in held)
        self.settlements = []
        return settlements

    def leases(self) -> set[LeaseKey]:
        """
        Everything that is accounted for here.
        """
        waiting = [run.lease for run, _ in self.ended] + [s.lease for s in self.settlements]
        return {
            *self._live_leases(),
            *self._fetched_leases(),
            *((lease.job_id, lease.number) for lease in (*waiting, *self.in_turn.leases())),
        }

    def _live_leases(self) -> Iterator[LeaseKey]:
        yield from ((job_id, run.lease.number) for job_id, run in self.live.items())

    def _fetched_leases(self) -> Iterator[LeaseKey]:
        yield from ((job.lease.job_id, job.lease.number) for job in self.fetched)
