"""
Numbered migrations: each script is applied once, in order, under the write lock, and recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.ports import SchemaState

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.stores.sqlite.database import Transaction

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


def migrate(transaction: Transaction, on_script: Callable[[str], object]) -> SchemaState:
    """
    Applies the scripts that are not applied yet; does nothing on a database that is up to date or newer.
    """
    transaction.change("schema_create_log")
    for number, script in enumerate(SCRIPTS, start=1):
        if number > transaction.value("schema_version"):
            on_script(script.stem)
            _apply(transaction, number, script)
    return state(transaction)


def state(transaction: Transaction) -> SchemaState:
    """
    The version that is there, and tables that are missing.
    """
    present = {name for (name,) in transaction.rows("schema_tables")}
    version = transaction.value("schema_version") if "SchemaMigrations" in present else 0
    return SchemaState(version, VERSION, tuple(table for table in TABLES if table not in present))


def _apply(transaction: Transaction, number: int, script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    lines = text.splitlines()
    description = lines[0].removeprefix("--").strip()
    transaction.run_script("\n".join(line for line in lines if not line.startswith("--")))
    transaction.change("schema_applied", version=number, name=script.stem, description=description)
