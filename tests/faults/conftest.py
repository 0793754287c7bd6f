"""
Where doomed processes come from, the seed of a run, and the report at its end.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

from tests.faults.cradle import Cradle
from tests.faults.report import Report

SEED_VARIABLE = "CHOKAQ_FAULTS_SEED"
_REPORT = pytest.StashKey[Report]()


def pytest_configure(config: pytest.Config) -> None:
    """
    Everyday runs repeat themselves; deep ones take another seed each time, unless one is named.
    """
    is_deep = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
    seed = os.environ.get(SEED_VARIABLE) or (secrets.randbelow(2**32) if is_deep else 0)
    config.stash[_REPORT] = Report(int(seed))


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """
    Where survived faults are counted.
    """
    return request.config.stash[_REPORT]


@pytest.fixture(scope="session")
def cradle() -> Iterator[Cradle]:
    """
    Gives birth to doomed processes.
    """
    cradle = Cradle()
    yield cradle
    cradle.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """
    Tells how many of what were survived.
    """
    if lines := config.stash[_REPORT].lines():
        terminalreporter.section("faults survived")
        for line in lines:
            terminalreporter.write_line(line)
