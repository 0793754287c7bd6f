"""
What the engine, the operators and the hosts ask of the outside: the store's contract, wakes, events.

Every store method is one transaction and one round trip. A move whose guard is false changes nothing and is reported as
*stale*, an ordinary value. An exception means "unknown": the caller repeats the same call, and every write is safe to
repeat. All times are the database's clock, in UTC.

Raised by every method:
    StoreUnavailableError: away or busy; repeat the call.
    StoreRefusedError: the schema, a permission or the disk needs a person.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from chokaq_core.domain.circuit import Circuit, CircuitEvent, CircuitReport
    from chokaq_core.domain.events import Event, JobRef
    from chokaq_core.domain.failures import ErrorFacts, FailureReason
    from chokaq_core.domain.job import ArchivedJob, ClaimedJob, DeadJob, HotJob, Lease, NewJob, Place
    from chokaq_core.domain.lanes import LaneFilter
    from chokaq_core.domain.listing import JobFilter, JobQuery, JobSummary, Pillar, Position
    from chokaq_core.domain.moves import Settlement
    from chokaq_core.domain.operator_log import LogEntry, LogNote
    from chokaq_core.policy.after_failure import Verdict
    from chokaq_core.policy.rescue import Suspect

WAKE_HORIZON = timedelta(minutes=15)
"""Due times further off get no delayed wake; the poll finds them."""

MAX_BATCH = 1_000
"""No call moves more rows than this; callers cut larger batches."""

MAX_LOOK = 10_000
"""No call that lists or counts jobs looks at more rows than this; it answers where to go on, or that there are more."""


class EnqueueOutcome(StrEnum):
    """
    What became of one job of an enqueue.
    """

    CREATED = "created"
    DUPLICATE = "duplicate"
    KEY_CONFLICT = "key_conflict"
    ID_TAKEN = "id_taken"


class EnqueueItem(Value):
    """
    One job's outcome; `job_id` is the id that now stands for it: its own, or the first holder of its key.
    """

    outcome: EnqueueOutcome
    job_id: str


class EnqueueAnswer(Value):
    """
    Outcomes in the order of the jobs.

    Attributes:
        is_claimable: a job that was created may be claimed now: it is due, its queue open and below its limit, and its
            type not held back by its circuit.
        is_worker_looking: a living worker has promised to look again.
        wake_in: a delayed wake is wanted for then; none for an earlier time is under way.
    """

    items: tuple[EnqueueItem, ...]
    is_claimable: bool
    is_worker_looking: bool
    wake_in: timedelta | None = None


class Turn(Value):
    """
    One round trip of a worker: settle what ended, start what was fetched, claim for the room that is left.

    Attributes:
        seq: rises by one with each turn of a worker and stays the same when a turn is repeated.
        settlements: at most one for each job.
        want: jobs to claim straight into Processing.
        prefetch: jobs to claim into Fetched besides.
        after_queue: the last queue served; queues of equal priority take turns from there.
        looks_again_within: the worker's promise, which spares producers a wake; zero promises nothing, and a claim that
            takes every free slot voids it.
        reports: what settled runs have to tell the circuits of their types; successes only for circuits that care.
        lanes: where jobs may be claimed from; None for every lane.
    """

    worker_id: str
    seq: int
    settlements: tuple[Settlement, ...] = ()
    starts: tuple[Lease, ...] = ()
    want: int = 0
    prefetch: int = 0
    after_queue: str = ""
    looks_again_within: timedelta = timedelta(0)
    reports: tuple[CircuitReport, ...] = ()
    lanes: LaneFilter | None = None


class TurnAnswer(Value):
    """
    What a turn did.

    Attributes:
        stale: ids of settlements and starts that were not applied.
        cancelled: ids whose settlement became Cancelled, because an operator had marked the job meanwhile.
        claimed: the jobs now leased to this worker, first to run first.
        is_full: as many were claimed as were wanted, so more may be waiting.
        next_due_at: when nothing was left to claim: from when on a job may be claimed next, as far as is known. A type
            that is held back waits for its circuit; for queues that are closed or at their limit nobody waits.
        has_open_queue: False when every queue is paused or inactive.
        last_queue: the next turn's `after_queue`.
        is_repeat: the turn had been committed before; nothing moved now.
        circuits: every circuit that is not closed and healthy, after this turn.
        circuit_events: what this turn did to circuits.
        wake_in: a delayed wake is wanted for then; none for an earlier time is under way.
    """

    now: datetime
    stale: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()
    claimed: tuple[ClaimedJob, ...] = ()
    is_full: bool = False
    next_due_at: datetime | None = None
    has_open_queue: bool = True
    last_queue: str = ""
    is_repeat: bool = False
    circuits: tuple[Circuit, ...] = ()
    circuit_events: tuple[CircuitEvent, ...] = ()
    wake_in: timedelta | None = None


class Progress(Value):
    """
    How far a running job is, for the next heartbeat.
    """

    lease: Lease
    percent: int
    note: str | None


class Beat(Value):
    """
    One heartbeat for all running jobs of a worker.
    """

    worker_id: str
    progress: tuple[Progress, ...] = ()
    active: int = 0
    abandoned: int = 0
    capacity: int = 0


class HeldJob(Value):
    """
    A job held in a worker's name, as a heartbeat finds it.
    """

    lease_number: int
    is_running: bool
    is_cancel_requested: bool
    cancel_requested_by: str | None = None


class BeatAnswer(Value):
    """
    Every job held in the worker's name, by id. What is missing was lost.
    """

    held: Mapping[str, HeldJob]


class WorkerState(StrEnum):
    """
    What a worker says of itself.
    """

    RUNNING = "running"
    DRAINING = "draining"
    STOPPED = "stopped"


class WorkerFacts(Value):
    """
    A worker's row.
    """

    worker_id: str
    host: str
    capacity: int
    state: WorkerState = WorkerState.RUNNING
    active: int = 0
    abandoned: int = 0
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None


class MovedJob(Value):
    """
    A job that a scan moved.
    """

    job_id: str
    queue: str
    type_key: str
    attempt: int
    worker_id: str | None


class Suspects(Value):
    """
    Jobs whose heartbeat is too old, with the clock they were measured by.
    """

    now: datetime
    jobs: tuple[Suspect, ...]


class Burial(Value):
    """
    A verdict on one suspect, as it was read, with what to remember.
    """

    suspect: Suspect
    verdict: Verdict
    error: ErrorFacts


class TimerRow(Value):
    """
    What is known of a timer.
    """

    now: datetime
    last_started_at: datetime | None
    last_succeeded_at: datetime | None
    last_outcome: str | None = None


class Demand(Value):
    """
    How much work waits and who is there for it.

    Attributes:
        claimable: due jobs that may be claimed now, counted up to a bound: not those of closed queues, beyond a
            queue's limit, or of types held back by their circuits.
        looking_workers: workers that have room and have promised to look again.
    """

    now: datetime
    claimable: int
    looking_workers: int


class CancelOutcome(StrEnum):
    """
    What a cancel came to.
    """

    DEAD_LETTERED = "dead_lettered"
    MARKED = "marked"
    STALE = "stale"


class ResurrectOutcome(StrEnum):
    """
    What a resurrection came to.
    """

    RESURRECTED = "resurrected"
    KEY_HELD = "key_held"
    STALE = "stale"


class Edit(Value):
    """
    New values for a job that is not running; None leaves a value as it is.
    """

    payload: str | None = None
    tags: str | None = None
    priority: int | None = None


class QueueRow(Value):
    """
    A queue's controls, with what waits and runs in it.

    Attributes:
        is_pending_complete: False when more jobs wait than were counted.
    """

    name: str
    is_paused: bool
    is_active: bool
    max_workers: int | None
    zombie_timeout: timedelta | None
    pending: int = 0
    running: int = 0
    lag: timedelta = timedelta(0)
    is_pending_complete: bool = True


class QueueChange(Value):
    """
    New controls for a queue. Fields left at None stay; limits are cleared by name in `clear`.
    """

    is_paused: bool | None = None
    is_active: bool | None = None
    max_workers: int | None = None
    zombie_timeout: timedelta | None = None
    clear: frozenset[str] = frozenset()


class Totals(Value):
    """
    Counters of one queue over all workers and times, and rows now in each pillar.
    """

    succeeded: int = 0
    failed: int = 0
    retried: int = 0


class MetricBucket(Value):
    """
    What ended in one second: of one queue, outcome and reason, summed over workers.
    """

    at: datetime
    queue: str
    outcome: int
    reason: int
    completed: int
    duration_count: int
    total_duration_ms: float
    max_duration_ms: float


class JobPage(Value):
    """
    A part of a list.

    Attributes:
        further: where to go on. There may be one although the page is not full, even empty: one look went no further.
            None means that the list ends here.
    """

    now: datetime
    jobs: tuple[JobSummary, ...]
    further: Position | None = None


class JobCount(Value):
    """
    How many jobs match among the rows looked at; not complete when there are others.
    """

    count: int
    is_complete: bool


class ErrorGroup(Value):
    """
    Dead jobs of one type that ended by one type of error, for one reason.

    Attributes:
        error_type: None where no attempt failed, such as for a job that was cancelled while it waited.
        error_line: the last line of its newest job's error.
    """

    type_key: str
    error_type: str | None
    reason: FailureReason
    jobs: int
    first_failed_at: datetime
    last_failed_at: datetime
    newest_job_id: str
    error_line: str | None = None


class TopErrors(Value):
    """
    Groups of the newest dead jobs, largest first; not complete when there are older ones that were not looked at.
    """

    groups: tuple[ErrorGroup, ...]
    is_complete: bool


class PillarCounts(Value):
    """
    Rows in each pillar.
    """

    hot: int
    archive: int
    dlq: int


class SchemaState(Value):
    """
    Whether the database is ready, and if not, what is missing.
    """

    version: int
    expected_version: int
    missing_tables: tuple[str, ...] = field(default=())

    @property
    def is_ready(self) -> bool:
        """
        Whether the code can work with this schema.

        A newer one will do: scripts add and never take away, so that a release can be rolled back and two releases can
        run side by side during an update.
        """
        return not self.missing_tables and self.version >= self.expected_version


class Vitals(Value):
    """
    How things stand, for health checks. With a schema that is not ready only `schema` is filled.

    Attributes:
        looking_workers: workers that have room and have promised to look again.
        lags: by open queue, how long its longest waiting due job has waited; types held back by circuits left out.
        oldest_heartbeat_age: of the running jobs; zero when nothing runs.
    """

    now: datetime
    schema: SchemaState
    workers: tuple[WorkerFacts, ...] = ()
    looking_workers: int = 0
    lags: Mapping[str, timedelta] = field(default_factory=dict)
    timers: Mapping[str, TimerRow] = field(default_factory=dict)
    oldest_heartbeat_age: timedelta = timedelta(0)


class Census(Value):
    """
    Jobs that wait and jobs that are dead, by queue.
    """

    waiting: Mapping[str, int]
    dead: Mapping[str, int]


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


class Claim(Value):
    """
    One job's claim on an idempotency key. Keys of different types have nothing to do with each other.
    """

    type_key: str
    key: str
    job_id: str


class ClaimState(StrEnum):
    """
    How a claim was answered: this job may run, another job runs, or the work is done.
    """

    CLAIMED = "claimed"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class ClaimAnswer(Value):
    """
    The answer to a claim, with the result that was kept when the work is done.
    """

    state: ClaimState
    result: str | None = None


class ClaimStore(Protocol):
    """
    Who runs, or ran, the work behind an idempotency key. Each method is atomic; lifetimes are of the store's own clock.

    What has expired is as if it had never been. Keys are compared character by character.
    """

    def claim_key(self, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
        """
        Claims the key for a while: unless another job holds it, or any job has completed it, the job holds it now.

        A job that holds the key already claims it afresh.
        """

    def complete_key(self, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
        """
        Notes that the work is done, with its result as JSON text; None keeps it for ever.

        False, and nothing noted, when another job holds or has completed the key: the claim had expired meanwhile.
        Repeated by the job that completed it, it is true again.
        """

    def release_key(self, claim: Claim) -> bool:
        """
        Gives up the job's own claim on work that is not done; False when it held none.
        """

    def prune_keys(self, limit: int) -> int:
        """
        Deletes up to so many expired claims; says how many.
        """


class MaintenanceStore(Protocol):
    """
    What keeps the database small. Each call is one short transaction, safe to repeat and to run twice at once.

    The answer is what this call removed; a batch that was not full says that nothing is left for now.
    """

    def purge_expired(self, pillar: Place, older_than: timedelta, limit: int) -> int:
        """
        Deletes up to `limit` jobs of the archive or the DLQ that ended so long ago, oldest first.
        """

    def prune_buckets(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes metric buckets of so long ago, oldest first. Those of one second go together, so it may be a few more.
        """

    def prune_operator_log(self, older_than: timedelta, limit: int) -> int:
        """
        Deletes up to `limit` entries of the operator log of so long ago, oldest first.
        """

    def prune_lanes(self, empty_for: timedelta) -> int:
        """
        Forgets lanes without an active job that earlier calls have found empty for so long; may skip its turn.

        A job stored later brings its lane back: no enqueue or resurrection may trust that a lane is there still.
        """

    def fold_counters(self, limit: int) -> int:
        """
        Adds up to `limit` rows each of totals and buckets of single workers to rows for all of them.

        Totals only of workers without a row; buckets that are minutes old. No sum of `totals` or `buckets` changes.
        """


class Store(JobStore, OperatorStore, ClaimStore, MaintenanceStore, Protocol):
    """
    A whole store.
    """


class WakeSender(Protocol):
    """
    Sends hints that there may be work. Losing, doubling or delaying a wake changes latency only.
    """

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Sends one wake, visible after `delay`.

        Raises:
            OSError: it could not be sent; the caller logs that and goes on.
        """

    def waiting(self) -> int:
        """
        Counts, roughly, the wakes that a worker could take now; delayed ones and those being handled do not count.

        Raises:
            OSError: they cannot be counted; the caller takes none to be there.
        """


class Events(Protocol):
    """
    Takes what happened. Must not raise and must return at once.
    """

    def publish(self, events: Sequence[Event]) -> None:
        """
        Takes a batch of events.
        """


class Tracing(Protocol):
    """
    Makes spans around what takes time, where anybody wants them. Must not raise of its own.
    """

    def enqueuing(self, jobs: Sequence[NewJob]) -> AbstractContextManager[str | None]:
        """
        A span around storing these jobs; gives the W3C traceparent to store with them, or None.
        """

    def running(self, job: JobRef, trace_parent: str | None) -> AbstractContextManager[None]:
        """
        A span around one run of a handler, on the thread or in the task that runs it.
        """
