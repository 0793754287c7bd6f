"""
A life in which every write of the store's contract has something to do, and what can be seen of a store at its end.

Whatever is lost on the way and repeated, the end is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, NewJob, Place
from chokaq_core.domain.moves import Move, complete, dead_letter, hand_back, postpone, release, retry
from chokaq_core.domain.operator_log import LogEntry, LogNote
from chokaq_core.domain.value import Value
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.ports import (
    Beat,
    Burial,
    Claim,
    ClaimAnswer,
    ClaimStore,
    Edit,
    EnqueueAnswer,
    JobStore,
    MaintenanceStore,
    MetricBucket,
    OperatorStore,
    PillarCounts,
    Progress,
    QueueChange,
    QueueRow,
    Store,
    TimerRow,
    Totals,
    Turn,
    TurnAnswer,
    WorkerFacts,
)
from tests.contract.stages import BOOM, MINUTE, SECOND, WORKER
from tests.support.clock import SteppedClock

IDS = [f"job-{n:02}" for n in range(16)]
HOUR = timedelta(hours=1)
DONE, GIVEN_UP = Claim("t", "done", IDS[0]), Claim("t", "given-up", IDS[1])
NOTE = LogNote("ann", "cancel", "[]")

PORTS = (JobStore, OperatorStore, ClaimStore, MaintenanceStore)
READS = {
    "buckets",
    "census",
    "circuits",
    "count_jobs",
    "counts",
    "demand",
    "find",
    "key_holders",
    "list_jobs",
    "look_up",
    "operator_log",
    "queues",
    "suspects",
    "timers",
    "top_errors",
    "totals",
    "vitals",
    "workers",
}
UPKEEP = {"prepare", "rest", "close"}


@dataclass(frozen=True, slots=True)
class Call:
    """
    The nth call of a method, counted from 1.
    """

    method: str
    number: int


@dataclass(frozen=True, slots=True)
class Ending:
    """
    All that can be seen of a store in the end.
    """

    jobs: tuple[HotJob | ArchivedJob | DeadJob | None, ...]
    counts: PillarCounts
    totals: dict[str, Totals]
    buckets: tuple[MetricBucket, ...]
    queues: tuple[QueueRow, ...]
    workers: tuple[WorkerFacts, ...]
    timers: dict[str, TimerRow]
    log: tuple[LogEntry, ...]


class Life(Value):
    """
    What came of a whole life: the answers of the calls that must repeat theirs, and the end.
    """

    enqueued: tuple[EnqueueAnswer, ...]
    turns: tuple[TurnAnswer, ...]
    claim: ClaimAnswer
    ending: Ending


class Caller:
    """
    Repeats a call whose answer did not come, and remembers the calls in order.
    """

    def __init__(self) -> None:
        self.made: list[Call] = []
        self.repeats = 0

    def __call__(self, method: Callable[..., Any], *args: Any, **values: Any) -> Any:  # noqa: ANN401 - any method
        name = method.__name__
        self.made.append(Call(name, 1 + sum(made.method == name for made in self.made)))
        try:
            return method(*args, **values)
        except StoreUnavailableError:
            self.repeats += 1
            return method(*args, **values)


@cache
def write_calls() -> frozenset[str]:
    """
    Every method of the contract that writes.
    """
    return frozenset(name for port in PORTS for name in vars(port) if not name.startswith("_")) - READS - UPKEEP


def live(store: Store, clock: SteppedClock, call: Caller) -> Life:
    """
    Lives from the first registration to the last clean-up.
    """
    enqueued = [call(store.enqueue, jobs) for jobs in _begin(store, call)]
    turns = _work(store, clock, call)
    _rescue(store, clock, call)
    _operate(store, call)
    turns.append(call(store.turn, Turn(WORKER, 3, want=2, prefetch=1)))
    call(store.purge, [IDS[1]])
    call(store.change_queue, "default", QueueChange(is_paused=True))
    call(store.retire, WORKER)
    _maintain(store, clock, call)
    claim = call(store.claim_key, DONE, MINUTE)
    return Life(tuple(enqueued), tuple(turns), claim, _ending(store, clock.now()))


def _begin(store: Store, call: Caller) -> list[list[NewJob]]:
    call(store.register, WorkerFacts(WORKER, "host-1", capacity=16))
    jobs = [NewJob(job_id, "t", f'"{job_id}"', idempotency_key=f"key-{job_id}") for job_id in IDS]
    return [jobs[:8], jobs[8:]]


def _work(store: Store, clock: SteppedClock, call: Caller) -> list[TurnAnswer]:
    call(store.timer_started, "rescue")
    first = call(store.turn, Turn(WORKER, 1, want=9, prefetch=3, looks_again_within=MINUTE))
    leases = [job.lease for job in first.claimed]
    for claim in (DONE, GIVEN_UP):
        call(store.claim_key, claim, MINUTE)
    clock.advance(SECOND)
    call(store.beat, Beat(WORKER, active=9, capacity=16, progress=(Progress(leases[0], 50, "half"),)))
    call(store.cancel, [IDS[1], IDS[12]], "ann", NOTE)
    call(store.complete_key, DONE, "1", None)
    call(store.release_key, GIVEN_UP)
    call(store.claim_key, GIVEN_UP, SECOND)
    settlements = (
        complete(leases[0], 10.0, "1"),
        retry(leases[1], SECOND, BOOM),
        retry(leases[2], SECOND, BOOM),
        dead_letter(leases[3], FailureReason.TIMEOUT, BOOM, 20.0),
        postpone(leases[4], MINUTE),
        hand_back(leases[5]),
        release(leases[9]),
    )
    return [first, call(store.turn, Turn(WORKER, 2, settlements=settlements, starts=(leases[10],), want=2))]


def _rescue(store: Store, clock: SteppedClock, call: Caller) -> None:
    clock.advance(5 * MINUTE)
    call(store.recover, MINUTE, 10)
    suspects = store.suspects(MINUTE, 100).jobs
    as_zombie = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
    for_retry = Verdict(Move.RETRY, delay=SECOND)
    burials = [Burial(s, as_zombie if s.job_id == IDS[6] else for_retry, BOOM) for s in suspects if s.job_id < IDS[8]]
    call(store.bury, burials)
    call(store.timer_finished, "rescue", "buried", has_succeeded=True)


def _operate(store: Store, call: Caller) -> None:
    call(store.resurrect, [IDS[3], IDS[6]], "bob")
    call(store.edit, [IDS[14]], Edit(payload="[]", priority=99), "bob")
    call(store.change_queue, "default", QueueChange(max_workers=7, zombie_timeout=MINUTE))


def _maintain(store: Store, clock: SteppedClock, call: Caller) -> None:
    clock.advance(HOUR)
    call(store.register, WorkerFacts("idle", "host-1", capacity=1))
    call(store.prune_lanes, HOUR)
    clock.advance(HOUR)
    call(store.prune_workers, MINUTE)
    call(store.prune_lanes, HOUR)
    call(store.fold_counters, 100)
    call(store.prune_keys, 100)
    call(store.prune_operator_log, HOUR, 100)
    call(store.prune_buckets, 2 * HOUR + MINUTE, 100)
    call(store.purge_expired, Place.ARCHIVE, HOUR, 100)


def _ending(store: Store, at: datetime) -> Ending:
    return Ending(
        tuple(store.find(job_id) for job_id in IDS),
        store.counts(),
        dict(store.totals()),
        tuple(store.buckets(at - timedelta(days=1))),
        tuple(store.queues()),
        tuple(store.workers()),
        dict(store.timers()),
        tuple(store.operator_log(None, 10)),
    )
