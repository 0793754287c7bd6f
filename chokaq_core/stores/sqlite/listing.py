"""
Jobs as lists show them, what fails most, and what people did.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chokaq_core.domain.listing import JobQuery, JobSummary, Pillar, Position
from chokaq_core.domain.operator_log import LogEntry, LogNote, tally
from chokaq_core.domain.value import Value
from chokaq_core.ports import MAX_LOOK, JobCount, JobPage, TopErrors
from chokaq_core.stores.sqlite.rows import RECORDS, micros, moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.domain.listing import JobFilter
    from chokaq_core.stores.sqlite.database import Transaction

_LAST_MICROSECOND = 2**62


class _Window(Value):
    """
    The part of a list that one look walks: between two times, at one end from after an id on, at the other up to one.
    """

    low: int
    high: int
    after_id: str | None = None
    last_id: str | None = None

    def values(self) -> dict[str, object]:
        """
        The parameters of the queries.
        """
        return {"low": self.low, "high": self.high, "after_id": self.after_id, "last_id": self.last_id}


def list_jobs(transaction: Transaction, query: JobQuery, limit: int, look: int) -> JobPage:
    """
    One page, found by one look.
    """
    name = f"list_{query.pillar}_{'oldest' if query.is_oldest_first else 'newest'}"
    window = _start(query)
    last = transaction.row(f"{name}_horizon", **window.values(), look=min(look, MAX_LOOK))
    if last is not None:
        window = _ending(window, last, is_oldest_first=query.is_oldest_first)
    rows = transaction.rows(name, **window.values(), **_filter_values(query.filter), most=limit + 1)
    jobs = tuple(RECORDS.summary(query.pillar, row) for row in rows[:limit])
    further = jobs[-1].position if len(rows) > limit else None if last is None else Position(moment(last[0]), last[1])
    return JobPage(moment(transaction.now), jobs, further)


def count_jobs(transaction: Transaction, pillar: Pillar, job_filter: JobFilter, look: int) -> JobCount:
    """
    Counts among the newest, one look deep.
    """
    window, depth = _start(JobQuery(pillar, job_filter)), min(look, MAX_LOOK)
    beyond = transaction.row(f"list_{pillar}_newest_horizon", **window.values(), look=depth + 1)
    if beyond is not None:
        window = _ending(window, beyond, is_oldest_first=False)
    count = transaction.value(f"count_{pillar}", **window.values(), **_filter_values(job_filter))
    return JobCount(count, is_complete=beyond is None)


def look_up(transaction: Transaction, job_ids: Sequence[str]) -> Mapping[str, JobSummary]:
    """
    Jobs of any pillar by their ids.
    """
    ids = json.dumps(list(job_ids))
    return {
        job.id: job
        for pillar in Pillar
        for job in (RECORDS.summary(pillar, row) for row in transaction.rows(f"look_up_{pillar}", ids=ids))
    }


def key_holders(transaction: Transaction, keys: Sequence[str]) -> Mapping[str, str]:
    """
    Active jobs by the keys that they hold.
    """
    rows = transaction.rows("enqueue_key_holders", keys=json.dumps(list(keys)))
    return {key: job_id for key, job_id, *_ in rows}


def top_errors(transaction: Transaction, look: int, limit: int) -> TopErrors:
    """
    The newest dead jobs, grouped.
    """
    beyond = transaction.row(
        "list_dlq_newest_horizon", **_Window(0, _LAST_MICROSECOND).values(), look=min(look, MAX_LOOK) + 1
    )
    groups = [RECORDS.error_group(row) for row in transaction.rows("top_errors", look=min(look, MAX_LOOK), most=limit)]
    return TopErrors(tuple(groups), is_complete=beyond is None)


def write_note(transaction: Transaction, note: LogNote | None, outcomes: Sequence[str], affected: int) -> None:
    """
    Writes down what a command did, if that is asked for.
    """
    if note is None:
        return
    transaction.change(
        "log_note",
        actor=note.actor,
        command=note.command,
        target=note.target,
        affected=affected,
        outcome=tally(outcomes),
    )


def operator_log(transaction: Transaction, before: int | None, limit: int) -> Sequence[LogEntry]:
    """
    What people did, newest first.
    """
    rows = transaction.rows("log_entries", below=before, most=limit)
    return [LogEntry(number, moment(at), *rest) for number, at, *rest in rows]


def _start(query: JobQuery) -> _Window:
    """
    From the filter's times, or from the position on.
    """
    low = 0 if query.filter.from_at is None else micros(query.filter.from_at)
    high = _LAST_MICROSECOND if query.filter.to_at is None else micros(query.filter.to_at)
    if query.after is None:
        return _Window(low, high)
    at = micros(query.after.at)
    if query.is_oldest_first:
        return _Window(max(low, at), high, query.after.job_id if at >= low else None)
    return _Window(low, min(high, at), query.after.job_id if at <= high else None)


def _ending(window: _Window, last: tuple[int, str], *, is_oldest_first: bool) -> _Window:
    """
    The window up to an entry, that one included.
    """
    at, job_id = last
    if is_oldest_first:
        return _Window(window.low, at, window.after_id, job_id)
    return _Window(at, window.high, window.after_id, job_id)


def _filter_values(job_filter: JobFilter) -> dict[str, object]:
    return {
        "queue": job_filter.queue,
        "type_key": job_filter.type_key,
        "status": None if job_filter.status is None else int(job_filter.status),
        "reason": None if job_filter.reason is None else int(job_filter.reason),
        "error_text": job_filter.error_text or None,
        "search": job_filter.search or None,
    }
