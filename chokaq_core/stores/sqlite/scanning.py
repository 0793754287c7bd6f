"""
What the timers ask: who fell silent, what waits, when a timer last ran.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import BeatAnswer, Demand, HeldJob, MovedJob, Suspects, TimerRow, WorkerFacts, WorkerState
from chokaq_core.stores.sqlite.circuits import Board, release_probes
from chokaq_core.stores.sqlite.rows import micros, moment, moment_or_none, span_micros
from chokaq_core.stores.sqlite.settling import Ending, count_endings, dead_letter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Beat, Burial, Progress
    from chokaq_core.stores.sqlite.database import Transaction

RESCUE_SHARD = "rescue"
"""Shard of counters for jobs that a scan ended."""

_PROCESSING = 2


def recover(
    transaction: Transaction, fetched_for: timedelta, limit: int, circuit_rules: CircuitRules
) -> Sequence[MovedJob]:
    """
    Move recover.
    """
    older_than = transaction.now - span_micros(fetched_for)
    rows = transaction.rows("recover_found", older_than=older_than, most=limit)
    transaction.change_each("turn_release", [{"id": row[0], "now": transaction.now} for row in rows])
    release_probes(transaction, [row[0] for row in rows], circuit_rules)
    return [MovedJob(*row[:5]) for row in rows]


def suspects(transaction: Transaction, default_timeout: timedelta, limit: int) -> Suspects:
    """
    Processing rows whose heartbeat is too old.
    """
    rows = transaction.rows("suspects", default_timeout=span_micros(default_timeout), most=limit)
    found = (
        Suspect(job_id, lease, worker, moment(heartbeat), queue, type_key, attempt, moment(lifetime))
        for job_id, lease, worker, heartbeat, queue, type_key, attempt, lifetime in rows
    )
    return Suspects(moment(transaction.now), tuple(found))


def bury(transaction: Transaction, burials: Sequence[Burial], circuit_rules: CircuitRules) -> Sequence[bool]:
    """
    Move bury, each burial by its own guard.
    """
    applied = [_bury(transaction, burial) for burial in burials]
    buried = [burial.suspect.job_id for burial, is_applied in zip(burials, applied, strict=True) if is_applied]
    release_probes(transaction, buried, circuit_rules)
    return applied


def timer_started(transaction: Transaction, name: str) -> TimerRow:
    """
    Notes a timer's start; answers what was known before.
    """
    row = transaction.row("timer_row", name=name) or (None, None, None)
    transaction.change("timer_started", name=name)
    return _timer_row(transaction, row)


def timers(transaction: Transaction) -> Mapping[str, TimerRow]:
    """
    All timers by name.
    """
    return {name: _timer_row(transaction, tuple(row)) for name, *row in transaction.rows("timers")}


def demand(transaction: Transaction, bound: int, circuit_rules: CircuitRules) -> Demand:
    """
    What waits, counted up to a bound, and who is there for it.
    """
    return Demand(
        now=moment(transaction.now),
        claimable=min(bound, _claimable(transaction, bound, circuit_rules)),
        looking_workers=transaction.value("demand_workers"),
    )


def beat(transaction: Transaction, beat: Beat, circuit_rules: CircuitRules) -> BeatAnswer:
    """
    Move beat for all running jobs of a worker, with the progress that changed.
    """
    transaction.change("beat", worker=beat.worker_id)
    transaction.change_each("beat_progress", [_progress_values(progress) for progress in beat.progress])
    transaction.change(
        "beat_worker", worker=beat.worker_id, active=beat.active, abandoned=beat.abandoned, capacity=beat.capacity
    )
    probe_until = transaction.now + span_micros(circuit_rules.probe_timeout)
    transaction.change("circuits_beat", worker=beat.worker_id, probe_until=probe_until)
    rows = json.loads(transaction.value("beat_held", worker=beat.worker_id))
    held = {i: HeldJob(lease, status == _PROCESSING, bool(mark), by) for i, lease, status, mark, by in rows}
    return BeatAnswer(held)


def register(transaction: Transaction, worker: WorkerFacts) -> None:
    """
    Writes a worker's row.
    """
    transaction.change(
        "register", worker=worker.worker_id, host=worker.host, capacity=worker.capacity, state=str(worker.state)
    )


def workers(transaction: Transaction) -> Sequence[WorkerFacts]:
    """
    All workers, oldest first.
    """
    return [
        WorkerFacts(worker, host, capacity, WorkerState(state), active, abandoned, moment(started), moment(heartbeat))
        for worker, host, capacity, state, active, abandoned, started, heartbeat in transaction.rows("workers")
    ]


def prune_workers(transaction: Transaction, silent_for: timedelta) -> int:
    """
    Deletes rows of workers that are long gone and hold nothing.
    """
    gone = transaction.change("prune_workers", older_than=transaction.now - span_micros(silent_for))
    transaction.change("prune_turns")
    return gone


def _claimable(transaction: Transaction, bound: int, circuit_rules: CircuitRules) -> int:
    """
    Due jobs that a claim could take now, as far as the limits of their queues leave room.
    """
    waiting: defaultdict[str, int] = defaultdict(int)
    limits: dict[str, int | None] = {}
    board = Board(transaction, circuit_rules)
    circuits = {"probing": json.dumps(board.probing()), "held": json.dumps(list(board.held()))}
    for query in ("demand_lanes", "demand_due"):
        for queue, max_workers, count in transaction.rows(query, most=bound, **circuits):
            waiting[queue] += count
            limits[queue] = max_workers
    busy = dict(transaction.rows("claim_busy")) if any(limit is not None for limit in limits.values()) else {}
    return sum(
        count if (limit := limits[queue]) is None else max(0, min(count, limit - busy.get(queue, 0)))
        for queue, count in waiting.items()
    )


def _progress_values(progress: Progress) -> dict[str, object]:
    return {
        "id": progress.lease.job_id,
        "lease_number": progress.lease.number,
        "worker": progress.lease.worker_id,
        "percent": progress.percent,
        "note": progress.note,
    }


def _bury(transaction: Transaction, burial: Burial) -> bool:
    suspect, verdict = burial.suspect, burial.verdict
    mark = transaction.row(
        "bury_still", id=suspect.job_id, lease_number=suspect.lease_number, heartbeat=micros(suspect.heartbeat_at)
    )
    if mark is None:
        return False
    error = {
        "error_type": burial.error.type,
        "message": burial.error.message,
        "details": burial.error.details,
    }
    if verdict.move is Move.RETRY and mark[0] is None:
        delay = span_micros(verdict.delay or timedelta(0))
        transaction.change("turn_retry", id=suspect.job_id, delay=delay, **error)
        count_endings(transaction, RESCUE_SHARD, [Ending(suspect.queue, Move.RETRY)])
        return True
    reason = verdict.reason if verdict.move is Move.DEAD_LETTER else FailureReason.CANCELLED
    dead_letter(transaction, suspect.job_id, reason or FailureReason.ZOMBIE, error)
    count_endings(transaction, RESCUE_SHARD, [Ending(suspect.queue, Move.DEAD_LETTER, reason)])
    return True


def _timer_row(transaction: Transaction, row: tuple[int | None, int | None, str | None]) -> TimerRow:
    started, succeeded, outcome = row
    return TimerRow(moment(transaction.now), moment_or_none(started), moment_or_none(succeeded), outcome)
