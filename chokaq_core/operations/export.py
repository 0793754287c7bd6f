"""
Lists of jobs as files that spreadsheets and programs read.
"""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.domain.listing import JobSummary

COLUMNS = (
    "id",
    "pillar",
    "type",
    "queue",
    "status",
    "reason",
    "error_type",
    "error_line",
    "attempts",
    "priority",
    "tags",
    "idempotency_key",
    "created_by",
    "created_at",
    "due_at",
    "started_at",
    "ended_at",
    "last_updated_at",
    "duration_ms",
    "worker_id",
    "interruptions",
    "progress",
    "progress_note",
    "cancel_requested_at",
)
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""
A spreadsheet takes a cell that begins so for a formula, the wide forms of East Asian keyboards included (OWASP, *CSV
injection*).
"""


def as_csv(jobs: Iterable[JobSummary]) -> str:
    """
    One line for each job under a line of names; cells that a spreadsheet would compute get an apostrophe in front.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in values_of(job).values()] for job in jobs)
    return text.getvalue()


def as_json_lines(jobs: Iterable[JobSummary]) -> str:
    """
    A JSON array with one job on each line.
    """
    lines = ",\n".join(json.dumps(values_of(job), ensure_ascii=False) for job in jobs)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def values_of(job: JobSummary) -> dict[str, object]:
    """
    A job's values by column, as JSON takes them.
    """
    values: dict[str, object] = {
        "id": job.id,
        "pillar": str(job.pillar),
        "type": job.type_key,
        "queue": job.queue,
        "status": job.status.label,
        "reason": None if job.reason is None else job.reason.label,
        "attempts": job.attempt,
    }
    return {column: values[column] if column in values else _plain(getattr(job, column)) for column in COLUMNS}


def _plain(value: object) -> object:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_DANGEROUS):
        return "'" + value
    return value
