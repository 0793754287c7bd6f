"""
All migrations as one script, for those who keep the app from changing the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.stores.sqlserver.batches import in_schema, load_blocks
from chokaq_core.stores.sqlserver.schema import scripts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
-- The schema of ChokaQ. Safe to run again: every statement looks first whether its work is done.
-- Run it with sqlcmd or any tool that splits batches at GO, as a user who may create schemas and tables.
SET XACT_ABORT ON;
GO"""


def whole_script(schema_name: str) -> str:
    """
    The script, batches parted by GO.
    """
    return "\n".join((_HEAD, *(f"{batch}\nGO" for batch in _batches(schema_name))))


def _batches(schema_name: str) -> Iterator[str]:
    blocks = load_blocks()
    for block in ("schema_create", "schema_create_log"):
        yield in_schema(blocks[block], schema_name).strip()
    for number, name, description, statements in scripts_of(schema_name):
        yield f"-- {number:04}: {description}"
        yield from statements
        yield _recorded(schema_name, number, name, description)


def _recorded(schema_name: str, number: int, name: str, description: str) -> str:
    log = in_schema("[chokaq].SchemaMigrations", schema_name)
    values = f"{number}, {_literal(name)}, {_literal(description)}, SYSUTCDATETIME()"
    return "\n".join(
        (
            f"IF NOT EXISTS (SELECT 1 FROM {log} WHERE Version = {number})",  # noqa: S608 - our own files' names
            f"    INSERT INTO {log} (Version, Name, Description, AppliedAtUtc)",
            f"    VALUES ({values});",
        )
    )


def _literal(text: str) -> str:
    return "N'" + text.replace("'", "''") + "'"
