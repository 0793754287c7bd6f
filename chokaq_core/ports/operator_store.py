"""
The part of a store that people work with. What holds for every method: see `chokaq_core.ports`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from chokaq_core.ports.readings import MAX_LOOK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit
    from chokaq_core.domain.listing import JobFilter, JobQuery, JobSummary, Pillar
    from chokaq_core.domain.operator_log import LogEntry, LogNote
    from chokaq_core.ports.commands import CancelOutcome, Edit, QueueChange, QueueRow, ResurrectOutcome
    from chokaq_core.ports.readings import JobCount, JobPage, MetricBucket, PillarCounts, TopErrors, Totals


class OperatorStore(Protocol):
    """
    What people do to jobs and queues, and what they look at.

    A command takes up to `MAX_BATCH` ids and answers for each in order; a repeated id is judged anew. With a note it
    writes one entry of the operator log in the same transaction: `affected` counts what was changed, `outcome` is the
    `tally` of the outcomes, where a boolean one reads `edited`, `purged` or `stale`, and a queue `changed`.
    """

    def cancel(self, job_ids: Sequence[str], by: str, note: LogNote | None = None) -> Sequence[CancelOutcome]:
        """
        Pending and Fetched → DLQ as Cancelled; Processing is marked and stops by its next heartbeat.
        """

    def resurrect(
        self, job_ids: Sequence[str], by: str, edit: Edit | None = None, note: LogNote | None = None
    ) -> Sequence[ResurrectOutcome]:
        """
        DLQ → Pending with a fresh count of attempts; refused while an active job holds the same key.

        With an edit, each job that comes back is changed by it; one that does not is left as it was.
        """

    def edit(self, job_ids: Sequence[str], edit: Edit, by: str, note: LogNote | None = None) -> Sequence[bool]:
        """
        Changes pending or dead jobs; False where one is fetched, running, archived or gone.
        """

    def purge(self, job_ids: Sequence[str], note: LogNote | None = None) -> Sequence[bool]:
        """
        Deletes archived or dead jobs for good; False where there was none.
        """

    def list_jobs(self, query: JobQuery, limit: int, look: int = MAX_LOOK) -> JobPage:
        """
        Up to `limit` jobs of one pillar in order of their positions, out of at most `look` rows, `MAX_LOOK` at most.

        Walked page by page, a job that stays in its pillar all the while is shown exactly once, and none twice, unless
        it left and came back later in an oldest-first walk; a walk with `to_at` set shows none twice.
        """

    def count_jobs(self, pillar: Pillar, job_filter: JobFilter, look: int = MAX_LOOK) -> JobCount:
        """
        Counts jobs among the pillar's newest `look` rows within the filter's times, `MAX_LOOK` at most.
        """

    def look_up(self, job_ids: Sequence[str]) -> Mapping[str, JobSummary]:
        """
        Up to `MAX_BATCH` jobs by id, from whichever pillar holds each; unknown ids are left out.
        """

    def key_holders(self, keys: Sequence[str]) -> Mapping[str, str]:
        """
        Which of up to `MAX_BATCH` idempotency keys are held, each with the id of the active job that holds it.
        """

    def top_errors(self, look: int, limit: int) -> TopErrors:
        """
        The `limit` largest groups among the newest `look` dead jobs, `MAX_LOOK` at most.

        Groups of equal size stand in order of their newest failure, newest first.
        """

    def operator_log(self, before: int | None, limit: int) -> Sequence[LogEntry]:
        """
        Entries with a number below `before`, newest first.
        """

    def queues(self) -> Sequence[QueueRow]:
        """
        All queues with their controls and what waits in them.

        Ready jobs are counted up to `MAX_LOOK` in all: each queue up to its even share in whole hundreds, 100 at least.
        """

    def change_queue(self, name: str, change: QueueChange, note: LogNote | None = None) -> QueueRow:
        """
        Sets controls, creating the row if need be. Pausing gives back fetched jobs in the same transaction.
        """

    def circuits(self) -> Sequence[Circuit]:
        """
        All circuits that have a row, by type.
        """

    def totals(self) -> Mapping[str, Totals]:
        """
        Counters by queue.
        """

    def buckets(self, since: datetime) -> Sequence[MetricBucket]:
        """
        Metric buckets from a time on, summed over workers, oldest first.
        """

    def counts(self) -> PillarCounts:
        """
        Rows in each pillar, counted in full; for tests and small stores.
        """
