"""
Every move on a job in every place.

Where the table of moves allows it, it leads where the table says; anywhere else, and wherever its guard is false, it is
stale and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import ArchivedJob, DeadJob, HotJob, JobRecord, Lease, Place
from chokaq_core.domain.moves import (
    MOVES,
    SETTLING,
    Move,
    Settlement,
    complete,
    dead_letter,
    hand_back,
    postpone,
    release,
    retry,
)
from chokaq_core.domain.value import replace
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import (
    Beat,
    Burial,
    CancelOutcome,
    Edit,
    EnqueueOutcome,
    PillarCounts,
    Progress,
    ResurrectOutcome,
)
from tests.contract.stages import (
    BOOM,
    MINUTE,
    OTHER_WORKER,
    SECOND,
    WORKER,
    Stage,
    Staged,
    changed,
    place_of,
    snapshot,
)

ABSENT, PENDING, FETCHED, PROCESSING, ARCHIVE, DLQ = Place

Apply = Callable[[Stage, Staged], bool]
"""Makes a move with a job; answers whether the store says that it was applied."""


@dataclass(frozen=True, slots=True)
class Act:
    """
    One way to make a move, with the places that it leads from and to.
    """

    move: Move
    apply: Apply
    leads: dict[Place, Place]
    label: str = ""

    def __str__(self) -> str:
        return f"{self.move}{self.label}"


def _enqueue(stage: Stage, staged: Staged) -> bool:
    item = stage.store.enqueue([replace(staged.job, payload='{"to": "bob"}')]).items[0]
    assert item.job_id == staged.id
    return item.outcome is EnqueueOutcome.CREATED


def _claim(*, want: int = 0, prefetch: int = 0) -> Apply:
    def apply(stage: Stage, staged: Staged) -> bool:
        claimed = stage.turn(OTHER_WORKER, want=want, prefetch=prefetch).claimed
        assert [job.lease.job_id for job in claimed] in ([], [staged.id])
        return bool(claimed)

    return apply


def _start(stage: Stage, staged: Staged) -> bool:
    return _is_applied(stage, staged.lease, starts=(staged.lease,))


def _beat(stage: Stage, staged: Staged) -> bool:
    stage.store.beat(Beat(staged.lease.worker_id, progress=(Progress(staged.lease, 50, "half"),)))
    job = stage.store.find(staged.id)
    return isinstance(job, HotJob) and job.heartbeat_at == stage.clock.now() and job.progress == 50


def _settle(settlement: Callable[[Lease], Settlement]) -> Apply:
    def apply(stage: Stage, staged: Staged) -> bool:
        return _is_applied(stage, staged.lease, settlements=(settlement(staged.lease),))

    return apply


def _is_applied(stage: Stage, lease: Lease, **moves: tuple[Lease, ...] | tuple[Settlement, ...]) -> bool:
    answer = stage.turn(lease.worker_id, **moves)
    assert answer.stale in (frozenset(), {lease.job_id})
    assert answer.cancelled == frozenset()
    return not answer.stale


def _recover(stage: Stage, staged: Staged) -> bool:
    moved = stage.store.recover(SECOND, 10)
    assert [job.job_id for job in moved] in ([], [staged.id])
    return bool(moved)


def _bury(verdict: Verdict) -> Apply:
    def apply(stage: Stage, staged: Staged) -> bool:
        (is_applied,) = stage.store.bury([Burial(_as_suspect(stage, staged), verdict, BOOM)])
        return is_applied

    return apply


def _as_suspect(stage: Stage, staged: Staged) -> Suspect:
    """
    What a scan could have read of the job, now or when it was still running.
    """
    job = stage.store.find(staged.id)
    beaten_at = job.heartbeat_at if isinstance(job, HotJob) else None
    at = stage.clock.now()
    lease = staged.lease
    return Suspect(
        lease.job_id, lease.number, lease.worker_id, beaten_at or at, staged.job.queue, staged.job.type_key, 1, at
    )


def _cancel(stage: Stage, staged: Staged) -> bool:
    return stage.store.cancel([staged.id], "ann")[0] is not CancelOutcome.STALE


def _resurrect(stage: Stage, staged: Staged) -> bool:
    return stage.store.resurrect([staged.id], "ann")[0] is ResurrectOutcome.RESURRECTED


def _edit(stage: Stage, staged: Staged) -> bool:
    return stage.store.edit([staged.id], Edit(payload='{"to": "eve"}', tags="edited", priority=99), "ann")[0]


def _purge(stage: Stage, staged: Staged) -> bool:
    return stage.store.purge([staged.id])[0]


_dead_letter = _settle(lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, BOOM, 5.0))
_postpone = _settle(lambda lease: postpone(lease, MINUTE))
_bury_as_zombie = _bury(Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE))
_bury_for_retry = _bury(Verdict(Move.RETRY, delay=MINUTE))

ACTS = (
    Act(Move.ENQUEUE, _enqueue, {ABSENT: PENDING}),
    Act(Move.CLAIM, _claim(want=1), {PENDING: PROCESSING}, "-to-run"),
    Act(Move.CLAIM, _claim(prefetch=1), {PENDING: FETCHED}, "-ahead"),
    Act(Move.START, _start, {FETCHED: PROCESSING}),
    Act(Move.BEAT, _beat, {PROCESSING: PROCESSING}),
    Act(Move.COMPLETE, _settle(lambda lease: complete(lease, 5.0)), {PROCESSING: ARCHIVE}),
    Act(Move.RETRY, _settle(lambda lease: retry(lease, MINUTE, BOOM)), {PROCESSING: PENDING}),
    Act(Move.POSTPONE, _postpone, {FETCHED: PENDING, PROCESSING: PENDING}),
    Act(Move.DEAD_LETTER, _dead_letter, {PROCESSING: DLQ}),
    Act(Move.RELEASE, _settle(release), {FETCHED: PENDING}),
    Act(Move.HAND_BACK, _settle(hand_back), {PROCESSING: PENDING}),
    Act(Move.RECOVER, _recover, {FETCHED: PENDING}),
    Act(Move.BURY, _bury_as_zombie, {PROCESSING: DLQ}, "-as-zombie"),
    Act(Move.BURY, _bury_for_retry, {PROCESSING: PENDING}, "-for-retry"),
    Act(Move.CANCEL, _cancel, {PENDING: DLQ, FETCHED: DLQ, PROCESSING: PROCESSING}),
    Act(Move.RESURRECT, _resurrect, {DLQ: PENDING}),
    Act(Move.EDIT, _edit, {PENDING: PENDING, DLQ: DLQ}),
    Act(Move.PURGE, _purge, {ARCHIVE: ABSENT, DLQ: ABSENT}),
)

LEGAL = [pytest.param(act, place, id=f"{act}-{place}") for act in ACTS for place in Place if place in act.leads]
ILLEGAL = [pytest.param(act, place, id=f"{act}-{place}") for act in ACTS for place in Place if place not in act.leads]


@pytest.mark.parametrize("move", Move)
def test_the_walk_makes_each_move_from_and_to_all_its_places(move: Move) -> None:
    acts = [act for act in ACTS if act.move is move]
    assert {place for act in acts for place in act.leads} == MOVES[move].sources
    assert {place for act in acts for place in act.leads.values()} == MOVES[move].targets


@pytest.mark.parametrize("act,place", LEGAL)
def test_a_legal_move_leads_where_the_table_says(stage: Stage, act: Act, place: Place) -> None:
    staged = stage.put(place)
    stage.clock.advance(MINUTE)
    before = stage.store.find(staged.id)

    assert act.apply(stage, staged)

    assert place_of(stage.store, staged.id) is act.leads[place]
    assert stage.store.counts() == _counts_with_one_job_in(act.leads[place])
    assert not _kept(act.move) & _changed(before, stage.store.find(staged.id))


@pytest.mark.parametrize("act,place", ILLEGAL)
def test_an_illegal_move_is_stale_and_changes_nothing(stage: Stage, act: Act, place: Place) -> None:
    staged = stage.put(place)
    stage.clock.advance(MINUTE)
    before = snapshot(stage, staged.id)

    assert not act.apply(stage, staged)

    assert snapshot(stage, staged.id) == before


def _counts_with_one_job_in(place: Place) -> PillarCounts:
    is_hot = place in {PENDING, FETCHED, PROCESSING}
    return PillarCounts(hot=int(is_hot), archive=int(place is ARCHIVE), dlq=int(place is DLQ))


def _kept(move: Move) -> set[str]:
    """
    Values that no move touches, but for an operator's edit; and the lease number, which only a claim raises.
    """
    kept = {
        "id",
        "queue",
        "type_key",
        "payload",
        "tags",
        "priority",
        "idempotency_key",
        "created_at",
        "created_by",
        "trace_parent",
        "lease_number",
    }
    if move is Move.CLAIM:
        return kept - {"lease_number"}
    return kept - {"payload", "tags", "priority"} if move is Move.EDIT else kept


def _changed(before: HotJob | ArchivedJob | DeadJob | None, after: HotJob | ArchivedJob | DeadJob | None) -> set[str]:
    if isinstance(before, JobRecord) and isinstance(after, JobRecord):
        return set(changed(before, after))
    return set()


Attempt = tuple[str, Callable[[], bool]]
"""A job's id, and a move with it that answers whether it was applied."""

Prepare = Callable[[Stage], Attempt]


@dataclass(frozen=True, slots=True)
class Broken:
    """
    A move whose job is in the right place while its guard is false.
    """

    move: Move
    label: str
    prepare: Prepare

    def __str__(self) -> str:
        return f"{self.move}-{self.label}"


def _key_held_at_enqueue(stage: Stage) -> Attempt:
    holder = stage.add(idempotency_key="order-7")
    rival = replace(stage.new_job(), idempotency_key="order-7")
    return holder.id, lambda: stage.store.enqueue([rival]).items[0].outcome is EnqueueOutcome.CREATED


def _not_due(stage: Stage) -> Attempt:
    return stage.add(delay=2 * MINUTE).id, lambda: bool(stage.claim())


def _closed(**control: bool) -> Prepare:
    def prepare(stage: Stage) -> Attempt:
        job = stage.add(queue="mail")
        stage.set_queue("mail", **control)
        return job.id, lambda: bool(stage.claim())

    return prepare


def _limit_reached(stage: Stage) -> Attempt:
    stage.fetched(queue="mail")
    stage.set_queue("mail", max_workers=1)
    return stage.add(queue="mail").id, lambda: bool(stage.claim(worker=OTHER_WORKER))


def _fetched_lately(stage: Stage) -> Attempt:
    claimed = stage.fetched()
    stage.clock.advance(MINUTE)
    return claimed.lease.job_id, lambda: bool(stage.store.recover(MINUTE, 10))


def _beaten_since(stage: Stage) -> Attempt:
    staged = stage.put(PROCESSING)
    burial = Burial(_as_suspect(stage, staged), Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE), BOOM)
    stage.clock.advance(SECOND)
    stage.store.beat(Beat(WORKER))
    return staged.id, lambda: stage.store.bury([burial])[0]


def _key_held_at_resurrection(stage: Stage) -> Attempt:
    staged = stage.put(DLQ, idempotency_key="order-7")
    stage.add(idempotency_key="order-7")
    return staged.id, lambda: _resurrect(stage, staged)


def _running(stage: Stage) -> Attempt:
    staged = stage.put(PROCESSING)
    return staged.id, lambda: _edit(stage, staged)


def _with_lease(act: Act, place: Place, **wrong: Any) -> Prepare:  # noqa: ANN401 - the fields of Lease
    def prepare(stage: Stage) -> Attempt:
        staged = stage.put(place)
        lease = replace(staged.lease, **wrong)
        return staged.id, lambda: act.apply(stage, replace(staged, lease=lease))

    return prepare


def _wrong_leases() -> Iterator[Broken]:
    """
    Every way of each move under a lease, by an earlier and a later lease, and by another worker.
    """
    for act in ACTS:
        if act.move in SETTLING | {Move.START, Move.BEAT, Move.BURY}:
            for place in act.leads:
                name = f"{act.label}from-{place}"
                yield Broken(act.move, f"{name}-by-an-earlier-lease", _with_lease(act, place, number=0))
                yield Broken(act.move, f"{name}-by-a-later-lease", _with_lease(act, place, number=2))
                if act.move is not Move.BURY:
                    yield Broken(act.move, f"{name}-by-another-worker", _with_lease(act, place, worker_id=OTHER_WORKER))


BROKEN = (
    Broken(Move.ENQUEUE, "while-its-key-is-held", _key_held_at_enqueue),
    Broken(Move.CLAIM, "before-it-is-due", _not_due),
    Broken(Move.CLAIM, "from-a-paused-queue", _closed(is_paused=True)),
    Broken(Move.CLAIM, "from-an-inactive-queue", _closed(is_active=False)),
    Broken(Move.CLAIM, "over-the-limit", _limit_reached),
    Broken(Move.RECOVER, "right-at-the-timeout", _fetched_lately),
    Broken(Move.BURY, "after-another-heartbeat", _beaten_since),
    Broken(Move.RESURRECT, "while-its-key-is-held", _key_held_at_resurrection),
    Broken(Move.EDIT, "while-it-runs", _running),
    *_wrong_leases(),
)


def test_every_guard_of_the_table_is_broken_once_at_least() -> None:
    assert {case.move for case in BROKEN} == {move for move, rule in MOVES.items() if rule.guard != "none"}


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_a_move_whose_guard_is_false_changes_nothing(stage: Stage, case: Broken) -> None:
    job_id, make_the_move = case.prepare(stage)
    before = snapshot(stage, job_id)

    assert not make_the_move()

    assert snapshot(stage, job_id) == before
