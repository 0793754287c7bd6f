"""
Answers on standard output. Text of jobs is shown as text: nothing in it can move a terminal's cursor.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from chokaq_core.telemetry.text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_CELL = 60


def write_json(value: object, write: Callable[[str], object] = print) -> None:
    """
    One JSON value. Characters beyond ASCII are escaped, so that no terminal acts on them.
    """
    write(json.dumps(value, indent=2))


def write_table(
    columns: Sequence[str], rows: Sequence[Mapping[str, object]], write: Callable[[str], object] = print
) -> None:
    """
    Rows under names, in columns as wide as they need to be.
    """
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(columns, *cells, strict=True)]
    for line in (list(columns), *cells):
        write("  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip())


def write_values(values: Mapping[str, object], write: Callable[[str], object] = print) -> None:
    """
    One value on each line, after its name.
    """
    width = max(len(name) for name in values)
    for name, value in values.items():
        lines = "" if value is None else str(value)
        first, *rest = lines.splitlines() or [""]
        write(f"{name:<{width}}  {safe_text(first)}".rstrip())
        for line in rest:
            write(f"{'':<{width}}  {safe_text(line)}".rstrip())


def tell(text: str) -> None:
    """
    A remark beside the answer, on standard error.
    """
    print(text, file=sys.stderr)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = safe_text(value)
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"
