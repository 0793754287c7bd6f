"""
The list of field cases: every case has tests, the page tells them, and a run in which one of them guards nothing fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.absent import Thing
from tests.support.documents import ROOT
from tests.support.field_cases import PATH, TITLES, guards_of, page
from tests.support.marked_tests import marked_tests


def test_the_page_is_in_step_with_the_markers() -> None:
    written = PATH.read_text(encoding="utf-8")
    assert written == page(), "write it anew: python -m tests.support.field_cases"


@pytest.mark.parametrize("case", TITLES)
def test_every_case_has_a_test(case: str) -> None:
    assert guards_of(case)


def test_every_marker_names_a_case_of_the_list() -> None:
    assert {test.node_id: test.case for test in marked_tests() if test.case not in TITLES} == {}


def test_there_are_forty_cases() -> None:
    assert len(TITLES) == 40


def test_a_test_is_told_with_the_stores_behind_its_fixtures() -> None:
    stores = {(test.case, test.name): test.stores for test in marked_tests()}
    assert stores["C-049", "TestRescueInBatches.test_recovering_in_small_batches_reaches_every_job_once"] == (
        "memory",
        "file",
        "SQL Server",
    )
    assert stores["C-020", "test_of_many_callers_with_one_key_one_creates_the_job"] == ("memory", "file")
    assert stores["C-015", "test_a_job_that_always_fails_runs_exactly_as_often_as_allowed"] == ()


CONFTEST = """
from tests.support.case_outcomes import CaseOutcomes

def pytest_configure(config):
    config.addinivalue_line("markers", "case(id): a case")
    config.pluginmanager.register(CaseOutcomes(["test_run.py::test_one", "test_run.py::test_two"]))
"""
TESTS = """
import pytest
from tests.support.absent import Thing, without

@pytest.mark.case("C-001")
@pytest.mark.parametrize("number", [1, 2])
def test_one(number):
    {one}

@pytest.mark.case("C-003")
def test_two():
    {two}

@pytest.mark.case("C-003")
def test_three():
    {three}
"""


SKIP = "pytest.skip('not today')"
NO_BROWSER = "without(Thing.BROWSER, 'no browser')"
ONE, TWO, THREE = "test_run.py::test_one", "test_run.py::test_two", "test_run.py::test_three"


@pytest.mark.parametrize(
    "one, two, three, options, exit_code, told",
    [
        ("pass", "pass", "pass", [], 0, []),
        ("pass", NO_BROWSER, "pass", [], 0, []),
        (f"if number == 1: {NO_BROWSER}", "pass", "pass", [], 0, []),
        (NO_BROWSER, "pass", "pass", [], 1, ["C-001: no test passed"]),
        ("pass", SKIP, "pass", [], 1, [f"C-003: a test was skipped: {TWO}"]),
        (f"if number == 1: {SKIP}", "pass", "pass", [], 1, [f"C-001: a test was skipped: {ONE}[1]"]),
        ("pass", "pass", "pytest.xfail('one day')", [], 1, [f"C-003: a test is expected to fail: {THREE}"]),
        ("pass", "pass", "assert 0", [], 1, [f"C-003: a test failed: {THREE}"]),
        (SKIP, "pass", "pass", ["-k", "test_one"], 0, []),
        (SKIP, "pass", "pass", ["test_run.py"], 0, []),
        (SKIP, "pass", "pass", ["-m", "case"], 0, []),
        (SKIP, "pass", "pass", ["--deselect", TWO], 0, []),
        ("pass", SKIP, "pass", ["."], 1, [f"C-003: a test was skipped: {TWO}"]),
        ("assert 0", SKIP, SKIP, ["-x"], 1, []),
        (SKIP, "pass", "pass", ["--collect-only"], 0, []),
        (SKIP, "pass", "pass", ["--setup-only"], 0, []),
    ],
    ids=[
        "passed",
        "nothing-to-run-it-with",
        "nothing-to-run-a-part-with",
        "nothing-to-run-any-with",
        "skipped",
        "partly-skipped",
        "expected-to-fail",
        "failed",
        "one-name",
        "one-file",
        "one-marker",
        "one-left-out",
        "all-by-path",
        "broken-off",
        "only-collected",
        "only-set-up",
    ],
)
def test_a_run_of_all_tests_fails_where_a_case_is_not_guarded(
    one: str, two: str, three: str, options: list[str], exit_code: int, told: list[str], tmp_path: Path
) -> None:
    assert outcome(tmp_path, TESTS.format(one=one, two=two, three=three), options) == (exit_code, told)


def test_a_test_that_is_not_collected_fails_the_run(tmp_path: Path) -> None:
    tests = TESTS.format(one="pass", two="pass", three="pass").replace("test_two", "tets_two")
    assert outcome(tmp_path, tests, []) == (1, [f"a test that names a case was not collected: {TWO}"])


def test_what_must_be_there_is_not_skipped_for_want_of_it(tmp_path: Path) -> None:
    tests = TESTS.format(one="pass", two=NO_BROWSER, three="pass")
    assert outcome(tmp_path, tests, [], required=Thing.BROWSER) == (1, [f"C-003: a test failed: {TWO}"])


def outcome(folder: Path, tests: str, options: list[str], required: Thing | None = None) -> tuple[int, list[str]]:
    """
    The exit code of a run of its own, and what it tells of cases. The run takes nothing over of what this one requires.
    """
    things = {thing.value for thing in Thing}
    environ = {name: value for name, value in os.environ.items() if name not in things}
    if required is not None:
        environ[required.value] = "1"
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_run.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, [line for line in run.stdout.splitlines() if line.startswith(("C-0", "a test that"))]
