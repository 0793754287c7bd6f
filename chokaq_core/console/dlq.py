"""
`dlq summary|export`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.console import arguments
from chokaq_core.console.exits import Exit
from chokaq_core.console.models import checked
from chokaq_core.console.opening import opened
from chokaq_core.console.printing import tell, write_json, write_table
from chokaq_core.domain.listing import JobFilter, Pillar
from chokaq_core.hosting.deck_requests import FilterBody
from chokaq_core.hosting.deck_views import count_view, error_group_view
from chokaq_core.operations.cursors import Walk
from chokaq_core.operations.export import as_csv, as_json_lines
from chokaq_core.ports import MAX_LOOK

if TYPE_CHECKING:
    import argparse

_COLUMNS = ("jobs", "type", "error_type", "reason", "last_failed_at", "newest_job_id", "error_line")


def summary_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `dlq summary`.
    """
    arguments.answer(parser)
    parser.add_argument("--limit", type=int, choices=range(1, 101), default=20, metavar="1..100", help="groups")


def run_summary(given: argparse.Namespace) -> int:
    """
    Prints how many jobs are dead, and the largest groups of errors among the newest 10 000.
    """
    with opened(given.app) as runtime:
        count = count_view(runtime.store.count_jobs(Pillar.DLQ, JobFilter()))
        top = runtime.store.top_errors(MAX_LOOK, given.limit)
    groups = [error_group_view(group).model_dump(mode="json") for group in top.groups]
    if given.json:
        write_json({"jobs": count.model_dump(mode="json"), "groups": groups})
    else:
        print(f"{count.text} job(s) in the DLQ")
        write_table(_COLUMNS, groups)
    return Exit.DONE


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `dlq export`.
    """
    arguments.app_folder(parser)
    arguments.job_filter(parser, has_pillar=False)
    parser.add_argument("--format", choices=("csv", "json"), default="csv", help="what kind of file")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write it (default: standard output)")


def run_export(given: argparse.Namespace) -> int:
    """
    Writes dead jobs to a file, up to 10 000 rows looked at.
    """
    asked = checked(FilterBody, arguments.filter_values(given, pillar=Pillar.DLQ)).to_query()
    walk = Walk.resume(asked, given.cursor)
    out = given.out.resolve() if given.out is not None else None
    with opened(given.app) as runtime:
        page = runtime.store.list_jobs(walk.query, MAX_LOOK)
    text = as_csv(page.jobs) if given.format == "csv" else as_json_lines(page.jobs)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8", newline="")
        tell(f"{len(page.jobs)} job(s) written to {out}")
    further = walk.cursor(page.further, page.now)
    if further is not None:
        tell(f"There is more: --cursor {further}")
    return Exit.DONE
