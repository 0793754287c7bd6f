"""
Every move of a job between states and pillars: its rule, and one constructor for each that settles a lease.

The table `MOVES` is the contract that every store implements and that the contract tests walk, pair by pair.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import Place
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.domain.job import Lease


class Move(StrEnum):
    """
    The name of a move: the same in code, queries, spans, metrics and docs.
    """

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    START = "start"
    BEAT = "beat"
    COMPLETE = "complete"
    RETRY = "retry"
    POSTPONE = "postpone"
    DEAD_LETTER = "dead_letter"
    RELEASE = "release"
    HAND_BACK = "hand_back"
    RECOVER = "recover"
    BURY = "bury"
    CANCEL = "cancel"
    RESURRECT = "resurrect"
    EDIT = "edit"
    PURGE = "purge"


class Rule(Value):
    """
    One row of the table of moves.

    Attributes:
        sources: places a job may be in when the move is applied; anywhere else the move is stale and changes nothing.
        targets: places it may be in afterwards.
        guard: what else must hold, checked inside the statement.
        effect: what changes besides the place.
    """

    move: Move
    sources: frozenset[Place]
    targets: frozenset[Place]
    guard: str
    effect: str


def _rule(move: Move, sources: str, targets: str, guard: str, effect: str) -> Rule:
    return Rule(
        move,
        frozenset(Place(name) for name in sources.split()),
        frozenset(Place(name) for name in targets.split()),
        guard,
        effect,
    )


MOVES: dict[Move, Rule] = {
    rule.move: rule
    for rule in (
        _rule(
            Move.ENQUEUE,
            "absent",
            "pending",
            "no Hot row holds the same idempotency key",
            "attempt 0; due now or after the delay",
        ),
        _rule(
            Move.CLAIM,
            "pending",
            "fetched processing",
            "due; queue active and not paused; its MaxWorkers not exceeded",
            "worker set, lease number + 1; into Processing also attempt + 1, started, heartbeat",
        ),
        _rule(Move.START, "fetched", "processing", "same lease", "attempt + 1, started, heartbeat"),
        _rule(Move.BEAT, "processing", "processing", "same lease", "heartbeat, progress"),
        _rule(Move.COMPLETE, "processing", "archive", "same lease", "duration, result"),
        _rule(Move.RETRY, "processing", "pending", "same lease", "due later, error appended, worker cleared"),
        _rule(
            Move.POSTPONE,
            "fetched processing",
            "pending",
            "same lease",
            "due later; the attempt is not counted; worker cleared",
        ),
        _rule(Move.DEAD_LETTER, "processing", "dlq", "same lease", "reason, error"),
        _rule(Move.RELEASE, "fetched", "pending", "same lease", "worker cleared"),
        _rule(
            Move.HAND_BACK,
            "processing",
            "pending",
            "same lease; only when the handler itself stopped on shutdown",
            "due now, interruptions + 1, the attempt is not counted, worker cleared",
        ),
        _rule(Move.RECOVER, "fetched", "pending", "fetched longer than FetchedJobTimeout", "worker cleared"),
        _rule(
            Move.BURY,
            "processing",
            "dlq pending",
            "heartbeat older than the zombie timeout, and unchanged since it was read",
            "reason Zombie; or, where the handler re-runs after a loss, error appended and due later",
        ),
        _rule(
            Move.CANCEL,
            "pending fetched processing",
            "dlq processing",
            "none",
            "reason Cancelled, by whom; a processing job is only marked",
        ),
        _rule(
            Move.RESURRECT,
            "dlq",
            "pending",
            "no Hot row holds the same idempotency key",
            "attempt 0, lifetime starts now, due now, cancel mark cleared",
        ),
        _rule(Move.EDIT, "pending dlq", "pending dlq", "not running", "payload, tags, priority; by whom"),
        _rule(Move.PURGE, "archive dlq", "absent", "none", "the row is gone"),
    )
}

_COMPLETE = Move.COMPLETE
"""Before Python 3.12 a member of an enum is looked up by code in Python each time that it is named."""

SETTLING = frozenset({Move.COMPLETE, Move.RETRY, Move.POSTPONE, Move.DEAD_LETTER, Move.RELEASE, Move.HAND_BACK})


class Settlement(Value):
    """
    The last thing a worker says about a lease. Build it with one of the functions below, never by hand.
    """

    move: Move
    lease: Lease
    duration_ms: float | None = None
    delay: timedelta | None = None
    reason: FailureReason | None = None
    error: ErrorFacts | None = None
    result: str | None = None
    result_note: str | None = None


def complete(lease: Lease, duration_ms: float, result: str | None = None, note: str | None = None) -> Settlement:
    """
    The job succeeded: Processing → Archive.
    """
    return Settlement(_COMPLETE, lease, duration_ms=duration_ms, result=result, result_note=note)


def retry(lease: Lease, delay: timedelta, error: ErrorFacts) -> Settlement:
    """
    The attempt failed and another follows after `delay`: Processing → Pending.
    """
    return Settlement(Move.RETRY, lease, delay=delay, error=error)


def postpone(lease: Lease, delay: timedelta) -> Settlement:
    """
    Not now: Fetched or Processing → Pending, due after `delay`, the attempt not counted.
    """
    return Settlement(Move.POSTPONE, lease, delay=delay)


def dead_letter(lease: Lease, reason: FailureReason, error: ErrorFacts, duration_ms: float | None = None) -> Settlement:
    """
    The job ended badly: Processing → DLQ.
    """
    return Settlement(Move.DEAD_LETTER, lease, duration_ms=duration_ms, reason=reason, error=error)


def release(lease: Lease) -> Settlement:
    """
    A fetched job is given back unstarted: Fetched → Pending.
    """
    return Settlement(Move.RELEASE, lease)


def hand_back(lease: Lease) -> Settlement:
    """
    The handler stopped because of the shutdown: Processing → Pending, due now, the attempt not counted.
    """
    return Settlement(Move.HAND_BACK, lease)


def under_cancel_mark(settlement: Settlement, by: str | None) -> Settlement:
    """
    The settlement of a job that an operator has marked for cancellation meanwhile.

    A success stays a success; whatever else the run came to, the job ends as Cancelled.
    """
    if settlement.move is Move.COMPLETE:
        return settlement
    if settlement.move is Move.DEAD_LETTER and settlement.reason is FailureReason.CANCELLED:
        return settlement
    text = f"cancelled by {by}" if by else "cancelled"
    error = settlement.error or ErrorFacts("Cancelled", text, text)
    return dead_letter(settlement.lease, FailureReason.CANCELLED, error, settlement.duration_ms)
