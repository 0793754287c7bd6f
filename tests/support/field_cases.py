"""
Faults that users of other job runners met, and the tests that guard against their kinds.

`python -m tests.support.field_cases` writes `docs/field-cases.md` anew, from the markers of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.support.documents import ROOT
from tests.support.marked_tests import MarkedTest, marked_tests

PATH = ROOT / "docs/field-cases.md"

TITLES: Mapping[str, str] = {
    "C-001": "A result that arrives after its lease was lost",
    "C-003": "A handler that blocks the event loop and so its own heartbeat",
    "C-004": "A job that kills its worker, again and again",
    "C-007": "The host's clock and the database's disagree",
    "C-008": "Claims under row versioning, or on a connection left at another isolation level",
    "C-009": "Slots of a limited queue that a dead worker held",
    "C-011": "A backoff that grows beyond what a date can hold",
    "C-013": "A handler that calls `sys.exit` or raises what ends a process",
    "C-015": "The edges of `Retry.MaxAttempts`",
    "C-016": "A NUL character in the text of an error",
    "C-018": "Jobs that failed together and would retry together",
    "C-019": "A timed-out sync handler that goes on in its thread",
    "C-020": "Many callers at once with one idempotency key",
    "C-022": "Keys that differ by a blank, a letter's case or its composition",
    "C-024": "Very long delays",
    "C-025": "Delays of nothing, below nothing and not a number",
    "C-026": "Due times without a time zone",
    "C-029": "Names at and beyond their longest",
    "C-031": "Bad and duplicate items in a batch",
    "C-033": "Values that JSON cannot carry, or not exactly",
    "C-035": "A size limit that counts characters in place of bytes",
    "C-038": "Payloads of another release's model",
    "C-039": "Jobs of a type that the worker does not know",
    "C-040": "A store for tests that forgives what the real one does not",
    "C-041": "A purge of very many rows beside the daily work",
    "C-043": "A resurrection that meets an active job with the same key",
    "C-045": "Script in the texts that an operator reads",
    "C-047": "Wildcards in the search box",
    "C-049": "Pages that repeat some jobs and leave others out",
    "C-050": "Durations that two readers read differently",
    "C-052": "Secret references that the platform did not resolve",
    "C-054": "Limits of zero, below zero and of words",
    "C-056": "Wake messages that cannot be read",
    "C-057": "A database that is away for minutes",
    "C-058": "A host that goes while jobs run",
    "C-060": "A pause that recovered jobs ignore or a restart forgets",
    "C-062": "A health check that says too little or too much",
    "C-063": "Unbounded values as attributes of metrics",
    "C-065": "Many threads and processes on one SQLite file",
    "C-066": "A circuit breaker that a long healthy time has made deaf",
}
"""The cases by number. What was set aside has left gaps."""

_INTRO = """\
# Field cases

Faults that users of other job runners met, each as a sample of its kind, and the tests that keep the kind out of here.
A test names its case with `@pytest.mark.case("C-011")`; from these markers this page is written:
`python -m tests.support.field_cases`. A run of all tests fails where a test of a case fails, where one is skipped for
another reason than something that this machine lacks, and where no test of a case passed.

Behind each test stand the stores that it runs on: SQLite in memory, SQLite in a file, and SQL Server, for which the
tests ask for a server ([testing.md](testing.md)). Where nothing stands, the test looks at rules or at a door before any
store. The numbers have gaps where a case was set aside.

| Case | Fault | Tests |
|---|---|---|
"""


def page() -> str:
    """
    The text of `docs/field-cases.md`.
    """
    return "\n".join((_INTRO + "\n".join(_overview()), *(line for case in TITLES for line in _section(case)), ""))


def guards_of(case: str) -> list[MarkedTest]:
    """
    The tests that name the case.
    """
    return [test for test in marked_tests() if test.case == case]


def _overview() -> Iterator[str]:
    for case, title in TITLES.items():
        yield f"| {case} | {title} | {len(guards_of(case))} |"


def _section(case: str) -> Iterator[str]:
    yield f"\n## {case}: {TITLES[case]}\n"
    path = ""
    for test in guards_of(case):
        if test.path != path:
            path = test.path
            yield f"- `{path}`"
        yield f"    - {_sentence(test)}"


def _sentence(test: MarkedTest) -> str:
    """
    The test's name as words, and its stores.
    """
    stores = f" ({', '.join(test.stores)})" if test.stores else ""
    return f"`{test.name}`{stores}"


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
