"""
Numbered migrations: each script is applied once, in order, under an application lock, and recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.ports import SchemaState
from chokaq_core.stores.sqlserver.batches import in_schema, load_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.stores.sqlserver.database import Database, Results
    from chokaq_core.stores.sqlserver.pool import Row, Session

SCRIPTS = tuple(sorted((Path(__file__).parent / "schema").glob("*.sql")))
VERSION = len(SCRIPTS)
TABLES = (
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
    "OperatorLog",
    "IdempotencyClaims",
    "SchemaMigrations",
)


def state(database: Database) -> SchemaState:
    """
    The version that is there, and tables that are missing. Changes nothing.
    """
    ((version,),), tables = database.run("schema_state", {"schema_name": database.settings.schema_name})
    return state_of(version, tables)


def state_of(version: int, tables: Sequence[Row]) -> SchemaState:
    """
    What a version and the tables that are there come to.
    """
    present = {name for (name,) in tables}
    return SchemaState(version, VERSION, tuple(table for table in TABLES if table.lower() not in present))


def migrate(database: Database, on_script: Callable[[str], object]) -> SchemaState:
    """
    Applies the scripts that are not applied yet, all or none; does nothing on a database that is up to date or newer.
    """
    before = state(database)
    if before.version < VERSION:
        database.attempt(lambda session: _migrate(database, session, on_script))
    return state(database)


def scripts_of(schema_name: str) -> list[tuple[int, str, str, list[str]]]:
    """
    Number, name, description and statements of every script, for tables in the given schema.
    """
    found = []
    for number, script in enumerate(SCRIPTS, start=1):
        text = script.read_text(encoding="utf-8")
        description = text.partition("\n")[0].removeprefix("--").strip()
        parts = [in_schema(part.strip(), schema_name) for part in f"{text}\n".split("\nGO\n")]
        found.append((number, script.stem, description, [part for part in parts if part]))
    return found


def _migrate(database: Database, session: Session, on_script: Callable[[str], object]) -> Results:
    """
    One transaction on one connection; whatever fails rolls all of it back with the connection's end.
    """
    name = database.settings.schema_name
    blocks = load_blocks()
    session.run_text("BEGIN TRANSACTION;")
    _lock(database, session)
    for block in ("schema_create", "schema_create_log"):
        session.run_text(in_schema(blocks[block], name))
    (((version,),), *_) = database.send(session, "schema_state", {"schema_name": name})
    for number, script, description, statements in scripts_of(name):
        if number > version:
            on_script(script)
            for statement in statements:
                session.run_text(statement)
            values: dict[str, object] = {"version": number, "name": script, "description": description}
            database.send(session, "schema_applied", values)
    session.run_text("COMMIT TRANSACTION;")
    return []


def _lock(database: Database, session: Session) -> None:
    settings = database.settings
    patience = int(settings.command_timeout.total_seconds() * 900)
    values: dict[str, object] = {"resource": f"chokaq migrations of {settings.schema_name}", "patience": patience}
    (((granted,),),) = database.send(session, "schema_lock", values)
    if granted < 0:
        msg = f"another process migrates the schema and did not finish in time (sp_getapplock answered {granted})"
        raise StoreUnavailableError(msg)
