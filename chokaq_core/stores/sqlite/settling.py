"""
The settling half of a worker's turn: which settlements still hold, what each does, what is counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import Place
from chokaq_core.domain.moves import MOVES, Move, Settlement, under_cancel_mark
from chokaq_core.domain.value import Value
from chokaq_core.stores.sqlite.rows import LONG_TEXT, json_text, json_values, span_micros

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    One job that ended or was retried, as the counters see it.
    """

    queue: str
    move: Move
    reason: FailureReason | None = None
    duration_ms: float | None = None


class Settled(Value):
    """
    Which jobs were not as their lease said, which were ended as cancelled instead, and which wait now for a later time.
    """

    stale: frozenset[str]
    cancelled: frozenset[str]
    put_off: tuple[Waiting, ...]


class _Held(NamedTuple):
    """
    A job that the worker holds.
    """

    lease_number: int
    status: int
    queue: str
    type_key: str
    is_cancel_requested: int
    cancel_requested_by: str | None


def settle(transaction: Transaction, worker_id: str, settlements: Sequence[Settlement]) -> Settled:
    """
    Applies each settlement whose lease and place still hold, and counts what ended.
    """
    if not settlements:
        return Settled(frozenset(), frozenset(), ())
    held = _held(transaction, worker_id, [settlement.lease.job_id for settlement in settlements])
    valid = [s for s in settlements if _holds(held.get(s.lease.job_id), s.lease, s.move)]
    final = [_with_mark(s, held[s.lease.job_id]) for s in valid]
    for move, apply in _APPLY.items():
        if group := [s for s in final if s.move is move]:
            apply(transaction, group)
    count_endings(
        transaction, worker_id, [Ending(held[s.lease.job_id].queue, s.move, s.reason, s.duration_ms) for s in final]
    )
    return Settled(
        stale=frozenset(s.lease.job_id for s in settlements).difference(s.lease.job_id for s in valid),
        cancelled=frozenset(new.lease.job_id for old, new in zip(valid, final, strict=True) if new is not old),
        put_off=tuple(
            _waiting(s, held[s.lease.job_id], transaction.now) for s in final if s.move is _RETRY or s.move is _POSTPONE
        ),
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
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    durations: defaultdict[tuple[str, int, int], list[float | None]] = defaultdict(list)
    for ending in endings:
        if ending.move is _COMPLETE:
            totals[ending.queue][0] += 1
            durations[ending.queue, 0, -1].append(ending.duration_ms)
        elif ending.move is _DEAD_LETTER:
            totals[ending.queue][1] += 1
            durations[ending.queue, 1, int(ending.reason or 0)].append(ending.duration_ms)
        elif ending.move is _RETRY:
            totals[ending.queue][2] += 1
    _add_totals(transaction, shard, totals)
    _add_buckets(transaction, shard, durations)


def _held(transaction: Transaction, worker_id: str, job_ids: Sequence[str]) -> dict[str, _Held]:
    rows = json_values(transaction.value("turn_held", ids=json_text(job_ids), worker=worker_id))
    return {job_id: _Held(*rest) for job_id, *rest in rows}


def _holds(held: _Held | None, lease: Lease, move: Move) -> bool:
    return held is not None and held.lease_number == lease.number and held.status in _SOURCES[move]


def _start(transaction: Transaction, worker_id: str, leases: Mapping[str, int]) -> int:
    return transaction.change("turn_start", leases=json_text(leases), worker=worker_id)


def _with_mark(settlement: Settlement, held: _Held) -> Settlement:
    return under_cancel_mark(settlement, held.cancel_requested_by) if held.is_cancel_requested else settlement


def _waiting(settlement: Settlement, held: _Held, now: int) -> Waiting:
    return held.queue, held.type_key, now + _delay(settlement)


def _complete(transaction: Transaction, settlements: list[Settlement]) -> None:
    endings = json_text({s.lease.job_id: _ending(s) for s in settlements})
    transaction.change("turn_complete", endings=endings)
    transaction.change("turn_leave_completed", endings=endings)
    transaction.change_each(
        "turn_result",
        [
            {"id": s.lease.job_id, "result": s.result, "result_note": s.result_note}
            for s in settlements
            if not (_fits(s.result) and _fits(s.result_note))
        ],
    )


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


def _dead_letter(transaction: Transaction, settlements: list[Settlement]) -> None:
    for s in settlements:
        assert s.reason is not None  # noqa: S101 - the constructor takes no dead letter without a reason
        dead_letter(transaction, s.lease.job_id, s.reason, _error(s))


def _retry(transaction: Transaction, settlements: list[Settlement]) -> None:
    rows = [{"id": s.lease.job_id, "now": transaction.now, "delay": _delay(s), **_error(s)} for s in settlements]
    transaction.change_each("turn_retry", rows)


def _postpone(transaction: Transaction, settlements: list[Settlement]) -> None:
    rows = [{"id": s.lease.job_id, "now": transaction.now, "delay": _delay(s)} for s in settlements]
    transaction.change_each("turn_postpone", rows)


def _release(transaction: Transaction, settlements: list[Settlement]) -> None:
    transaction.change_each("turn_release", [{"id": s.lease.job_id, "now": transaction.now} for s in settlements])


def _hand_back(transaction: Transaction, settlements: list[Settlement]) -> None:
    transaction.change_each("turn_hand_back", [{"id": s.lease.job_id, "now": transaction.now} for s in settlements])


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


def _add_totals(transaction: Transaction, shard: str, totals: dict[str, list[int]]) -> None:
    names = ("succeeded", "failed", "retried")
    transaction.change_each(
        "turn_stats",
        [
            {"queue": queue, "shard": shard, "now": transaction.now, **dict(zip(names, counts, strict=True))}
            for queue, counts in totals.items()
        ],
    )


def _add_buckets(
    transaction: Transaction, shard: str, durations: dict[tuple[str, int, int], list[float | None]]
) -> None:
    rows = []
    for (queue, outcome, reason), values in durations.items():
        known = [value for value in values if value is not None]
        rows.append(
            {
                "bucket": transaction.now // _SECOND * _SECOND,
                "queue": queue,
                "outcome": outcome,
                "reason": reason,
                "shard": shard,
                "completed": len(values),
                "duration_count": len(known),
                "total_ms": sum(known),
                "max_ms": max(known, default=0.0),
            }
        )
    transaction.change_each("turn_bucket", rows)
