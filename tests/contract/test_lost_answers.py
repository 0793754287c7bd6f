"""
The connection drops in turn at every call of a store's life, before or right after its commit; the caller repeats.

Whatever was lost, the jobs, the counters, the queues and the workers end up as if nothing had been.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, NewJob
from chokaq_core.domain.moves import Move, complete, dead_letter, hand_back, postpone, release, retry
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.ports import (
    Beat,
    Burial,
    Edit,
    EnqueueAnswer,
    JobStore,
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
from tests.contract.sources import StoreKind
from tests.contract.stages import BOOM, MINUTE, SECOND, WORKER
from tests.support.clock import SteppedClock
from tests.support.flaky_store import Drop, Lost, flaky

IDS = [f"job-{n:02}" for n in range(16)]


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


@dataclass(frozen=True, slots=True)
class Life:
    """
    What came of a whole life: the answers of the calls that must repeat theirs, and the end.
    """

    enqueued: tuple[EnqueueAnswer, ...]
    turns: tuple[TurnAnswer, ...]
    ending: Ending


class Caller:
    """
    Repeats a call whose answer did not come, and remembers the calls in order.
    """

    def __init__(self) -> None:
        self.made: list[Drop] = []
        self.repeats = 0

    def __call__(self, method: Callable[..., Any], *args: Any, **values: Any) -> Any:  # noqa: ANN401 - any method
        name = method.__name__
        self.made.append(Drop(name, 1 + sum(made.method == name for made in self.made)))
        try:
            return method(*args, **values)
        except StoreUnavailableError:
            self.repeats += 1
            return method(*args, **values)


def _live(store: Store, clock: SteppedClock, call: Caller) -> Life:
    """
    A life in which every write of the contract has something to do.
    """
    call(store.register, WorkerFacts(WORKER, "host-1", capacity=16))
    jobs = [NewJob(job_id, "t", f'"{job_id}"', idempotency_key=f"key-{job_id}") for job_id in IDS]
    enqueued = [call(store.enqueue, jobs[:8]), call(store.enqueue, jobs[8:])]
    call(store.timer_started, "rescue")
    turns = [call(store.turn, Turn(WORKER, 1, want=9, prefetch=3, looks_again_within=MINUTE))]
    leases = [job.lease for job in turns[0].claimed]
    clock.advance(SECOND)
    call(store.beat, Beat(WORKER, active=9, capacity=16, progress=(Progress(leases[0], 50, "half"),)))
    call(store.cancel, [IDS[1], IDS[12]], "ann")
    settlements = (
        complete(leases[0], 10.0, "1"),
        retry(leases[1], SECOND, BOOM),
        retry(leases[2], SECOND, BOOM),
        dead_letter(leases[3], FailureReason.TIMEOUT, BOOM, 20.0),
        postpone(leases[4], MINUTE),
        hand_back(leases[5]),
        release(leases[9]),
    )
    turns.append(call(store.turn, Turn(WORKER, 2, settlements=settlements, starts=(leases[10],), want=2)))
    clock.advance(5 * MINUTE)
    call(store.recover, MINUTE, 10)
    suspects = store.suspects(MINUTE, 100).jobs
    as_zombie = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
    for_retry = Verdict(Move.RETRY, delay=SECOND)
    burials = [Burial(s, as_zombie if s.job_id == IDS[6] else for_retry, BOOM) for s in suspects if s.job_id < IDS[8]]
    call(store.bury, burials)
    call(store.timer_finished, "rescue", "buried", has_succeeded=True)
    call(store.resurrect, [IDS[3], IDS[6]], "bob")
    call(store.edit, IDS[14], Edit(payload="[]", priority=99), "bob")
    call(store.change_queue, "default", QueueChange(max_workers=7, zombie_timeout=MINUTE))
    turns.append(call(store.turn, Turn(WORKER, 3, want=2, prefetch=1)))
    call(store.purge, [IDS[1]])
    call(store.change_queue, "default", QueueChange(is_paused=True))
    call(store.retire, WORKER)
    clock.advance(timedelta(hours=1))
    call(store.register, WorkerFacts("idle", "host-1", capacity=1))
    clock.advance(timedelta(hours=1))
    call(store.prune_workers, MINUTE)
    return Life(tuple(enqueued), tuple(replace(turn, is_repeat=False) for turn in turns), _ending(store, clock.now()))


def _ending(store: Store, at: datetime) -> Ending:
    return Ending(
        tuple(store.find(job_id) for job_id in IDS),
        store.counts(),
        dict(store.totals()),
        tuple(store.buckets(at - timedelta(days=1))),
        tuple(store.queues()),
        tuple(store.workers()),
        dict(store.timers()),
    )


CALLS = (
    Drop("register", 1),
    Drop("enqueue", 1),
    Drop("enqueue", 2),
    Drop("timer_started", 1),
    Drop("turn", 1),
    Drop("beat", 1),
    Drop("cancel", 1),
    Drop("turn", 2),
    Drop("recover", 1),
    Drop("bury", 1),
    Drop("timer_finished", 1),
    Drop("resurrect", 1),
    Drop("edit", 1),
    Drop("change_queue", 1),
    Drop("turn", 3),
    Drop("purge", 1),
    Drop("change_queue", 2),
    Drop("retire", 1),
    Drop("register", 2),
    Drop("prune_workers", 1),
)
READS = {
    "circuits",
    "vitals",
    "census",
    "workers",
    "suspects",
    "timers",
    "demand",
    "find",
    "queues",
    "totals",
    "buckets",
    "counts",
}
UPKEEP = {"prepare", "rest", "close"}


def test_the_life_calls_every_write_of_the_contract(kind: StoreKind, tmp_path: Path) -> None:
    call = Caller()
    _live_on(kind, tmp_path, call)

    assert call.made == list(CALLS)
    methods = {name for port in (JobStore, OperatorStore) for name in vars(port) if not name.startswith("_")}
    assert {drop.method for drop in CALLS} == methods - READS - UPKEEP


def test_the_life_moves_jobs_in_every_way(kind: StoreKind, tmp_path: Path) -> None:
    life = _live_on(kind, tmp_path, Caller())

    assert life.ending.counts == PillarCounts(hot=13, archive=1, dlq=1)
    assert life.ending.totals == {"default": Totals(succeeded=1, failed=4, retried=2)}


@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("drop", CALLS, ids=lambda drop: f"{drop.method}-{drop.call}")
def test_a_lost_call_that_is_repeated_leaves_no_trace(kind: StoreKind, tmp_path: Path, drop: Drop, lost: Lost) -> None:
    calm = _live_on(kind, tmp_path / "calm", Caller())
    dropped = Caller()

    disturbed = _live_on(kind, tmp_path / "disturbed", dropped, replace(drop, lost=lost))

    assert dropped.repeats == 1
    assert disturbed == calm


def _live_on(kind: StoreKind, folder: Path, call: Caller, *drops: Drop) -> Life:
    folder.mkdir(exist_ok=True)
    clock = SteppedClock()
    with closing(kind.create(folder).open(clock.now)) as store:
        return _live(flaky(store, drops), clock, call)
