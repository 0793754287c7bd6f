"""
A worker's turn: settle, start, claim, and remember the answer for a repeat.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from chokaq_core.domain.circuit import CircuitEvent
from chokaq_core.domain.value import Value
from chokaq_core.ports import TurnAnswer
from chokaq_core.stores.sqlite import claiming, settling
from chokaq_core.stores.sqlite.circuits import Board
from chokaq_core.stores.sqlite.rows import json_text, json_values, moment, moment_or_none, span_micros
from chokaq_core.stores.sqlite.waking import Outlook, ask_for_wake

if TYPE_CHECKING:
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Turn
    from chokaq_core.stores.sqlite.database import Transaction
    from chokaq_core.stores.sqlite.settling import Settled


class _Seen(NamedTuple):
    """
    What a turn looks at first, so that it leaves out what there is no need for.

    Attributes:
        seq: of the worker's last turn.
        next_due: when the first job is due that waits for its due time.
    """

    seq: int | None
    has_circuits: int
    has_open_queue: int
    next_due: int | None


class _Kept(Value):
    """
    What a repeat of a turn has to say again, besides what was stale.

    Attributes:
        claimed: lease numbers by the jobs' ids.
    """

    cancelled: frozenset[str]
    claimed: dict[str, int]
    is_full: bool
    next_due_at: datetime | None
    has_open_queue: bool
    last_queue: str
    circuit_events: tuple[CircuitEvent, ...]
    wake_in: timedelta | None


_KEPT = msgspec.json.Decoder(_Kept)


def take_turn(transaction: Transaction, turn: Turn, circuit_rules: CircuitRules) -> TurnAnswer:
    """
    Takes a turn, or answers again what it came to when it had been committed before.
    """
    seen = _Seen(*transaction.look("turn_look", turn.worker_id))
    board = Board(transaction, circuit_rules, has_rows=bool(seen.has_circuits))
    if seen.seq is not None and turn.seq <= seen.seq:
        return _answer_again(transaction, turn, board)
    return _take(transaction, turn, board, seen)


def _take(transaction: Transaction, turn: Turn, board: Board, seen: _Seen) -> TurnAnswer:
    settled = settling.settle(transaction, turn.worker_id, turn.settlements)
    stale = settled.stale | settling.start(transaction, turn.worker_id, turn.starts)
    if turn.reports:
        board.hear(report for report in turn.reports if report.job_id not in stale)
    board.release_probes(s.lease.job_id for s in turn.settlements if s.lease.job_id not in stale)
    is_any_due = seen.next_due is not None and seen.next_due <= transaction.now
    claimed, last_queue = claiming.claim(transaction, turn, board, is_any_due=is_any_due)
    is_full = 0 < turn.want + turn.prefetch <= len(claimed)
    _promise(transaction, turn, is_full=is_full)
    next_due_at, wake_in = _outlook(transaction, board, seen, settled, is_full=is_full)
    answer = TurnAnswer(
        now=moment(transaction.now),
        stale=stale,
        cancelled=settled.cancelled,
        claimed=claimed,
        is_full=is_full,
        next_due_at=next_due_at,
        has_open_queue=bool(claimed) or bool(seen.has_open_queue),
        last_queue=last_queue,
        circuits=board.notable(),
        circuit_events=tuple(board.events),
        wake_in=wake_in,
    )
    _remember(transaction, turn, answer)
    return answer


def _promise(transaction: Transaction, turn: Turn, *, is_full: bool) -> None:
    """
    Writes the worker's promise to look again; one whose slots are all taken now promises nothing.
    """
    is_promised = turn.looks_again_within and not is_full
    looking_until = transaction.now + span_micros(turn.looks_again_within) if is_promised else None
    transaction.change("turn_promise", worker=turn.worker_id, looking_until=looking_until)


def _outlook(
    transaction: Transaction, board: Board, seen: _Seen, settled: Settled, *, is_full: bool
) -> tuple[datetime | None, timedelta | None]:
    """
    When a job may be claimed next, and how long a delayed wake for what was put off should wait.
    """
    if seen.next_due is None and not settled.put_off and board.is_calm():
        return None, None
    outlook = Outlook(transaction, board)
    next_due_at = None if is_full else moment_or_none(outlook.next_due())
    return next_due_at, ask_for_wake(transaction, outlook.first_of(settled.put_off))


def _remember(transaction: Transaction, turn: Turn, answer: TurnAnswer) -> None:
    """
    Writes the commit marker, with what a repeat has to say again.
    """
    rest = _Kept(
        cancelled=answer.cancelled,
        claimed={job.lease.job_id: job.lease.number for job in answer.claimed},
        is_full=answer.is_full,
        next_due_at=answer.next_due_at,
        has_open_queue=answer.has_open_queue,
        last_queue=answer.last_queue,
        circuit_events=answer.circuit_events,
        wake_in=answer.wake_in,
    )
    transaction.change(
        "turn_answer", worker=turn.worker_id, seq=turn.seq, stale=json_text(answer.stale), answer=json_text(rest)
    )


def _answer_again(transaction: Transaction, turn: Turn, board: Board) -> TurnAnswer:
    """
    The first answer of a turn that had been committed; jobs that have moved on since are left out, or stale.
    """
    stale_text, rest_text = transaction.rows("turn_answered", worker=turn.worker_id)[0]
    rest = _KEPT.decode(rest_text)
    return TurnAnswer(
        now=moment(transaction.now),
        stale=frozenset(json_values(stale_text)) | settling.lost_starts(transaction, turn.worker_id, turn.starts),
        cancelled=rest.cancelled,
        claimed=tuple(claiming.claim_again(transaction, turn.worker_id, rest.claimed, board)),
        is_full=rest.is_full,
        next_due_at=rest.next_due_at,
        has_open_queue=rest.has_open_queue,
        last_queue=rest.last_queue,
        is_repeat=True,
        circuits=board.notable(),
        circuit_events=rest.circuit_events,
        wake_in=rest.wake_in,
    )
