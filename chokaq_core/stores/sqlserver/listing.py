"""
Jobs as lists show them, what fails most, and what people did.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from chokaq_core.domain.listing import JobQuery, JobSummary, Pillar, Position
from chokaq_core.domain.operator_log import LogEntry
from chokaq_core.ports import MAX_LOOK, JobCount, JobPage, TopErrors
from chokaq_core.stores.sqlserver.rows import MAX_ID_CHARACTERS, RECORDS, is_possible_id, moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.domain.listing import JobFilter
    from chokaq_core.stores.sqlserver.database import Database, Values
    from chokaq_core.stores.sqlserver.texts import Texts

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_NOBODY = "\x01"
"""A name that no queue and no type bears."""


def list_jobs(database: Database, query: JobQuery, limit: int, look: int) -> JobPage:
    """
    One page, found by one look.
    """
    name = f"list_{query.pillar}_{'oldest' if query.is_oldest_first else 'newest'}"
    depth = min(look, MAX_LOOK)
    values: Values = {**_window(query), "look": depth, "most": limit + 1, **_filter_values(query.filter)}
    ((now, last_at, last_id),), rows = database.run(name, values)
    jobs = tuple(RECORDS.summary(query.pillar, row) for row in rows[:limit])
    if len(rows) > limit:
        further: Position | None = jobs[-1].position
    else:
        further = None if last_at is None else Position(moment(last_at), last_id)
    return JobPage(moment(now), jobs, further)


def count_jobs(database: Database, pillar: Pillar, job_filter: JobFilter, look: int) -> JobCount:
    """
    Counts among the newest, one look deep.
    """
    depth = min(look, MAX_LOOK)
    values: Values = {**_window(JobQuery(pillar, job_filter)), "look": depth + 1, **_filter_values(job_filter)}
    (((last_at, count),),) = database.run(f"count_{pillar}", values)
    return JobCount(min(count, depth), is_complete=last_at is None)


def look_up(database: Database, job_ids: Sequence[str]) -> Mapping[str, JobSummary]:
    """
    Jobs of any pillar by their ids.
    """
    wanted = [{"id": job_id} for job_id in dict.fromkeys(job_ids) if is_possible_id(job_id)]
    results = database.run("look_up", {"ids": json.dumps(wanted)})
    return {
        job.id: job
        for pillar, rows in zip(Pillar, results, strict=True)
        for job in (RECORDS.summary(pillar, row) for row in rows)
    }


def key_holders(database: Database, keys: Sequence[str]) -> Mapping[str, str]:
    """
    Active jobs by the keys that they hold.
    """

    def texts(carrier: Texts) -> Values:
        return {"keys": json.dumps([{"key": carrier.add(key)} for key in dict.fromkeys(keys)])}

    return {key: job_id for key, job_id in database.run("key_holders", {}, texts)[0] if key in keys}


def top_errors(database: Database, look: int, limit: int) -> TopErrors:
    """
    The newest dead jobs, grouped.
    """
    depth = min(look, MAX_LOOK)
    ((count,),), groups = database.run("top_errors", {"look": depth, "most": limit})
    return TopErrors(tuple(RECORDS.error_group(row) for row in groups), is_complete=count <= depth)


def operator_log(database: Database, before: int | None, limit: int) -> Sequence[LogEntry]:
    """
    What people did, newest first.
    """
    rows = database.run("log_entries", {"below": before, "most": limit})[0]
    return [LogEntry(number, moment(at), *rest) for number, at, *rest in rows]


def _window(query: JobQuery) -> Values:
    """
    The part of the list that is asked for: between the filter's times, or from the position on.
    """
    low, high = query.filter.from_at or _FIRST, query.filter.to_at or _LAST
    after = query.after
    if after is None:
        return {"low": low, "high": high, "after_id": ""}
    after_id = after.job_id.encode("ascii", "replace").decode("ascii")[:MAX_ID_CHARACTERS]
    if query.is_oldest_first:
        return {"low": max(low, after.at), "high": high, "after_id": after_id if after.at >= low else ""}
    return {"low": low, "high": min(high, after.at), "after_id": after_id if after.at <= high else ""}


def _filter_values(job_filter: JobFilter) -> Values:
    search, error_text = job_filter.search or "", job_filter.error_text or ""
    return {
        "has_queue": job_filter.queue is not None,
        "queue": _name(job_filter.queue),
        "has_type": job_filter.type_key is not None,
        "type_key": _name(job_filter.type_key),
        "status": None if job_filter.status is None else int(job_filter.status),
        "reason": None if job_filter.reason is None else int(job_filter.reason),
        "has_error_text": bool(error_text),
        "error_text": error_text,
        "has_search": bool(search),
        "search": search,
    }


def _name(name: str | None) -> str:
    """
    A queue's or a type's name as varchar; others would lose characters and meet a name that they are not.
    """
    if name is None:
        return ""
    return name if name and all("!" <= character <= "~" for character in name) else _NOBODY
