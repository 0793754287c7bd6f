"""
Storing new jobs: one batch that judges each and writes the accepted ones together.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.ports import WAKE_HORIZON, EnqueueAnswer, EnqueueItem, EnqueueOutcome
from chokaq_core.stores.sqlserver.rows import delay_parts, moment_text, wake_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chokaq_core.domain.job import NewJob
    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.texts import Texts


def enqueue(database: Database, jobs: Sequence[NewJob], rules: CircuitRules) -> EnqueueAnswer:
    """
    Stores jobs in one transaction, one outcome each, in order.
    """
    waves = waves_of(jobs)

    def texts(carrier: Texts) -> Values:
        rows = zip(jobs, waves, strict=True)
        return {"jobs": json.dumps([_row(number, job, wave, carrier) for number, (job, wave) in enumerate(rows)])}

    values: Values = {
        "last_wave": max(waves, default=-1),
        "has_circuits": rules.is_enabled,
        "reset_at": rules.break_duration,
        "probe_until": rules.probe_timeout,
        "wake_horizon": WAKE_HORIZON,
    }
    ((is_claimable, is_worker_looking, wake_in),), outcomes = database.run("enqueue_batch", values, texts)
    known = {number: EnqueueItem(EnqueueOutcome(outcome), job_id) for number, outcome, job_id in outcomes}
    return EnqueueAnswer(
        items=tuple(known.get(number, EnqueueItem(EnqueueOutcome.CREATED, job.id)) for number, job in enumerate(jobs)),
        is_claimable=bool(is_claimable),
        is_worker_looking=bool(is_worker_looking),
        wake_in=wake_span(wake_in),
    )


def waves_of(jobs: Sequence[NewJob]) -> list[int]:
    """
    The wave in which each job is judged: behind every earlier job of the batch that shares its id or key.
    """
    last_by_name: dict[tuple[str, str], int] = {}
    waves: list[int] = []
    for job in jobs:
        names = [("id", job.id)]
        if job.idempotency_key is not None:
            names.append(("key", job.idempotency_key))
        wave = max(last_by_name.get(name, -1) for name in names) + 1
        last_by_name.update(dict.fromkeys(names, wave))
        waves.append(wave)
    return waves


def _row(number: int, job: NewJob, wave: int, carrier: Texts) -> dict[str, Any]:
    return {
        "ord": number,
        "wave": wave,
        "id": job.id,
        "queue": job.queue,
        "type": carrier.add(job.type_key),
        "payload": carrier.add(job.payload),
        "tags": carrier.add(job.tags),
        "key": carrier.add(job.idempotency_key),
        "priority": job.priority,
        "due": None if job.due_at is None else moment_text(job.due_at),
        **delay_parts(None if job.due_at is not None else job.delay),
        "trace": job.trace_parent,
        "by": carrier.add(job.created_by),
    }
