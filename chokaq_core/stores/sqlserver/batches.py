"""
T-SQL batches, read from the `.sql` files: one for each round trip, with its parameters.

A block may say `-- takes: worker varchar(100), older_than ago`; then it is a batch that can be sent. A line
`-- include: name` stands for the text of another block. Parameters are declared at the head of the batch under the
types they have in the tables, so that an index is sought and no type is guessed. Three kinds need more than a value:

    ago, ahead   a duration before or after the database's own time; the variable holds the moment
    … null       may be empty; a stand-in travels instead, since the driver asks the server about an empty parameter
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = Path(__file__).parent / "sql"
NO_NUMBER = -(2**31)
"""Stands for an empty number; no column holds it."""

SCHEMA = "[chokaq]"
"""The schema's name as the files write it."""

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_TAKES = re.compile(r"^-- takes: (.*(?:\n--   .*)*)", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*-- include: (\w+)$")
_PARAMETER = re.compile(r"(?P<name>\w+) (?P<type>(?:\w+)(?:\((?:\d+|max)\))?)(?P<null> null)?")
_ALIASES = {"ago": "bigint", "ahead": "bigint"}

_NOW = (
    "DECLARE @told_now datetime2(6) = CAST(NULLIF(?, '') AS datetime2(6));\n"
    "DECLARE @now datetime2(6) = COALESCE(@told_now, SYSUTCDATETIME());"
)
_MOMENT = (
    "DECLARE @{name} datetime2(6) = DATEADD(DAY, CAST(@{name}_span / 86400000000 AS int), "
    "DATEADD(SECOND, CAST(@{name}_span % 86400000000 / 1000000 AS int), "
    "DATEADD(MICROSECOND, CAST(@{name}_span % 1000000 AS int), @now)));"
)


class Parameter(Value):
    """
    One value of a batch: its variable, its T-SQL type, and whether it is a duration or may be empty.
    """

    name: str
    type: str
    is_span: bool = False
    is_nullable: bool = False

    @property
    def declaration(self) -> str:
        """
        The variable's declaration, with a marker for the value.
        """
        marker = "?"
        if self.is_nullable:
            marker = f"NULLIF(?, {NO_NUMBER})"
        variable = f"{self.name}_span" if self.is_span else self.name
        lines = [f"DECLARE @{variable} {self.type} = {marker};"]
        if self.is_span:
            lines.append(_MOMENT.format(name=self.name))
        return "\n".join(lines)


class Batch(Value):
    """
    What is sent in one round trip. `now` is its first parameter, the others follow in order.
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...]


def load_blocks(folder: Path = FOLDER) -> dict[str, str]:
    """
    All named blocks of the folder, comments included.

    Raises:
        ValueError: a name stands twice.
    """
    blocks: dict[str, str] = {}
    for file in sorted(folder.glob("*.sql")):
        _, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in blocks:
                msg = f"{file.name}: block {name} is defined twice"
                raise ValueError(msg)
            blocks[name] = text
    return blocks


def load_batches(schema_name: str, folder: Path = FOLDER) -> dict[str, Batch]:
    """
    The batches by name, for tables in the given schema.
    """
    blocks = load_blocks(folder)
    return {name: _batch(name, blocks, schema_name) for name, text in blocks.items() if _TAKES.search(text)}


def in_schema(text: str, schema_name: str) -> str:
    """
    The text with the schema's own name, bracketed, wherever the files write theirs.
    """
    return text.replace(SCHEMA, f"[{schema_name}]").replace("SCHEMA_ID(N'chokaq')", f"SCHEMA_ID(N'{schema_name}')")


def _batch(name: str, blocks: dict[str, str], schema_name: str) -> Batch:
    parameters = tuple(_parameters(blocks[name]))
    head = [_NOW, *(parameter.declaration for parameter in parameters)]
    body = "\n".join(_expanded(name, blocks))
    return Batch(name, in_schema("\n".join([*head, body]), schema_name), parameters)


def _parameters(block: str) -> Iterator[Parameter]:
    match = _TAKES.search(block)
    takes = "" if match is None else match[1].replace("\n--", " ")
    for entry in takes.split(",") if takes.strip() != "nothing" else ():
        found = _PARAMETER.fullmatch(" ".join(entry.split()))
        if found is None:
            msg = f"not a parameter: {entry.strip()!r}"
            raise ValueError(msg)
        kind = found["type"]
        yield Parameter(
            found["name"],
            _ALIASES.get(kind, kind),
            is_span=kind in _ALIASES,
            is_nullable=found["null"] is not None,
        )


def _expanded(name: str, blocks: dict[str, str]) -> Iterable[str]:
    """
    The lines of a block without comments, includes replaced.
    """
    for line in blocks[name].splitlines():
        include = _INCLUDE.match(line)
        if include is not None:
            yield from _expanded(include[1], blocks)
        elif line.strip() and not line.lstrip().startswith("--"):
            yield line
