"""
A part of pytest: a run of all tests fails where a field case has no test that passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pytest

from tests.support.field_cases import TITLES
from tests.support.marked_tests import marked_tests


class CaseOutcomes:
    """
    Watches how the tests of each case end. Says nothing where only some of them were asked for.
    """

    def __init__(self, expected: Iterable[str] | None = None) -> None:
        """
        Knows by `expected` whether a run is a full one.

        Args:
            expected: what pytest calls the tests without which a run is not a full one, parameters left out; by
                default those that name a case and belong to everyday runs.
        """
        self._expected = None if expected is None else set(expected)
        self._cases: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._failed: set[str] = set()
        self._faults: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """
        Looks whether all tests of cases are there.
        """
        cases = {item.nodeid: _cases_of(item) for item in session.items}
        if self._is_full(cases):
            self._cases = cases

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """
        Notes what passed or failed.
        """
        cases = self._cases.get(report.nodeid, ())
        if report.failed:
            self._failed.update(cases)
        elif report.passed and report.when == "call":
            self._passed.update(cases)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """
        Fails the run where a case is not guarded.
        """
        self._faults = list(self._found()) if self._is_judged(session) else []
        if self._faults and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """
        Tells the cases that are not guarded.
        """
        if self._faults:
            terminalreporter.section("field cases")
            for fault in self._faults:
                terminalreporter.write_line(fault, red=True)

    def _is_full(self, cases: Mapping[str, list[str]]) -> bool:
        is_each_named = TITLES.keys() <= {case for named in cases.values() for case in named}
        if self._expected is None and not is_each_named:
            return False
        expected = _everyday_tests() if self._expected is None else self._expected
        return expected <= {node_id.partition("[")[0] for node_id in cases}

    def _is_judged(self, session: pytest.Session) -> bool:
        """
        Whether all tests were there and all have run: a run that was broken off says nothing about the rest.
        """
        options = session.config.option
        is_whole = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        is_broken_off = session.shouldstop or session.shouldfail
        return bool(self._cases) and is_whole and not (is_broken_off or options.collectonly or options.setuponly)

    def _found(self) -> Iterator[str]:
        for case in sorted({case for cases in self._cases.values() for case in cases}):
            if case in self._failed:
                yield f"{case}: a test failed"
            elif case not in self._passed:
                yield f"{case}: no test passed"


def _everyday_tests() -> set[str]:
    """
    Read from the source only where every case is named already, since that takes a while.
    """
    return {test.node_id for test in marked_tests() if not test.is_deep}


def _cases_of(item: pytest.Item) -> list[str]:
    return [str(case) for mark in item.iter_markers("case") for case in mark.args]
