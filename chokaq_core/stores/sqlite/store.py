"""
The embedded store: every method of the contract as one transaction.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import MAX_LOOK
from chokaq_core.stores.sqlite import (
    circuits,
    enqueueing,
    idempotency,
    listing,
    maintaining,
    operating,
    scanning,
    schema,
    turning,
    vitals,
)
from chokaq_core.stores.sqlite.capacity import Capacity
from chokaq_core.stores.sqlite.circuits import Board
from chokaq_core.stores.sqlite.database import Database, machine_time
from chokaq_core.stores.sqlite.rows import RECORDS, micros
from chokaq_core.stores.sqlite.waking import Outlook, ask_for_wake

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, NewJob, Place
    from chokaq_core.domain.listing import JobFilter, JobQuery, JobSummary, Pillar
    from chokaq_core.domain.operator_log import LogEntry, LogNote
    from chokaq_core.ports import (
        Beat,
        BeatAnswer,
        Burial,
        CancelOutcome,
        Census,
        Claim,
        ClaimAnswer,
        Demand,
        Edit,
        EnqueueAnswer,
        JobCount,
        JobPage,
        MetricBucket,
        MovedJob,
        PillarCounts,
        QueueChange,
        QueueRow,
        ResurrectOutcome,
        SchemaState,
        Suspects,
        TimerRow,
        TopErrors,
        Totals,
        Turn,
        TurnAnswer,
        Vitals,
        WorkerFacts,
    )


class SqliteStore:
    """
    Jobs in a SQLite database.

    Args:
        path: the database file, created if missing; None keeps everything in memory, for one process and not durable.
        circuit_rules: when a type's circuit opens and closes; None means the defaults.
        max_jobs: rows that are kept, oldest archived ones evicted first and active ones never; None keeps all.
        clock: a time to use instead of the database's; None in production.
        is_synced_on_commit: wait for the disk at each commit. Without it (WAL, synchronous NORMAL) a power cut may lose
            the last moments, a killed process nothing.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        circuit_rules: CircuitRules | None = None,
        max_jobs: int | None = None,
        clock: Callable[[], datetime] | None = None,
        is_synced_on_commit: bool = False,
    ) -> None:
        now = machine_time if clock is None else lambda: micros(clock())
        self._circuit_rules = circuit_rules if circuit_rules is not None else CircuitRules()
        self._capacity = Capacity(max_jobs) if max_jobs is not None else None
        self._database = Database(path, now, is_synced_on_commit=is_synced_on_commit)

    def prepare(self, on_script: Callable[[str], object] = lambda _: None) -> SchemaState:
        """
        Creates or upgrades the schema; the embedded database is ours alone.
        """
        with self._database.write() as transaction:
            return schema.migrate(transaction, on_script)

    def enqueue(self, jobs: Sequence[NewJob]) -> EnqueueAnswer:
        """
        Stores jobs in one transaction.
        """
        with self._database.write() as transaction:
            answer = enqueueing.enqueue(transaction, jobs, self._circuit_rules)
            if self._capacity is not None:
                self._capacity.keep(transaction, len(jobs))
            return answer

    def turn(self, turn: Turn) -> TurnAnswer:
        """
        Settles, starts and claims in one transaction.
        """
        with self._database.write() as transaction:
            answer = turning.take_turn(transaction, turn, self._circuit_rules)
            if self._capacity is not None:
                self._capacity.keep(transaction, len(turn.settlements))
            return answer

    def beat(self, beat: Beat) -> BeatAnswer:
        """
        Writes one heartbeat for all running jobs of a worker.
        """
        with self._database.write_beat() as transaction:
            return scanning.beat(transaction, beat, self._circuit_rules)

    def register(self, worker: WorkerFacts) -> None:
        """
        Writes a worker's row.
        """
        with self._database.write() as transaction:
            scanning.register(transaction, worker)

    def retire(self, worker_id: str) -> timedelta | None:
        """
        Marks a worker as stopped.
        """
        with self._database.write() as transaction:
            transaction.change("retire", worker=worker_id)
            if transaction.value("enqueue_is_worker_looking"):
                return None
            due = Outlook(transaction, Board(transaction, self._circuit_rules)).next_due()
            return timedelta(0) if due is not None and due <= transaction.now else ask_for_wake(transaction, due)

    def workers(self) -> Sequence[WorkerFacts]:
        """
        All worker rows.
        """
        with self._database.read() as transaction:
            return scanning.workers(transaction)

    def prune_workers(self, silent_for: timedelta) -> int:
        """
        Deletes rows of workers that are long gone.
        """
        with self._database.write() as transaction:
            return scanning.prune_workers(transaction, silent_for)

    def recover(self, fetched_for: timedelta, limit: int) -> Sequence[MovedJob]:
        """
        Gives back jobs that were fetched and never started.
        """
        with self._database.write() as transaction:
            return scanning.recover(transaction, fetched_for, limit, self._circuit_rules)

    def suspects(self, default_timeout: timedelta, limit: int) -> Suspects:
        """
        Processing jobs whose heartbeat is too old.
        """
        with self._database.read() as transaction:
            return scanning.suspects(transaction, default_timeout, limit)

    def bury(self, burials: Sequence[Burial]) -> Sequence[bool]:
        """
        Moves suspects as judged.
        """
        with self._database.write() as transaction:
            return scanning.bury(transaction, burials, self._circuit_rules)

    def timer_started(self, name: str) -> TimerRow:
        """
        Notes a timer's start.
        """
        with self._database.write() as transaction:
            return scanning.timer_started(transaction, name)

    def timer_finished(self, name: str, outcome: str, *, has_succeeded: bool) -> None:
        """
        Notes how a timer's run ended.
        """
        with self._database.write() as transaction:
            transaction.change("timer_finished", name=name, outcome=outcome, has_succeeded=has_succeeded)

    def timers(self) -> Mapping[str, TimerRow]:
        """
        All timers' rows.
        """
        with self._database.read() as transaction:
            return scanning.timers(transaction)

    def demand(self, bound: int) -> Demand:
        """
        What waits, and who is there for it.
        """
        with self._database.read() as transaction:
            return scanning.demand(transaction, bound, self._circuit_rules)

    def vitals(self) -> Vitals:
        """
        One look at everything that health depends on.
        """
        with self._database.read() as transaction:
            return vitals.vitals(transaction, self._circuit_rules)

    def census(self) -> Census:
        """
        Counts waiting and dead jobs.
        """
        with self._database.read() as transaction:
            return vitals.census(transaction)

    def find(self, job_id: str) -> HotJob | ArchivedJob | DeadJob | None:
        """
        The job from whichever pillar holds it.
        """
        with self._database.read() as transaction:
            if (row := transaction.row("find_hot", id=job_id)) is not None:
                return RECORDS.hot_job(row)
            if (row := transaction.row("find_archived", id=job_id)) is not None:
                return RECORDS.archived_job(row)
            row = transaction.row("find_dead", id=job_id)
            return None if row is None else RECORDS.dead_job(row)

    def cancel(self, job_ids: Sequence[str], by: str, note: LogNote | None = None) -> Sequence[CancelOutcome]:
        """
        Cancels jobs that wait and marks those that run.
        """
        with self._database.write() as transaction:
            return operating.cancel(transaction, job_ids, by, note, self._circuit_rules)

    def resurrect(
        self, job_ids: Sequence[str], by: str, edit: Edit | None = None, note: LogNote | None = None
    ) -> Sequence[ResurrectOutcome]:
        """
        Brings dead jobs back, changed if so asked.
        """
        with self._database.write() as transaction:
            return operating.resurrect(transaction, job_ids, by, edit, note)

    def edit(self, job_ids: Sequence[str], edit: Edit, by: str, note: LogNote | None = None) -> Sequence[bool]:
        """
        Changes jobs that are not running.
        """
        with self._database.write() as transaction:
            return operating.edit(transaction, job_ids, edit, by, note)

    def purge(self, job_ids: Sequence[str], note: LogNote | None = None) -> Sequence[bool]:
        """
        Deletes archived or dead jobs.
        """
        with self._database.write() as transaction:
            return operating.purge(transaction, job_ids, note)

    def list_jobs(self, query: JobQuery, limit: int, look: int = MAX_LOOK) -> JobPage:
        """
        A part of a pillar's list.
        """
        with self._database.read() as transaction:
            return listing.list_jobs(transaction, query, limit, look)

    def count_jobs(self, pillar: Pillar, job_filter: JobFilter, look: int = MAX_LOOK) -> JobCount:
        """
        Counts jobs, one look deep.
        """
        with self._database.read() as transaction:
            return listing.count_jobs(transaction, pillar, job_filter, look)

    def look_up(self, job_ids: Sequence[str]) -> Mapping[str, JobSummary]:
        """
        Jobs of any pillar by id.
        """
        with self._database.read() as transaction:
            return listing.look_up(transaction, job_ids)

    def key_holders(self, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Active jobs by the keys that they hold.
        """
        with self._database.read() as transaction:
            return listing.key_holders(transaction, keys)

    def top_errors(self, look: int, limit: int) -> TopErrors:
        """
        The newest dead jobs, grouped.
        """
        with self._database.read() as transaction:
            return listing.top_errors(transaction, look, limit)

    def operator_log(self, before: int | None, limit: int) -> Sequence[LogEntry]:
        """
        What people did.
        """
        with self._database.read() as transaction:
            return listing.operator_log(transaction, before, limit)

    def queues(self) -> Sequence[QueueRow]:
        """
        All queues.
        """
        with self._database.read() as transaction:
            return operating.queues(transaction, self._circuit_rules)

    def change_queue(self, name: str, change: QueueChange, note: LogNote | None = None) -> QueueRow:
        """
        Sets a queue's controls.
        """
        with self._database.write() as transaction:
            return operating.change_queue(transaction, name, change, note, self._circuit_rules)

    def circuits(self) -> Sequence[Circuit]:
        """
        All circuits by type.
        """
        with self._database.read() as transaction:
            return list(circuits.read(transaction).values())

    def totals(self) -> Mapping[str, Totals]:
        """
        Counters by queue.
        """
        with self._database.read() as transaction:
            return operating.totals(transaction)

    def buckets(self, since: datetime) -> Sequence[MetricBucket]:
        """
        Metric buckets from a time on.
        """
        with self._database.read() as transaction:
            return operating.buckets(transaction, since)

    def counts(self) -> PillarCounts:
        """
        Rows in each pillar.
        """
        with self._database.read() as transaction:
            return operating.counts(transaction)

    def claim_key(self, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
        """
        Claims an idempotency key.
        """
        with self._database.write() as transaction:
            return idempotency.claim_key(transaction, claim, lifetime)

    def complete_key(self, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
        """
        Notes that the work behind a key is done.
        """
        with self._database.write() as transaction:
            return idempotency.complete_key(transaction, claim, result, lifetime)

    def release_key(self, claim: Claim) -> bool:
        """
        Gives up a claim.
        """
        with self._database.write() as transaction:
            return idempotency.release_key(transaction, claim)

    def prune_keys(self, limit: int) -> int:
        """
        Deletes expired claims.
        """
        with self._database.write() as transaction:
            return transaction.change("keys_prune", most=limit)

    def purge_expired(self, pillar: Place, older_than: timedelta, limit: int) -> int:
        """
        Deletes old archived or dead jobs.
        """
        with self._database.write() as transaction:
            return maintaining.purge_expired(transaction, pillar, older_than, limit)

    def prune_buckets(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes old metric buckets.
        """
        with self._database.write() as transaction:
            return maintaining.prune_buckets(transaction, older_than, limit)

    def prune_operator_log(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes old entries of the operator log.
        """
        with self._database.write() as transaction:
            return maintaining.prune_operator_log(transaction, older_than, limit)

    def prune_lanes(self, empty_for: timedelta) -> int:
        """
        Forgets lanes that are empty for long.
        """
        with self._database.write() as transaction:
            return maintaining.prune_lanes(transaction, empty_for)

    def fold_counters(self, limit: int) -> int:
        """
        Folds counters of single workers.
        """
        with self._database.write() as transaction:
            return maintaining.fold_counters(transaction, limit)

    def rest(self) -> None:
        """
        Closes idle connections of a file.
        """
        self._database.rest()

    def close(self) -> None:
        """
        Closes everything.
        """
        self._database.close()
