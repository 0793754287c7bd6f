"""
A SQL Server to measure on: a schema of this run's own, and a count of what goes to the driver.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

from chokaq_core.config.connection_string import parse_connection_string
from chokaq_core.policy.sqlserver import SqlServerConnection, SqlServerSettings
from chokaq_core.stores.sqlserver import SqlServerStore
from chokaq_core.stores.sqlserver.connecting import Connector
from chokaq_core.stores.sqlserver.database import Database
from chokaq_core.stores.sqlserver.odbc import pyodbc
from chokaq_core.stores.sqlserver.schema import TABLES
from tests.support.babelfish import drop_procedures, is_babelfish, make_procedures, use_procedures

PATIENCE = timedelta(minutes=2)
KEPT = frozenset({"SchemaMigrations"})


class CountingConnector(Connector):
    """
    Opens connections whose statements are counted, each call of the driver one.
    """

    def __init__(self, connection: SqlServerConnection) -> None:
        super().__init__(connection)
        self._lock = threading.Lock()
        self.statements = 0

    def connect(self, login_timeout: timedelta, command_timeout: timedelta) -> tuple[pyodbc.Connection, int]:
        """
        A new connection; its login is not counted.
        """
        opened, units = super().connect(login_timeout, command_timeout)
        return cast("pyodbc.Connection", _Counted(opened, self)), units

    def count(self) -> None:
        """
        One more.
        """
        with self._lock:
            self.statements += 1


class _Counted:
    """
    A connection, or a cursor of it, that tells when a statement goes to the driver.
    """

    def __init__(self, real: pyodbc.Connection | pyodbc.Cursor, connector: CountingConnector) -> None:
        self._real = real
        self._connector = connector

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the real one has
        return getattr(self._real, name)

    def cursor(self) -> _Counted:
        """
        A cursor that counts too.
        """
        assert isinstance(self._real, pyodbc.Connection)
        return _Counted(self._real.cursor(), self._connector)

    def execute(self, *arguments: Any) -> object:  # noqa: ANN401 - a text and its values
        """
        Counts and sends.
        """
        self._connector.count()
        return self._real.execute(*arguments)


class SqlServerRig:
    """
    One schema, and two stores on it: `store`, whose statements are counted, and `look`, whose are not.
    """

    def __init__(self, connection_string: str) -> None:
        connection = parse_connection_string(connection_string)
        self._settings = SqlServerSettings(
            connection, schema_name=f"chokaq_bench_{os.getpid()}", auto_create=True, command_timeout=PATIENCE
        )
        self._connector = CountingConnector(connection)
        self._counted = Database(self._settings, beat_timeout=PATIENCE, connector=self._connector)
        self._plain = Database(self._settings, beat_timeout=PATIENCE)
        self.store = SqlServerStore(self._settings, database=self._counted)
        self.look = SqlServerStore(self._settings, database=self._plain)
        self.has_procedures = False

    def statements(self) -> int:
        """
        How many have gone to the driver through `store`.
        """
        return self._connector.statements

    def version(self) -> str:
        """
        What the server calls itself.
        """
        (((version,),),) = self._run("SELECT LEFT(REPLACE(@@VERSION, CHAR(10), ' '), 60);")
        return str(version)

    def empty(self) -> None:
        """
        Deletes all that an earlier figure left.
        """
        for table in TABLES:
            if table not in KEPT:
                self._run(f"TRUNCATE TABLE [{self._settings.schema_name}].{table};")

    def prepare(self) -> None:
        """
        Makes the schema; on Babelfish, procedures too.
        """
        self.look.prepare()
        if is_babelfish(self._plain):
            make_procedures(self._plain)
            use_procedures(self._counted)
            self.has_procedures = True

    def close(self) -> None:
        """
        Drops the schema.
        """
        if self.has_procedures:
            drop_procedures(self._plain)
        for table in TABLES:
            self._run(f"DROP TABLE IF EXISTS [{self._settings.schema_name}].{table};")
        self._run(f"DROP SCHEMA IF EXISTS [{self._settings.schema_name}];")
        self.store.close()
        self.look.close()

    def _run(self, text: str) -> list[list[tuple[Any, ...]]]:
        return self._plain.attempt(lambda session: session.run_text(text))


@contextmanager
def sql_server(connection_string: str) -> Iterator[SqlServerRig]:
    """
    The server that is named, with a schema that goes at the end.
    """
    rig = SqlServerRig(connection_string)
    try:
        rig.prepare()
        yield rig
    finally:
        rig.close()
