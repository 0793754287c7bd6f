"""
A worker's turn: settle, start, claim, and remember the answer for a repeat.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.circuit import CircuitEvent, CircuitEventName, CircuitState
from chokaq_core.ports import TurnAnswer
from chokaq_core.stores.sqlite import claiming, settling
from chokaq_core.stores.sqlite.circuits import Board
from chokaq_core.stores.sqlite.rows import json_text, json_values, micros, moment, moment_or_none, span_micros
from chokaq_core.stores.sqlite.waking import Outlook, ask_for_wake

if TYPE_CHECKING:
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Turn
    from chokaq_core.stores.sqlite.database import Transaction


def take_turn(transaction: Transaction, turn: Turn, circuit_rules: CircuitRules) -> TurnAnswer:
    """
    Takes a turn, or answers again what it came to when it had been committed before.
    """
    board = Board(transaction, circuit_rules)
    if transaction.change("turn_mark", worker=turn.worker_id, seq=turn.seq) == 0:
        return _answer_again(transaction, turn, board)
    return _take(transaction, turn, board)


def _take(transaction: Transaction, turn: Turn, board: Board) -> TurnAnswer:
    settled = settling.settle(transaction, turn.worker_id, turn.settlements)
    stale = settled.stale | settling.start(transaction, turn.worker_id, turn.starts)
    board.hear(report for report in turn.reports if report.job_id not in stale)
    board.release_probes(s.lease.job_id for s in turn.settlements if s.lease.job_id not in stale)
    claimed, last_queue = claiming.claim(transaction, turn, board)
    is_full = 0 < turn.want + turn.prefetch <= len(claimed)
    _promise(transaction, turn, is_full=is_full)
    outlook = Outlook(transaction, board)
    answer = TurnAnswer(
        now=moment(transaction.now),
        stale=stale,
        cancelled=settled.cancelled,
        claimed=claimed,
        is_full=is_full,
        next_due_at=None if is_full else moment_or_none(outlook.next_due()),
        has_open_queue=bool(claimed) or bool(transaction.value("claim_has_open_queue")),
        last_queue=last_queue,
        circuits=board.notable(),
        circuit_events=tuple(board.events),
        wake_in=ask_for_wake(transaction, outlook.first_of(settled.put_off)),
    )
    _remember(transaction, turn.worker_id, answer)
    return answer


def _promise(transaction: Transaction, turn: Turn, *, is_full: bool) -> None:
    """
    Writes the worker's promise to look again; one whose slots are all taken now promises nothing.
    """
    is_promised = turn.looks_again_within and not is_full
    looking_until = transaction.now + span_micros(turn.looks_again_within) if is_promised else None
    transaction.change("turn_promise", worker=turn.worker_id, looking_until=looking_until)


def _remember(transaction: Transaction, worker_id: str, answer: TurnAnswer) -> None:
    """
    Keeps beside the commit marker what a repeat has to say again.
    """
    rest = {
        "cancelled": sorted(answer.cancelled),
        "claimed": {job.lease.job_id: job.lease.number for job in answer.claimed},
        "is_full": answer.is_full,
        "next_due": None if answer.next_due_at is None else micros(answer.next_due_at),
        "has_open_queue": answer.has_open_queue,
        "last_queue": answer.last_queue,
        "circuit_events": [[e.type_key, int(e.state), str(e.name)] for e in answer.circuit_events],
        "wake_in": None if answer.wake_in is None else span_micros(answer.wake_in),
    }
    transaction.change("turn_answer", worker=worker_id, stale=json_text(sorted(answer.stale)), answer=json_text(rest))


def _answer_again(transaction: Transaction, turn: Turn, board: Board) -> TurnAnswer:
    """
    The first answer of a turn that had been committed; jobs that have moved on since are left out, or stale.
    """
    stale_text, rest_text = transaction.rows("turn_answered", worker=turn.worker_id)[0]
    rest = json_values(rest_text)
    return TurnAnswer(
        now=moment(transaction.now),
        stale=frozenset(json_values(stale_text)) | settling.lost_starts(transaction, turn.worker_id, turn.starts),
        cancelled=frozenset(rest["cancelled"]),
        claimed=tuple(claiming.claim_again(transaction, turn.worker_id, rest["claimed"], board)),
        is_full=rest["is_full"],
        next_due_at=moment_or_none(rest["next_due"]),
        has_open_queue=rest["has_open_queue"],
        last_queue=rest["last_queue"],
        is_repeat=True,
        circuits=board.notable(),
        circuit_events=tuple(
            CircuitEvent(type_key, CircuitState(state), CircuitEventName(name))
            for type_key, state, name in rest["circuit_events"]
        ),
        wake_in=None if rest["wake_in"] is None else timedelta(microseconds=rest["wake_in"]),
    )
