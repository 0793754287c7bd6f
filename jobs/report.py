"""
Summarises a CSV file of any size: `report.csv.v1`.

App settings, read by each run:

    REPORTS_DIR     folder for the summaries, relative to the working directory; default `reports`

What this module shows:

    * A long handler looks at `ctx.raise_if_cancelled()` as it goes, so that a cancel, a timeout or a shutdown can stop
      it, and reports its progress. The engine cannot stop a `def` handler from outside.
    * Its memory does not depend on the size of its input: other jobs run beside it in the same process.
    * It is idempotent: the summary appears complete or not at all, and a second run replaces it. So it is registered
      with `rerun_after_loss=True`, and a run whose worker was lost is repeated without asking a person.
    * `fatal=` at the registration sorts errors by type where no better words are needed than their own.

Relative paths start at the working directory: the app's folder on Azure Functions, where it is read-only when the app
runs from a package, so set REPORTS_DIR to a mounted share there; the folder of `make run` on your machine. Whoever may
enqueue this job may have any file summarised that the app can read, but only written into REPORTS_DIR.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from chokaq_core.contracts import FatalJobError, Job, JobContext, Profile
from jobs.app_settings import app_setting
from jobs.atomic_file import replacing

if TYPE_CHECKING:
    from jobs.csv_summary import Summary

NOT_A_DELIMITER = '\r\n"'
MAX_LOGGED_CHARACTERS = 100
CHECK_IN_GROUPS = 10_000
"""How many groups are written between two looks at whether to stop."""


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except LookupError as error:
        raise ValueError(f"{name[:100]!r} is not a text encoding that Python knows, such as utf-8 or cp1252") from error
    return name


def _delimiter(character: str) -> str:
    if character in NOT_A_DELIMITER:
        raise ValueError("a delimiter cannot be a line end or a double quote")
    return character


class SummariseCsv(Job):
    """
    A CSV file to group and add up.

    Attributes:
        path: the file, packed by gzip or not, relative to the working directory.
        group_by: columns whose values make the groups; none means one total over everything.
        total: columns of numbers to add up; none means that rows are only counted.
        delimiter: character between cells; found out from the file's beginning when left out.
        encoding: of the file; a byte order mark is skipped by the default.
        output: name of the summary within REPORTS_DIR; the job's id when left out.
        header: whether the first row names the columns. If not, they are named by position: "1", "2" and so on.
    """

    path: Annotated[str, Field(min_length=1)]
    group_by: list[str] = Field(default=[])
    total: list[str] = Field(default=[])
    delimiter: Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_delimiter)] | None = None
    encoding: Annotated[str, AfterValidator(_text_encoding)] = "utf-8-sig"
    output: Annotated[str, Field(min_length=1)] | None = None
    header: bool = True


reporting = Profile("reporting")


@reporting.handler(
    "report.csv.v1",
    queue="reports",
    rerun_after_loss=True,
    fatal=(FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError),
)
def summarise_csv(job: SummariseCsv, ctx: JobContext) -> dict[str, object]:
    """
    Writes a CSV with one row for each group: its columns, its number of rows and its totals, sorted.

    A cell that is empty or not a number is left out of its total and counted in `skipped`. A decimal comma makes no
    number. Rows that are too short are filled up with empty cells, blank lines are ignored.

    Returns:
        `path` of the summary; counts of `rows`, `groups`, `ragged` rows and `skipped` cells; `first_skipped_line`.
    """
    source = Path(job.path)
    target = _target(source, job.output or f"{ctx.job_id}.csv")
    summary = _read(source, job, ctx)
    _write(target, job, summary, ctx)
    ctx.report_progress(100, f"{summary.rows} rows in {len(summary.groups)} groups")
    return {"path": target.as_posix(), **_counts(job, summary, ctx)}


def _target(source: Path, name: str) -> Path:
    folder = Path(app_setting("REPORTS_DIR", "reports"))
    target = folder / name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise FatalJobError(f"output {name!r} lies outside of REPORTS_DIR, {folder.as_posix()!r}")
    if target.exists() and source.exists() and target.samefile(source):
        raise FatalJobError(f"output {name!r} is the source itself; a second run would summarise the summary")
    return target


def _read(source: Path, job: SummariseCsv, ctx: JobContext) -> Summary:
    from jobs.csv_source import CsvForm, open_csv  # noqa: PLC0415 - for runs only: no start of the app waits for them
    from jobs.csv_summary import summarise  # noqa: PLC0415 - the same

    def check_in(percent: float) -> None:
        ctx.raise_if_cancelled()
        ctx.report_progress(percent, f"reading {source.name}")

    form = CsvForm(job.delimiter, job.encoding, has_header=job.header)
    with open_csv(source, form, check_in) as table:
        keys = [table.index_of(name) for name in job.group_by]
        totals = [table.index_of(name) for name in job.total]
        return summarise(table, keys, totals)


def _write(target: Path, job: SummariseCsv, summary: Summary, ctx: JobContext) -> None:
    import csv  # noqa: PLC0415 - the same

    from jobs.csv_summary import plain  # noqa: PLC0415 - the same

    with replacing(target) as file:
        writer = csv.writer(codecs.getwriter("utf-8")(file))
        writer.writerow([*job.group_by, "rows", *(f"total_{name}" for name in job.total)])
        for number, key in enumerate(sorted(summary.groups)):
            if number % CHECK_IN_GROUPS == 0:
                ctx.raise_if_cancelled()
            writer.writerow([*_cells(key), *(plain(value) for value in summary.groups[key])])


def _cells(key: str | tuple[str, ...]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


def _counts(job: SummariseCsv, summary: Summary, ctx: JobContext) -> dict[str, object]:
    if summary.first_skipped is not None:
        line, total, cell = summary.first_skipped
        text = "%d cell(s) are not numbers and were left out; the first is %r in column %r on line %d"
        ctx.logger.warning(text, summary.skipped, cell[:MAX_LOGGED_CHARACTERS], job.total[total], line)
    return {
        "rows": summary.rows,
        "groups": len(summary.groups),
        "ragged": summary.ragged,
        "skipped": summary.skipped,
        "first_skipped_line": summary.first_skipped[0] if summary.first_skipped is not None else None,
    }
