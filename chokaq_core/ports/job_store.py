"""
The part of a store that work goes through. What holds for every method: see `chokaq_core.ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, NewJob
    from chokaq_core.ports.jobs import EnqueueAnswer, Turn, TurnAnswer
    from chokaq_core.ports.scans import Burial, Demand, MovedJob, Suspects, TimerRow
    from chokaq_core.ports.vitals import Census, SchemaState, Vitals
    from chokaq_core.ports.workers import Beat, BeatAnswer, WorkerFacts


class JobStore(Protocol):
    """
    What producers, workers and scans need.
    """

    def prepare(self, on_script: Callable[[str], object] = ...) -> SchemaState:
        """
        Makes the schema ready where the settings allow it, and says what state it is in.

        Args:
            on_script: called with a migration script's name before it is applied; when a call to the store fails, the
                last one is the script that failed.
        """

    def enqueue(self, jobs: Sequence[NewJob]) -> EnqueueAnswer:
        """
        Stores up to 1000 jobs in one transaction, one outcome each; a bad one does not spoil the rest.

        A job whose id exists with the same type and payload answers `created`, so repeating a lost call is safe.
        """

    def turn(self, turn: Turn) -> TurnAnswer:
        """
        Settles, starts and claims in one transaction.

        Repeated with the same `seq` after it had been committed, it moves nothing and gives the first answer again;
        leases of that answer that have moved on meanwhile are left out.
        """

    def beat(self, beat: Beat) -> BeatAnswer:
        """
        Writes the heartbeat of every Processing job held in the worker's name and names all jobs held.
        """

    def register(self, worker: WorkerFacts) -> None:
        """
        Writes the worker's row, new or not.
        """

    def retire(self, worker_id: str) -> timedelta | None:
        """
        Marks the worker as stopped; it promises nothing any more.

        Returns:
            When a delayed wake is wanted for the next due time, as in `TurnAnswer.wake_in`; zero for a job that came
            due since the last look. None while another worker has promised to look again: the last one out asks.
        """

    def workers(self) -> Sequence[WorkerFacts]:
        """
        All worker rows.
        """

    def prune_workers(self, silent_for: timedelta) -> int:
        """
        Deletes rows of workers that were silent for so long and hold no job; says how many.
        """

    def recover(self, fetched_for: timedelta, limit: int) -> Sequence[MovedJob]:
        """
        Gives back jobs that were fetched so long ago and never started: Fetched → Pending.
        """

    def suspects(self, default_timeout: timedelta, limit: int) -> Suspects:
        """
        Processing jobs whose heartbeat is older than their queue's zombie timeout, else the default. Moves nothing.
        """

    def bury(self, burials: Sequence[Burial]) -> Sequence[bool]:
        """
        Moves suspects as judged, each only if its lease and heartbeat are still as they were read; True where applied.
        """

    def timer_started(self, name: str) -> TimerRow:
        """
        Notes the start and answers what was known before it.
        """

    def timer_finished(self, name: str, outcome: str, *, has_succeeded: bool) -> None:
        """
        Notes how a timer's run ended.
        """

    def timers(self) -> Mapping[str, TimerRow]:
        """
        All timers' rows by name.
        """

    def demand(self, bound: int) -> Demand:
        """
        Counts claimable jobs up to `bound`, and workers that have promised to look again.
        """

    def vitals(self) -> Vitals:
        """
        One look at everything that health depends on; flat in the number of jobs.
        """

    def census(self) -> Census:
        """
        Counts waiting and dead jobs in full; for a gauge now and then.
        """

    def find(self, job_id: str) -> HotJob | ArchivedJob | DeadJob | None:
        """
        The job from whichever pillar holds it.
        """

    def rest(self) -> None:
        """
        Lets go of connections that would be stale after a pause; the next call opens them again.
        """

    def close(self) -> None:
        """
        Closes everything. The store is not used afterwards.
        """
