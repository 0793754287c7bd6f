"""
The production store: every method of the contract as one transaction and one round trip.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import MAX_LOOK
from chokaq_core.stores.sqlserver import (
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
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.rows import RECORDS, is_possible_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, NewJob, Place
    from chokaq_core.domain.listing import JobFilter, JobQuery, JobSummary, Pillar
    from chokaq_core.domain.operator_log import LogEntry, LogNote
    from chokaq_core.policy.sqlserver import SqlServerSettings
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

BEAT_TIMEOUT = timedelta(seconds=10)


class SqlServerStore:
    """
    Jobs in a SQL Server or Azure SQL database. Opens no connection before its first call.

    Args:
        settings: where, as whom, how patiently, and whether tables may be made.
        circuit_rules: when a type's circuit opens and closes; None means the defaults.
        beat_timeout: bound on each heartbeat; no longer than the shortest interval between two.
        clock: a time to use instead of the database's; None in production.
        database: what speaks to the server; None makes it from the settings.
    """

    def __init__(
        self,
        settings: SqlServerSettings,
        *,
        circuit_rules: CircuitRules | None = None,
        beat_timeout: timedelta = BEAT_TIMEOUT,
        clock: Callable[[], datetime] | None = None,
        database: Database | None = None,
    ) -> None:
        self._settings = settings
        self._circuit_rules = circuit_rules if circuit_rules is not None else CircuitRules()
        self._database = database or Database(settings, beat_timeout=beat_timeout, clock=clock)

    def prepare(self, on_script: Callable[[str], object] = lambda _: None) -> SchemaState:
        """
        Creates or upgrades the schema where `AutoCreateSqlTable` allows it; else only looks at it.
        """
        if self._settings.auto_create:
            return schema.migrate(self._database, on_script)
        return schema.state(self._database)

    def enqueue(self, jobs: Sequence[NewJob]) -> EnqueueAnswer:
        """
        Stores jobs in one transaction.
        """
        return enqueueing.enqueue(self._database, jobs, self._circuit_rules)

    def turn(self, turn: Turn) -> TurnAnswer:
        """
        Settles, starts and claims in one transaction.
        """
        return turning.take_turn(self._database, turn, self._circuit_rules)

    def beat(self, beat: Beat) -> BeatAnswer:
        """
        Writes one heartbeat for all running jobs of a worker.
        """
        return scanning.beat(self._database, beat, self._circuit_rules)

    def register(self, worker: WorkerFacts) -> None:
        """
        Writes a worker's row.
        """
        scanning.register(self._database, worker)

    def retire(self, worker_id: str) -> timedelta | None:
        """
        Marks a worker as stopped.
        """
        return scanning.retire(self._database, worker_id, self._circuit_rules)

    def workers(self) -> Sequence[WorkerFacts]:
        """
        All worker rows.
        """
        return scanning.workers(self._database)

    def prune_workers(self, silent_for: timedelta) -> int:
        """
        Deletes rows of workers that are long gone.
        """
        return scanning.prune_workers(self._database, silent_for)

    def recover(self, fetched_for: timedelta, limit: int) -> Sequence[MovedJob]:
        """
        Gives back jobs that were fetched and never started.
        """
        return scanning.recover(self._database, fetched_for, limit, self._circuit_rules)

    def suspects(self, default_timeout: timedelta, limit: int) -> Suspects:
        """
        Processing jobs whose heartbeat is too old.
        """
        return scanning.suspects(self._database, default_timeout, limit)

    def bury(self, burials: Sequence[Burial]) -> Sequence[bool]:
        """
        Moves suspects as judged.
        """
        return scanning.bury(self._database, burials, self._circuit_rules)

    def timer_started(self, name: str) -> TimerRow:
        """
        Notes a timer's start.
        """
        return scanning.timer_started(self._database, name)

    def timer_finished(self, name: str, outcome: str, *, has_succeeded: bool) -> None:
        """
        Notes how a timer's run ended.
        """
        scanning.timer_finished(self._database, name, outcome, has_succeeded=has_succeeded)

    def timers(self) -> Mapping[str, TimerRow]:
        """
        All timers' rows.
        """
        return scanning.timers(self._database)

    def demand(self, bound: int) -> Demand:
        """
        What waits, and who is there for it.
        """
        return scanning.demand(self._database, bound, self._circuit_rules)

    def find(self, job_id: str) -> HotJob | ArchivedJob | DeadJob | None:
        """
        The job from whichever pillar holds it.
        """
        if not is_possible_id(job_id):
            return None
        hot, archived, dead, hot_again = self._database.run("find", {"id": job_id})
        if hot or hot_again:
            return RECORDS.hot_job((hot or hot_again)[0])
        if archived:
            return RECORDS.archived_job(archived[0])
        return RECORDS.dead_job(dead[0]) if dead else None

    def vitals(self) -> Vitals:
        """
        One look at everything that health depends on.
        """
        return vitals.vitals(self._database, self._circuit_rules)

    def census(self) -> Census:
        """
        Counts waiting and dead jobs.
        """
        return vitals.census(self._database)

    def cancel(self, job_ids: Sequence[str], by: str, note: LogNote | None = None) -> Sequence[CancelOutcome]:
        """
        Cancels jobs that wait and marks those that run.
        """
        return operating.cancel(self._database, job_ids, by, note, self._circuit_rules)

    def resurrect(
        self, job_ids: Sequence[str], by: str, edit: Edit | None = None, note: LogNote | None = None
    ) -> Sequence[ResurrectOutcome]:
        """
        Brings dead jobs back, changed if so asked.
        """
        return operating.resurrect(self._database, job_ids, by, edit, note)

    def edit(self, job_ids: Sequence[str], edit: Edit, by: str, note: LogNote | None = None) -> Sequence[bool]:
        """
        Changes jobs that are not running.
        """
        return operating.edit(self._database, job_ids, edit, by, note)

    def purge(self, job_ids: Sequence[str], note: LogNote | None = None) -> Sequence[bool]:
        """
        Deletes archived or dead jobs.
        """
        return operating.purge(self._database, job_ids, note)

    def list_jobs(self, query: JobQuery, limit: int, look: int = MAX_LOOK) -> JobPage:
        """
        A part of a pillar's list.
        """
        return listing.list_jobs(self._database, query, limit, look)

    def count_jobs(self, pillar: Pillar, job_filter: JobFilter, look: int = MAX_LOOK) -> JobCount:
        """
        Counts jobs, one look deep.
        """
        return listing.count_jobs(self._database, pillar, job_filter, look)

    def look_up(self, job_ids: Sequence[str]) -> Mapping[str, JobSummary]:
        """
        Jobs of any pillar by id.
        """
        return listing.look_up(self._database, job_ids)

    def key_holders(self, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Active jobs by the keys that they hold.
        """
        return listing.key_holders(self._database, keys)

    def top_errors(self, look: int, limit: int) -> TopErrors:
        """
        The newest dead jobs, grouped.
        """
        return listing.top_errors(self._database, look, limit)

    def operator_log(self, before: int | None, limit: int) -> Sequence[LogEntry]:
        """
        What people did.
        """
        return listing.operator_log(self._database, before, limit)

    def queues(self) -> Sequence[QueueRow]:
        """
        All queues.
        """
        return operating.queues(self._database, self._circuit_rules)

    def change_queue(self, name: str, change: QueueChange, note: LogNote | None = None) -> QueueRow:
        """
        Sets a queue's controls.
        """
        return operating.change_queue(self._database, name, change, note, self._circuit_rules)

    def circuits(self) -> Sequence[Circuit]:
        """
        All circuits that have a row.
        """
        return operating.circuits(self._database)

    def totals(self) -> Mapping[str, Totals]:
        """
        Counters by queue.
        """
        return operating.totals(self._database)

    def buckets(self, since: datetime) -> Sequence[MetricBucket]:
        """
        Metric buckets from a time on.
        """
        return operating.buckets(self._database, since)

    def counts(self) -> PillarCounts:
        """
        Rows in each pillar.
        """
        return operating.counts(self._database)

    def claim_key(self, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
        """
        Claims an idempotency key.
        """
        return idempotency.claim_key(self._database, claim, lifetime)

    def complete_key(self, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
        """
        Notes that the work behind a key is done.
        """
        return idempotency.complete_key(self._database, claim, result, lifetime)

    def release_key(self, claim: Claim) -> bool:
        """
        Gives up a claim.
        """
        return idempotency.release_key(self._database, claim)

    def prune_keys(self, limit: int) -> int:
        """
        Deletes expired claims.
        """
        return idempotency.prune_keys(self._database, limit)

    def purge_expired(self, pillar: Place, older_than: timedelta, limit: int) -> int:
        """
        Deletes old archived or dead jobs.
        """
        return maintaining.purge_expired(self._database, pillar, older_than, limit)

    def prune_buckets(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes old metric buckets.
        """
        return maintaining.prune_buckets(self._database, older_than, limit)

    def prune_operator_log(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes old entries of the operator log.
        """
        return maintaining.prune_operator_log(self._database, older_than, limit)

    def prune_lanes(self, empty_for: timedelta) -> int:
        """
        Forgets lanes that are empty for long.
        """
        return maintaining.prune_lanes(self._database, empty_for)

    def fold_counters(self, limit: int) -> int:
        """
        Folds counters of single workers.
        """
        return maintaining.fold_counters(self._database, limit)

    def rest(self) -> None:
        """
        Closes idle connections.
        """
        self._database.rest()

    def close(self) -> None:
        """
        Closes everything.
        """
        self._database.close()
