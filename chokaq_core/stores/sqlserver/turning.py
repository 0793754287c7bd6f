"""
A worker's turn: one batch that settles, starts and claims.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.circuit import CircuitEvent, CircuitEventName, CircuitState
from chokaq_core.ports import WAKE_HORIZON, TurnAnswer
from chokaq_core.stores.sqlserver.rows import (
    circuit,
    claimed_job,
    delay_parts,
    error_entry,
    is_possible_id,
    moment,
    moment_or_none,
    wake_span,
)
from chokaq_core.stores.sqlserver.texts import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.domain.circuit import CircuitReport
    from chokaq_core.domain.job import ClaimedJob, Lease
    from chokaq_core.domain.lanes import LaneFilter
    from chokaq_core.domain.moves import Settlement
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Turn
    from chokaq_core.stores.sqlserver.database import Database, Results, Values
    from chokaq_core.stores.sqlserver.texts import Texts

EMPTY_ROW: dict[str, Any] = {
    "beat": None,
    "reason": None,
    "ms": None,
    "days": None,
    "seconds": None,
    "micros": None,
    "type": NOWHERE,
    "entry": NOWHERE,
    "details": NOWHERE,
    "result": NOWHERE,
    "note": NOWHERE,
}
"""
What a move may leave out: every row of a batch has the same members.
"""


def take_turn(database: Database, turn: Turn, rules: CircuitRules) -> TurnAnswer:
    """
    Takes a turn, or answers again what it came to when it had been committed before.
    """
    impossible = frozenset(_impossible(turn))

    def texts(carrier: Texts) -> Values:
        moves = [_settlement(settlement, carrier) for settlement in turn.settlements]
        moves += [_start(lease) for lease in turn.starts]
        return {
            "moves": json.dumps([move for move in moves if move["id"] not in impossible]),
            "reports": json.dumps(list(_reports(turn, carrier))),
            "lanes": json.dumps(list(_lanes(turn.lanes, carrier))),
        }

    results = database.run("turn", _values(turn, rules), texts)
    return _answer(results, turn, impossible)


def _values(turn: Turn, rules: CircuitRules) -> Values:
    return {
        "worker": turn.worker_id,
        "seq": turn.seq,
        "want": turn.want,
        "prefetch": turn.prefetch,
        "after_queue": turn.after_queue,
        "looking_until": turn.looks_again_within or None,
        **circuit_values(rules),
        "wake_horizon": WAKE_HORIZON,
    }


def circuit_values(rules: CircuitRules) -> Values:
    """
    The rules of circuits as the batch takes them.
    """
    return {
        "has_circuits": rules.is_enabled,
        "failure_threshold": rules.failure_threshold,
        "oldest_failure": -rules.failure_window,
        "reset_at": rules.break_duration,
        "probe_until": rules.probe_timeout,
    }


def _impossible(turn: Turn) -> Iterator[str]:
    """
    Ids that no job can bear, and starts of jobs that are settled in the same turn: stale whatever the store holds.
    """
    settled = {settlement.lease.job_id for settlement in turn.settlements}
    yield from (job_id for job_id in settled if not is_possible_id(job_id))
    yield from (lease.job_id for lease in turn.starts if not is_possible_id(lease.job_id))


def _settlement(settlement: Settlement, carrier: Texts) -> dict[str, Any]:
    error = settlement.error
    return {
        **EMPTY_ROW,
        "id": settlement.lease.job_id,
        "lease": settlement.lease.number,
        "move": str(settlement.move),
        "reason": None if settlement.reason is None else int(settlement.reason),
        "ms": settlement.duration_ms,
        **delay_parts(settlement.delay),
        "type": carrier.add(None if error is None else error.type),
        "entry": carrier.add(None if error is None else error_entry(error)),
        "details": carrier.add(None if error is None else error.details),
        "result": carrier.add(settlement.result),
        "note": carrier.add(settlement.result_note),
    }


def _start(lease: Lease) -> dict[str, Any]:
    return {**EMPTY_ROW, "id": lease.job_id, "lease": lease.number, "move": "start"}


def _reports(turn: Turn, carrier: Texts) -> Iterator[dict[str, Any]]:
    for number, report in enumerate(turn.reports):
        yield _report(number, report, carrier)


def _report(number: int, report: CircuitReport, carrier: Texts) -> dict[str, Any]:
    return {
        "ord": number,
        "type": carrier.add(report.type_key),
        "job": report.job_id,
        "generation": report.generation,
        "signal": str(report.signal),
    }


def _lanes(lanes: LaneFilter | None, carrier: Texts) -> Iterator[dict[str, Any]]:
    if lanes is None:
        return
    for type_key, is_open in lanes.types.items():
        yield {"type": carrier.add(type_key), "queue": None, "open": int(is_open)}
    for queue, is_open in lanes.queues.items():
        yield {"type": NOWHERE, "queue": queue, "open": int(is_open)}
    yield {"type": NOWHERE, "queue": None, "open": int(lanes.others)}


def _answer(results: Results, turn: Turn, impossible: frozenset[str]) -> TurnAnswer:
    ((now, is_fresh, stale, cancelled, claimed, is_full, next_due, has_open, last_queue, events, wake_in),) = results[0]
    at = moment(now)
    return TurnAnswer(
        now=at,
        stale=_ids(stale) | impossible,
        cancelled=_ids(cancelled),
        claimed=tuple(_in_order((claimed_job(row, turn.worker_id, at) for row in results[1]), claimed)),
        is_full=bool(is_full),
        next_due_at=moment_or_none(next_due),
        has_open_queue=bool(has_open),
        last_queue=last_queue,
        is_repeat=not is_fresh,
        circuits=tuple(circuit(row) for row in results[2]),
        circuit_events=tuple(_events(events)),
        wake_in=wake_span(wake_in),
    )


def _ids(text: str | None) -> frozenset[str]:
    return frozenset((text or "").split())


def _in_order(jobs: Iterator[ClaimedJob], claimed: str | None) -> list[ClaimedJob]:
    """
    The claimed jobs, first to run first: the order stands in the answer's list of leases.
    """
    by_lease = {f"{job.lease.job_id}:{job.lease.number}": job for job in jobs}
    return [by_lease[lease] for lease in (claimed or "").split() if lease in by_lease]


def _events(text: str | None) -> Iterator[CircuitEvent]:
    words = (text or "").split()
    for type_key, state, name in zip(words[::3], words[1::3], words[2::3], strict=True):
        yield CircuitEvent(type_key, CircuitState(int(state)), CircuitEventName(name))
