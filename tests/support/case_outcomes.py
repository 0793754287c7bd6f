"""
A part of pytest: a run of all tests fails where a field case is not guarded by every test that names it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.absent import NOT_HERE
from tests.support.marked_tests import marked_tests

_MARKS_OF_ALL = {"", "not deep"}


class CaseOutcomes:
    """
    Watches how the tests of each case end. Judges only a run that asked for all tests and was not broken off.

    A case is guarded where some test of it passed and none failed, was skipped or expected to fail. A test may be
    skipped for one reason only: something that it needs is not on this machine.
    """

    def __init__(self, expected: Iterable[str] | None = None) -> None:
        """
        Knows by `expected` which tests a run of all must hold.

        Args:
            expected: what pytest calls them, parameters left out; by default those that name a case and belong to
                everyday runs.
        """
        self._expected = expected
        self._cases: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._faults: defaultdict[str, list[str]] = defaultdict(list)
        self._told: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """
        Notes which tests name which cases, if all tests were asked for.
        """
        if _asks_for_all(session.config):
            self._cases = {item.nodeid: _cases_of(item) for item in session.items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """
        Notes what passed, and what is wrong with a test that did not.
        """
        cases = self._cases.get(report.nodeid, ())
        fault = _fault_of(report)
        for case in cases:
            if fault:
                self._faults[case].append(f"{case}: {fault}: {report.nodeid}")
            elif report.passed and report.when == "call":
                self._passed.add(case)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """
        Fails the run where a case is not guarded.
        """
        self._told = list(self._found()) if self._is_judged(session) else []
        if self._told and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """
        Tells the cases that are not guarded.
        """
        if self._told:
            terminalreporter.section("field cases")
            for line in self._told:
                terminalreporter.write_line(line, red=True)

    def _is_judged(self, session: pytest.Session) -> bool:
        """
        Whether all tests were asked for and all have run: a run that was broken off says nothing about the rest.
        """
        options = session.config.option
        is_whole = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        is_broken_off = session.shouldstop or session.shouldfail
        return bool(self._cases) and is_whole and not (is_broken_off or options.collectonly or options.setuponly)

    def _found(self) -> Iterator[str]:
        expected = _everyday_tests() if self._expected is None else set(self._expected)
        collected = {node_id.partition("[")[0] for node_id in self._cases}
        yield from (f"a test that names a case was not collected: {name}" for name in sorted(expected - collected))
        for case in sorted({case for cases in self._cases.values() for case in cases}):
            yield from self._faults[case]
            if case not in self._passed:
                yield f"{case}: no test passed"


def _asks_for_all(config: pytest.Config) -> bool:
    """
    Whether nothing narrows the run: no path but those that are tested by default, no expression, no list of names.
    """
    options = config.option
    home = config.rootpath
    wanted = {Path(home, path) for path in config.getini("testpaths") or ["."]}
    asked = {Path(config.invocation_params.dir, path) for path in config.args}
    narrowed = [options.keyword, options.deselect, options.ignore, options.ignore_glob, getattr(options, "lf", False)]
    return asked == wanted and options.markexpr in _MARKS_OF_ALL and not any(narrowed)


def _fault_of(report: pytest.TestReport) -> str:
    """
    Why a test does not guard its case; empty where it does, or where the machine lacks what it needs.
    """
    if report.failed:
        return "a test failed"
    if not report.skipped:
        return ""
    if hasattr(report, "wasxfail"):
        return "a test is expected to fail"
    return "" if NOT_HERE in str(report.longrepr) else "a test was skipped"


def _everyday_tests() -> set[str]:
    return {test.node_id for test in marked_tests() if not test.is_deep}


def _cases_of(item: pytest.Item) -> list[str]:
    return [str(case) for mark in item.iter_markers("case") for case in mark.args]
