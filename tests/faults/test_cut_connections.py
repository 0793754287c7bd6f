"""
The connection to the database breaks at every statement of a store's life, before or right after it was carried out.

The caller repeats; jobs, counters, queues and workers end up as if nothing had been.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.value import replace
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.life import Caller, Life, live
from tests.faults.report import Report
from tests.support.clock import SteppedClock


class Cut:
    """
    Where the line breaks: the nth statement from the moment that it is armed.

    Attributes:
        statements: all that were sent since then.
    """

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.at = 0
        self.is_after = False

    def arm(self, at: int, *, is_after: bool) -> None:
        """
        Counts from now on, and breaks at a number; 0 never breaks.
        """
        self.statements, self.at, self.is_after = [], at, is_after

    def before(self, text: str) -> None:
        """
        A statement is about to be sent.
        """
        self.statements.append(text)
        if not self.is_after:
            self._break()

    def after(self) -> None:
        """
        A statement was carried out, and its answer is on its way.
        """
        if self.is_after:
            self._break()

    def _break(self) -> None:
        if len(self.statements) == self.at:
            self.at = 0
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error


class CutConnection(sqlite3.Connection):
    """
    A connection that breaks where its `cut` says.
    """

    cut: Cut

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
        self.cut.before(sql)
        return self._answered(super().execute(sql, parameters))

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
        self.cut.before(sql)
        return self._answered(super().executemany(sql, parameters))

    def _answered(self, cursor: sqlite3.Cursor) -> sqlite3.Cursor:
        try:
            self.cut.after()
        except sqlite3.Error:
            cursor.close()
            raise
        return cursor


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    """
    What cuts the connections of all stores that are opened meanwhile.
    """
    cut = Cut()
    factory = type("OwnCutConnection", (CutConnection,), {"cut": cut})
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=factory))
    return cut


def _live(cut: Cut, at: int, *, is_after: bool) -> tuple[Life, int]:
    """
    A life whose connection breaks at a statement; with how many calls were repeated.
    """
    clock, caller = SteppedClock(), Caller()
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        cut.arm(at, is_after=is_after)
        life = live(store, clock, caller)
    return replace(life, turns=tuple(replace(turn, is_repeat=False) for turn in life.turns)), caller.repeats


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_connection_cut_at_any_statement_leaves_no_trace_once_the_call_is_repeated(
    cut: Cut, report: Report, is_after: bool
) -> None:
    calm, repeats = _live(cut, 0, is_after=is_after)
    statements = list(cut.statements)
    assert repeats == 0
    assert statements.count("COMMIT") > 32

    for number in range(1, len(statements) + 1):
        try:
            disturbed, repeats = _live(cut, number, is_after=is_after)
        except StoreUnavailableError:
            assert _is_of_a_read(statements, number), statements[number - 1]
            continue
        assert repeats == 1
        assert disturbed == calm, (number, statements[number - 1])
    report.met(f"connections cut {'after' if is_after else 'before'} a statement", len(statements))


def _is_of_a_read(statements: list[str], number: int) -> bool:
    """
    Whether a statement belongs to a transaction that only reads; the life does not repeat its own looks.
    """
    begin = max(place for place, text in enumerate(statements[:number]) if text.startswith("BEGIN"))
    end = statements.index("COMMIT", begin)
    return all(text.startswith(("SELECT", "WITH")) for text in statements[begin + 1 : end])
