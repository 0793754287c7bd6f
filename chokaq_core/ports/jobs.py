"""
How jobs come in, are claimed and are settled: enqueues and turns.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from datetime import datetime

    from chokaq_core.domain.circuit import Circuit, CircuitEvent, CircuitReport
    from chokaq_core.domain.job import ClaimedJob, Lease
    from chokaq_core.domain.lanes import LaneFilter
    from chokaq_core.domain.moves import Settlement

MAX_BATCH = 1_000
"""No call moves more rows than this; callers cut larger batches."""


class EnqueueOutcome(StrEnum):
    """
    What became of one job of an enqueue.
    """

    CREATED = "created"
    DUPLICATE = "duplicate"
    KEY_CONFLICT = "key_conflict"
    ID_TAKEN = "id_taken"


class EnqueueItem(Value, gc=False):
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
