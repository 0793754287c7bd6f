"""
What the heartbeat and the timers ask: who beats, who fell silent, what waits, when a timer last ran.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.domain.job import Status
from chokaq_core.domain.moves import Move
from chokaq_core.policy.rescue import Suspect
from chokaq_core.ports import (
    WAKE_HORIZON,
    BeatAnswer,
    Demand,
    HeldJob,
    MovedJob,
    Suspects,
    TimerRow,
    WorkerFacts,
    WorkerState,
)
from chokaq_core.stores.sqlserver.rows import (
    delay_parts,
    error_entry,
    is_possible_id,
    moment,
    moment_or_none,
    moment_text,
    wake_span,
)
from chokaq_core.stores.sqlserver.turning import EMPTY_ROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Beat, Burial, Progress
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.pool import Row
    from chokaq_core.stores.sqlserver.texts import Texts

RESCUE_SHARD = "rescue"
"""Shard of counters for jobs that a scan ended."""


def beat(database: Database, beat: Beat, rules: CircuitRules) -> BeatAnswer:
    """
    Move beat for all running jobs of a worker, with the progress that changed.
    """

    def texts(carrier: Texts) -> Values:
        return {"progress": json.dumps([_progress(progress, carrier) for progress in _own(beat)])}

    values: Values = {
        "worker": beat.worker_id,
        "active": beat.active,
        "abandoned": beat.abandoned,
        "capacity": beat.capacity,
        "probe_until": rules.probe_timeout,
    }
    ((held,),), marked = database.run_beat("beat_all", values, texts)
    marks = _pairs(marked)
    return BeatAnswer(dict(_held(entry, marks) for entry in (held or "").split()))


def register(database: Database, worker: WorkerFacts) -> None:
    """
    Writes a worker's row.
    """
    values: Values = {"worker": worker.worker_id, "capacity": worker.capacity, "state": str(worker.state)}
    database.run("register", {**values, "host": worker.host[:255]})


def retire(database: Database, worker_id: str, rules: CircuitRules) -> timedelta | None:
    """
    Marks a worker as stopped; answers when a delayed wake is wanted.
    """
    values: Values = {
        "worker": worker_id,
        "has_circuits": rules.is_enabled,
        "reset_at": rules.break_duration,
        "probe_until": rules.probe_timeout,
        "wake_horizon": WAKE_HORIZON,
    }
    (((wake_in,),),) = database.run("retire", values)
    return wake_span(wake_in)


def workers(database: Database) -> Sequence[WorkerFacts]:
    """
    All workers, oldest first.
    """
    return [worker_facts(row) for row in database.run("workers")[0]]


def worker_facts(row: Row) -> WorkerFacts:
    """
    A row of Workers.
    """
    worker, host, capacity, state, active, abandoned, started, beaten = row
    return WorkerFacts(worker, host, capacity, WorkerState(state), active, abandoned, moment(started), moment(beaten))


def prune_workers(database: Database, silent_for: timedelta) -> int:
    """
    Deletes rows of workers that are long gone and hold nothing.
    """
    (((gone,),),) = database.run("prune_workers", {"older_than": -silent_for})
    return int(gone)


def recover(database: Database, fetched_for: timedelta, limit: int, rules: CircuitRules) -> Sequence[MovedJob]:
    """
    Move recover.
    """
    values: Values = {"older_than": -fetched_for, "most": limit, "has_circuits": rules.is_enabled}
    return [MovedJob(*row) for row in database.run("recover", values)[0]]


def suspects(database: Database, default_timeout: timedelta, limit: int) -> Suspects:
    """
    Processing rows whose heartbeat is too old.
    """
    ((now,),), found = database.run("suspects", {"default_timeout": -default_timeout, "most": limit})
    return Suspects(moment(now), tuple(_suspect(row) for row in found))


def bury(database: Database, burials: Sequence[Burial], rules: CircuitRules) -> Sequence[bool]:
    """
    Move bury, each burial by its own guard; of two for one job only the first can be applied.
    """
    first: dict[str, Burial] = {}
    for burial in burials:
        if is_possible_id(burial.suspect.job_id):
            first.setdefault(burial.suspect.job_id, burial)

    def texts(carrier: Texts) -> Values:
        return {"moves": json.dumps([_burial(burial, carrier) for burial in first.values()])}

    values: Values = {"worker": RESCUE_SHARD, "has_circuits": rules.is_enabled}
    applied = {job_id for (job_id,) in database.run("bury", values, texts)[0]}
    return [burial.suspect.job_id in applied and first[burial.suspect.job_id] is burial for burial in burials]


def timer_started(database: Database, name: str) -> TimerRow:
    """
    Notes a timer's start; answers what was known before.
    """
    ((row,),) = database.run("timer_started", {"name": name})
    return _timer_row(*row)


def timer_finished(database: Database, name: str, outcome: str, *, has_succeeded: bool) -> None:
    """
    Notes how a timer's run ended.
    """
    database.run("timer_finished", {"name": name, "outcome": outcome, "has_succeeded": has_succeeded})


def timers(database: Database) -> Mapping[str, TimerRow]:
    """
    All timers by name.
    """
    return timer_rows(database.run("timers")[0])


def timer_rows(rows: Sequence[Row]) -> Mapping[str, TimerRow]:
    """
    Rows of Timers by name.
    """
    return {name: _timer_row(now, *rest) for now, name, *rest in rows}


def demand(database: Database, bound: int, rules: CircuitRules) -> Demand:
    """
    What waits, counted up to a bound, and who is there for it.
    """
    values: Values = {
        "most": bound,
        "has_circuits": rules.is_enabled,
        "reset_at": rules.break_duration,
        "probe_until": rules.probe_timeout,
    }
    (((now, claimable, looking),),) = database.run("demand", values)
    return Demand(moment(now), min(bound, claimable), looking)


def _pairs(rows: Sequence[Row]) -> dict[str, str | None]:
    return {row[0]: row[1] for row in rows}


def _own(beat: Beat) -> list[Progress]:
    """
    The progress of the worker's own leases, the last for each job.
    """
    by_id = {p.lease.job_id: p for p in beat.progress if p.lease.worker_id == beat.worker_id}
    return [progress for job_id, progress in by_id.items() if is_possible_id(job_id)]


def _progress(progress: Progress, carrier: Texts) -> dict[str, Any]:
    return {
        "id": progress.lease.job_id,
        "lease": progress.lease.number,
        "percent": progress.percent,
        "note": carrier.add(progress.note),
    }


def _held(entry: str, marks: Mapping[str, str | None]) -> tuple[str, HeldJob]:
    job_id, lease, status = entry.rsplit(":", 2)
    return job_id, HeldJob(int(lease), int(status) == Status.PROCESSING, job_id in marks, marks.get(job_id))


def _suspect(row: Row) -> Suspect:
    job_id, lease, worker, heartbeat, queue, type_key, attempt, lifetime = row
    return Suspect(job_id, lease, worker, moment(heartbeat), queue, type_key, attempt, moment(lifetime))


def _burial(burial: Burial, carrier: Texts) -> dict[str, Any]:
    suspect, verdict, error = burial.suspect, burial.verdict, burial.error
    return {
        **EMPTY_ROW,
        "id": suspect.job_id,
        "lease": suspect.lease_number,
        "beat": moment_text(suspect.heartbeat_at),
        "move": str(Move.RETRY if verdict.move is Move.RETRY else Move.DEAD_LETTER),
        "reason": None if verdict.reason is None else int(verdict.reason),
        **delay_parts(verdict.delay),
        "type": carrier.add(error.type),
        "entry": carrier.add(error_entry(error)),
        "details": carrier.add(error.details),
    }


def _timer_row(now: Any, started: Any, succeeded: Any, outcome: str | None) -> TimerRow:  # noqa: ANN401 - a row's values
    return TimerRow(moment(now), moment_or_none(started), moment_or_none(succeeded), outcome)
