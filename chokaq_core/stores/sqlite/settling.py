"""
The settling half of a worker's turn: which settlements still hold, what each does, what is counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Place
from chokaq_core.domain.moves import MOVES, Move, Settlement, under_cancel_mark
from chokaq_core.domain.value import Value
from chokaq_core.stores.sqlite.rows import LONG_TEXT, json_text, span_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from chokaq_core.domain.job import Lease
    from chokaq_core.stores.sqlite.database import Transaction
    from chokaq_core.stores.sqlite.waking import Waiting

_PLACES = {0: Place.PENDING, 1: Place.FETCHED, 2: Place.PROCESSING}
_SOURCES = {move: {s for s, place in _PLACES.items() if place in rule.sources} for move, rule in MOVES.items()}
"""Statuses that each move begins from."""
_SECOND = 1_000_000
# Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named.
_COMPLETE, _DEAD_LETTER, _RETRY, _POSTPONE = Move.COMPLETE, Move.DEAD_LETTER, Move.RETRY, Move.POSTPONE


class Ending(Value):
    """
    Jobs of one queue that ended alike or were retried, as the counters see them.

    Attributes:
        durations_ms: one for each job, None where it is not known.
    """

    queue: str
    move: Move
    reason: FailureReason | None = None
    durations_ms: Sequence[float | None] = (None,)


class Settled(Value):
    """
    Which jobs were not as their lease said, which were ended as cancelled instead, and which wait now for a later time.
    """

    stale: frozenset[str]
    cancelled: frozenset[str]
    put_off: tuple[Waiting, ...]


_NOTHING = Settled(frozenset(), frozenset(), ())


class _Held(Value, array_like=True, gc=False):
    """
    A job that the worker holds and where it is stored, as `turn_held` answers it.
    """

    job_id: str
    row: int
    lease_number: int
    status: int
    queue: str
    type_key: str
    is_cancel_requested: int
    cancel_requested_by: str | None


_Valid = tuple[Settlement, _Held]
"""A settlement that holds, with its job."""


class _Judged(NamedTuple):
    """
    Which settlements hold, by their moves; which do not; and which jobs end as cancelled instead.
    """

    valid: Mapping[Move, list[_Valid]]
    stale: list[str]
    cancelled: list[str]


_HELD = msgspec.json.Decoder(list[_Held])


def settle(transaction: Transaction, worker_id: str, settlements: Sequence[Settlement]) -> Settled:
    """
    Applies each settlement whose lease and place still hold, and counts what ended.
    """
    if not settlements:
        return _NOTHING
    judged = _judge(settlements, _held(transaction, worker_id, [s.lease.job_id for s in settlements]))
    for move, apply in _APPLY.items():
        if move in judged.valid:
            apply(transaction, judged.valid[move])
    count_endings(transaction, worker_id, _endings(judged.valid))
    put_off = [*judged.valid.get(_RETRY, ()), *judged.valid.get(_POSTPONE, ())]
    return Settled(
        stale=frozenset(judged.stale),
        cancelled=frozenset(judged.cancelled),
        put_off=tuple(_waiting(settlement, job, transaction.now) for settlement, job in put_off),
    )


def start(transaction: Transaction, worker_id: str, leases: Sequence[Lease]) -> frozenset[str]:
    """
    Move start for fetched jobs; answers the ids whose lease did not hold.
    """
    if not leases:
        return frozenset()
    numbers = {lease.job_id: lease.number for lease in leases}
    if transaction.all_or_none(len(leases), lambda: _start(transaction, worker_id, numbers)):
        return frozenset()
    held = _held(transaction, worker_id, list(numbers))
    valid = {lease.job_id: lease.number for lease in leases if _holds(held.get(lease.job_id), lease, Move.START)}
    _start(transaction, worker_id, valid)
    return frozenset(numbers.keys() - valid.keys())


def lost_starts(transaction: Transaction, worker_id: str, leases: Sequence[Lease]) -> frozenset[str]:
    """
    Jobs that were started under these leases and that the worker does not hold any more.
    """
    held = _held(transaction, worker_id, [lease.job_id for lease in leases]) if leases else {}
    return frozenset(lease.job_id for lease in leases if not _holds(held.get(lease.job_id), lease, Move.BEAT))


def dead_letter(
    transaction: Transaction, job_id: str, reason: FailureReason, error: dict[str, Any], by: str | None = None
) -> None:
    """
    Moves a row from Hot into the DLQ, whatever its state; the caller has checked the guard.
    """
    values = {"id": job_id, "now": transaction.now, "reason": int(reason), "actor": by, **error}
    transaction.change("turn_dead_letter", **values)
    transaction.change("turn_leave_hot", id=job_id)


def no_error(details: str | None = None) -> dict[str, Any]:
    """
    Error columns for a job that ended without an attempt of its own failing.
    """
    return {"error_type": None, "message": None, "details": details}


def count_endings(transaction: Transaction, shard: str, endings: Iterable[Ending]) -> None:
    """
    Adds to this shard's totals and to the buckets of the current second.
    """
    for ending in endings:
        count = len(ending.durations_ms)
        transaction.change(
            "turn_stats",
            queue=ending.queue,
            shard=shard,
            succeeded=count if ending.move is _COMPLETE else 0,
            failed=count if ending.move is _DEAD_LETTER else 0,
            retried=count if ending.move is _RETRY else 0,
        )
        if ending.move is not _RETRY:
            _add_to_bucket(transaction, shard, ending)


def _held(transaction: Transaction, worker_id: str, job_ids: Sequence[str]) -> dict[str, _Held]:
    jobs = _HELD.decode(transaction.value("turn_held", ids=json_text(job_ids), worker=worker_id))
    return {job.job_id: job for job in jobs}


def _holds(held: _Held | None, lease: Lease, move: Move) -> bool:
    return held is not None and held.lease_number == lease.number and held.status in _SOURCES[move]


def _judge(settlements: Iterable[Settlement], held: Mapping[str, _Held]) -> _Judged:
    valid: defaultdict[Move, list[_Valid]] = defaultdict(list)
    stale: list[str] = []
    cancelled: list[str] = []
    for settlement in settlements:
        job = held.get(settlement.lease.job_id)
        if job is None or not _holds(job, settlement.lease, settlement.move):
            stale.append(settlement.lease.job_id)
            continue
        final = under_cancel_mark(settlement, job.cancel_requested_by) if job.is_cancel_requested else settlement
        if final is not settlement:
            cancelled.append(settlement.lease.job_id)
        valid[final.move].append((final, job))
    return _Judged(valid, stale, cancelled)


def _start(transaction: Transaction, worker_id: str, leases: Mapping[str, int]) -> int:
    return transaction.change("turn_start", leases=json_text(leases), worker=worker_id)


def _waiting(settlement: Settlement, held: _Held, now: int) -> Waiting:
    return held.queue, held.type_key, now + _delay(settlement)


def _endings(settlements: Mapping[Move, Sequence[_Valid]]) -> Iterator[Ending]:
    """
    What the counters have to know: jobs that ended or are tried again, those alike together.
    """
    for move in (_COMPLETE, _DEAD_LETTER, _RETRY):
        alike: defaultdict[tuple[str, FailureReason | None], list[float | None]] = defaultdict(list)
        for settlement, job in settlements.get(move, ()):
            alike[job.queue, settlement.reason].append(settlement.duration_ms)
        for (queue, reason), durations in alike.items():
            yield Ending(queue, move, reason, durations)


def _complete(transaction: Transaction, settlements: list[_Valid]) -> None:
    endings = json_text({job.row: _ending(s) for s, job in settlements})
    transaction.change("turn_complete", endings=endings)
    if len(settlements) == 1:
        transaction.change("turn_leave_hot", id=settlements[0][0].lease.job_id)
    else:
        transaction.change("turn_leave_completed", endings=endings)
    for s, _ in settlements:
        if not (_fits(s.result) and _fits(s.result_note)):
            transaction.change("turn_result", id=s.lease.job_id, result=s.result, result_note=s.result_note)


def _ending(settlement: Settlement) -> object:
    """
    What `turn_complete` has to know of a job, short where there is little.
    """
    result, note = settlement.result, settlement.result_note
    if (result is None and note is None) or not (_fits(result) and _fits(note)):
        return settlement.duration_ms
    return (settlement.duration_ms, result, note)


def _fits(text: str | None) -> bool:
    """
    Whether a text can go into JSON with those of other jobs.
    """
    return text is None or (len(text) <= LONG_TEXT and "\0" not in text)


def _dead_letter(transaction: Transaction, settlements: list[_Valid]) -> None:
    for s, _ in settlements:
        assert s.reason is not None  # noqa: S101 - the constructor takes no dead letter without a reason
        dead_letter(transaction, s.lease.job_id, s.reason, _error(s))


def _retry(transaction: Transaction, settlements: list[_Valid]) -> None:
    rows = [{"id": s.lease.job_id, "now": transaction.now, "delay": _delay(s), **_error(s)} for s, _ in settlements]
    transaction.change_each("turn_retry", rows)


def _postpone(transaction: Transaction, settlements: list[_Valid]) -> None:
    rows = [{"id": s.lease.job_id, "now": transaction.now, "delay": _delay(s)} for s, _ in settlements]
    transaction.change_each("turn_postpone", rows)


def _release(transaction: Transaction, settlements: list[_Valid]) -> None:
    transaction.change_each("turn_release", [{"id": s.lease.job_id, "now": transaction.now} for s, _ in settlements])


def _hand_back(transaction: Transaction, settlements: list[_Valid]) -> None:
    transaction.change_each("turn_hand_back", [{"id": s.lease.job_id, "now": transaction.now} for s, _ in settlements])


_APPLY = {
    Move.COMPLETE: _complete,
    Move.DEAD_LETTER: _dead_letter,
    Move.RETRY: _retry,
    Move.POSTPONE: _postpone,
    Move.RELEASE: _release,
    Move.HAND_BACK: _hand_back,
}


def _delay(settlement: Settlement) -> int:
    return span_micros(settlement.delay) if settlement.delay is not None else 0


def _error(settlement: Settlement) -> dict[str, Any]:
    error = settlement.error
    if error is None:
        return no_error()
    return {"error_type": error.type, "message": error.message, "details": error.details}


def _add_to_bucket(transaction: Transaction, shard: str, ending: Ending) -> None:
    known = [duration for duration in ending.durations_ms if duration is not None]
    is_failure = ending.move is _DEAD_LETTER
    transaction.change(
        "turn_bucket",
        bucket=transaction.now // _SECOND * _SECOND,
        queue=ending.queue,
        outcome=int(is_failure),
        reason=int(ending.reason or 0) if is_failure else -1,
        shard=shard,
        completed=len(ending.durations_ms),
        duration_count=len(known),
        total_ms=sum(known),
        max_ms=max(known, default=0.0),
    )
