"""
Sending batches: what is bound, what is repeated, and which connections are used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.policy.sqlserver import Authentication, SqlServerConnection, SqlServerSettings
from chokaq_core.stores.sqlserver.connecting import Connector
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.odbc import pyodbc

NOON = datetime(2030, 5, 10, 12, tzinfo=UTC)
DEADLOCK = pyodbc.Error("40001", "[40001] deadlock (1205) (SQLExecDirectW)")
CUT = pyodbc.Error("08S01", "[08S01] cut (10054) (SQLExecDirectW)")
REFUSED = pyodbc.Error("42000", "[42000] no (229) (SQLExecDirectW)")


class ScriptedCursor:
    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self.description: object = None

    def setinputsizes(self, sizes: list[tuple[int, int, int]]) -> None:
        self._server.sizes.append(sizes)

    def execute(self, text: str, values: tuple[object, ...] = ()) -> None:
        self._server.executed.append((text.splitlines()[-1], values))
        if self._server.answers:
            answer = self._server.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer

    def fetchall(self) -> list[tuple[object, ...]]:
        return []

    def nextset(self) -> bool:
        return False

    def close(self) -> None:
        pass


class ScriptedServer:
    """
    Stands for connector, connections and server at once.
    """

    def __init__(self) -> None:
        self.answers: list[Exception | None] = []
        self.executed: list[tuple[str, tuple[object, ...]]] = []
        self.sizes: list[list[tuple[int, int, int]]] = []
        self.opened = 0
        self.closed = 0
        self.pauses: list[float] = []

    def connect(self, login_timeout: timedelta, command_timeout: timedelta) -> tuple[ScriptedServer, int]:
        self.opened += 1
        return self, 2

    def cursor(self) -> ScriptedCursor:
        return ScriptedCursor(self)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def database(server: ScriptedServer) -> Iterator[Database]:
    settings = SqlServerSettings(
        SqlServerConnection("s", None, "d", Authentication.INTEGRATED),
        max_transient_retries=3,
        transient_retry_base_delay=timedelta(milliseconds=200),
    )
    database = Database(
        settings,
        beat_timeout=timedelta(seconds=8),
        connector=cast("Connector", server),
        sleep=server.pauses.append,
    )
    with closing(database):
        yield database


def _count(database: Database) -> None:
    database.run("counts")


def _register(database: Database) -> None:
    values: dict[str, object] = {"worker": "w", "host": "h\u00f4te", "capacity": 16, "state": "running"}
    database.run("register", values)


class TestBinding:
    def test_without_a_clock_the_time_is_left_to_the_database(self, database: Database, server: ScriptedServer) -> None:
        _register(database)

        assert server.executed[0][1] == ("", "w", "h\u00f4te", 16, "running")

    def test_a_clock_replaces_the_databases_time(self, database: Database, server: ScriptedServer) -> None:
        _count(database.at(lambda: NOON))
        _count(database)

        assert [values for _, values in server.executed] == [("2030-05-10T12:00:00.000000",), ("",)]

    def test_ascii_is_bound_as_varchar_and_text_of_people_as_nvarchar(
        self, database: Database, server: ScriptedServer
    ) -> None:
        _register(database)

        assert server.sizes == [
            [
                (pyodbc.SQL_VARCHAR, 26, 0),
                (pyodbc.SQL_VARCHAR, 100, 0),
                (pyodbc.SQL_WVARCHAR, 255, 0),
                (pyodbc.SQL_INTEGER, 0, 0),
                (pyodbc.SQL_VARCHAR, 20, 0),
            ]
        ]

    def test_durations_travel_as_microseconds_and_nothing_as_its_stand_in(
        self, database: Database, server: ScriptedServer
    ) -> None:
        database.run("prune_workers", {"older_than": timedelta(days=-1)})
        database.run("log_entries", {"below": None, "most": 5})

        assert [values[1:] for _, values in server.executed] == [(-86_400_000_000,), (-2_147_483_648, 5)]

    def test_no_duration_leads_out_of_the_calendar(self, database: Database, server: ScriptedServer) -> None:
        database.run("prune_workers", {"older_than": timedelta.min})

        assert server.executed[0][1][1] == -366_000 * 86_400_000_000


class TestRepeating:
    def test_a_deadlock_is_repeated_on_the_same_connection_once_nothing_is_left_open(
        self, database: Database, server: ScriptedServer
    ) -> None:
        server.answers = [DEADLOCK]

        _count(database)

        assert [text for text, _ in server.executed][1] == "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;"
        assert (len(server.executed), server.opened, server.closed) == (3, 1, 0)
        assert len(server.pauses) == 1
        assert 0.1 <= server.pauses[0] <= 0.3

    def test_a_connection_that_cannot_say_so_is_closed(self, database: Database, server: ScriptedServer) -> None:
        server.answers = [DEADLOCK, CUT]

        _count(database)

        assert (server.opened, server.closed) == (2, 1)

    def test_a_cut_connection_is_replaced_and_the_call_repeated_later_and_later(
        self, database: Database, server: ScriptedServer
    ) -> None:
        server.answers = [CUT, CUT, CUT]

        _count(database)

        assert (server.opened, server.closed) == (4, 3)
        assert [0.5 * 2**n <= pause <= 1.5 * 2**n for n, pause in enumerate(server.pauses)] == [True] * 3

    def test_after_the_last_repetition_the_store_says_that_it_is_unavailable(
        self, database: Database, server: ScriptedServer
    ) -> None:
        server.answers = [CUT] * 9

        with pytest.raises(StoreUnavailableError, match="the connection was reset"):
            _count(database)

        assert len(server.executed) == 4

    def test_what_is_refused_is_not_repeated(self, database: Database, server: ScriptedServer) -> None:
        server.answers = [REFUSED]

        with pytest.raises(StoreRefusedError, match=r"permissions\.sql"):
            _count(database)

        assert (len(server.executed), server.closed, server.pauses) == (1, 1, [])

    def test_a_heartbeat_is_sent_once_on_a_connection_of_its_own(
        self, database: Database, server: ScriptedServer
    ) -> None:
        _count(database)
        server.answers = [CUT]

        with pytest.raises(StoreUnavailableError):
            _beat(database)

        assert (server.opened, server.closed, server.pauses) == (2, 1, [])

    @pytest.mark.parametrize("call", [_count, _register])
    def test_the_next_call_after_a_fault_opens_a_new_connection(
        self, database: Database, server: ScriptedServer, call: Callable[[Database], None]
    ) -> None:
        server.answers = [REFUSED]
        with pytest.raises(StoreRefusedError):
            call(database)

        call(database)

        assert (server.opened, server.closed) == (2, 1)


def _beat(database: Database) -> None:
    values: dict[str, object] = {
        "worker": "w",
        "active": 0,
        "abandoned": 0,
        "capacity": 16,
        "probe_until": timedelta(seconds=30),
    }
    database.run_beat("beat_all", values, lambda _texts: {"progress": "[]"})
