"""
The list of field cases: every case has tests, the page tells them, and a run in which none of them passed fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "one, two, three, options, exit_code, told",
    [
        ("pass", "pass", "pass", [], 0, []),
        ("if number == 1: pytest.skip()", "pytest.skip()", "pass", [], 0, []),
        ("pytest.skip()", "pass", "pass", [], 1, ["C-001: no test passed"]),
        ("pass", "pytest.skip()", "pytest.xfail()", [], 1, ["C-003: no test passed"]),
        ("pass", "pass", "assert 0", [], 1, ["C-003: a test failed"]),
        ("pytest.skip()", "pass", "pass", ["-k", "test_one"], 0, []),
        ("assert 0", "pytest.skip()", "pytest.skip()", ["-x"], 1, []),
        ("pytest.skip()", "pass", "pass", ["--collect-only"], 0, []),
        ("pytest.skip()", "pass", "pass", ["--setup-only"], 0, []),
    ],
    ids=[
        "passed",
        "partly-skipped",
        "skipped",
        "xfailed",
        "failed",
        "partial-run",
        "broken-off",
        "only-collected",
        "only-set-up",
    ],
)
def test_a_full_run_fails_where_a_case_has_no_test_that_passed(
    one: str, two: str, three: str, options: list[str], exit_code: int, told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_run.py").write_text(TESTS.format(one=one, two=two, three=three), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, [line for line in run.stdout.splitlines() if line.startswith("C-0")]) == (exit_code, told)
