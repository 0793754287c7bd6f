"""
The SQL Server that CHOKAQ_TEST_SQLSERVER names: one schema for this run of the tests, emptied before each of them.
"""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from chokaq_core.config.connection_string import parse_connection_string
from chokaq_core.policy.sqlserver import SqlServerSettings
from tests.support.absent import Thing, without
from tests.support.babelfish import drop_procedures, is_babelfish, make_procedures, use_procedures

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from chokaq_core.policy.circuit import CircuitRules
    from chokaq_core.ports import Store
    from chokaq_core.stores.sqlserver import SqlServerStore
    from chokaq_core.stores.sqlserver.batches import Batch
    from chokaq_core.stores.sqlserver.database import Database

VARIABLE = "CHOKAQ_TEST_SQLSERVER"
NO_SERVER = f"{VARIABLE} names no SQL Server"

_NOW = (12, 26, 0)
"""SQL_VARCHAR of 26 characters."""

_EMPTIED = (
    "JobsHot",
    "JobsArchive",
    "JobsDLQ",
    "Queues",
    "StatsSummary",
    "MetricBuckets",
    "Lanes",
    "Workers",
    "Turns",
    "Timers",
    "Circuits",
    "IdempotencyClaims",
    "OperatorLog",
)


@dataclass(frozen=True, slots=True)
class SqlServerSource:
    """
    The run's schema, empty.
    """

    schema_name: str

    def open(self, now: Callable[[], datetime] | None = None, circuit_rules: CircuitRules | None = None) -> Store:
        """
        A store on the schema. All share the process's connections, on which the statements are prepared.
        """
        return _store(_database(self.schema_name).at(now), circuit_rules)

    @property
    def address(self) -> str:
        """
        The schema's name.
        """
        return f"sqlserver:{self.schema_name}"

    @property
    def has_readpast(self) -> bool:
        """
        Babelfish ignores it.
        """
        return not _is_on_babelfish(self.schema_name)

    def load(self, count: int) -> int:
        """
        A tenth on Babelfish, where each new connection takes seconds to compile what it is sent.
        """
        return max(2, count // 10) if _is_on_babelfish(self.schema_name) else count


def create_source() -> SqlServerSource:
    """
    An empty schema, or a skip where no server is named.
    """
    if VARIABLE not in os.environ:
        without(Thing.SQL_SERVER, NO_SERVER)
    source = SqlServerSource(_own_schema())
    _database(source.schema_name).attempt(lambda session: session.run(_emptying(source.schema_name), [""], [_NOW]))
    return source


def open_schema(schema_name: str) -> Store:
    """
    A store for another process of the same test.
    """
    database = _database(schema_name)
    if is_babelfish(database):
        use_procedures(database)
    return _store(database)


def open_store(settings: SqlServerSettings) -> Store:
    """
    A store with connections of its own.
    """
    from chokaq_core.stores.sqlserver import SqlServerStore  # noqa: PLC0415 - only where a server is named

    return SqlServerStore(settings, beat_timeout=settings.command_timeout)


def settings(schema_name: str) -> SqlServerSettings:
    """
    Settings for the server that is named.
    """
    return SqlServerSettings(
        parse_connection_string(os.environ[VARIABLE]),
        schema_name=schema_name,
        auto_create=True,
        command_timeout=timedelta(seconds=120),
        max_transient_retries=20,
        transient_retry_base_delay=timedelta(milliseconds=20),
    )


@cache
def _emptying(schema_name: str) -> Batch:
    """
    With a parameter, so that the server compiles it once and not before each test.
    """
    from chokaq_core.stores.sqlserver.batches import Batch  # noqa: PLC0415 - only where a server is named

    lines = ["DECLARE @nothing varchar(26) = ?;"]
    lines += [f"DELETE FROM [{schema_name}].{table};" for table in _EMPTIED]  # noqa: S608 - names of our own
    seed = "(Name, LastUpdatedUtc) VALUES ('default', SYSUTCDATETIME());"
    lines.append(f"INSERT INTO [{schema_name}].Queues {seed}")
    return Batch("empty", "\n".join(lines), ())


def _store(database: Database, circuit_rules: CircuitRules | None = None) -> SqlServerStore:
    from chokaq_core.stores.sqlserver import SqlServerStore  # noqa: PLC0415 - only where a server is named

    return SqlServerStore(settings(database.settings.schema_name), circuit_rules=circuit_rules, database=database)


@cache
def _own_schema() -> str:
    name = f"chokaq_test_{os.getpid()}"
    database = _database(name)
    atexit.register(_drop, name)
    _store(database).prepare()
    if is_babelfish(database):
        make_procedures(database)
    return name


@cache
def _is_on_babelfish(schema_name: str) -> bool:
    return is_babelfish(_database(schema_name))


@cache
def _database(schema_name: str) -> Database:
    from chokaq_core.stores.sqlserver.database import Database  # noqa: PLC0415 - only where a server is named

    class KeptDatabase(Database):
        """
        Stays open when a test closes its store.
        """

        def close(self) -> None:
            """
            Nothing to do: the connections end with the process.
            """

    return KeptDatabase(settings(schema_name), beat_timeout=timedelta(seconds=120))


def _drop(schema_name: str) -> None:
    tables = [*_EMPTIED, "SchemaMigrations"]
    text = "\n".join(f"DROP TABLE IF EXISTS [{schema_name}].{table};" for table in tables)
    database = _database(schema_name)
    if is_babelfish(database):
        drop_procedures(database)
    database.attempt(lambda session: session.run_text(text))
    database.attempt(lambda session: session.run_text(f"DROP SCHEMA [{schema_name}];"))
