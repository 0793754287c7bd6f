"""
Named queries: each `.sql` file holds blocks headed `-- name: claim`, and a block's name is asked for in code.
"""

from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def load_queries(folder: Path) -> dict[str, str]:
    """
    All named queries below a folder.

    Raises:
        ValueError: a name stands twice, or a file holds SQL outside of a named block.
    """
    queries: dict[str, str] = {}
    for file in sorted(folder.glob("*.sql")):
        head, *blocks = _HEADING.split(file.read_text(encoding="utf-8"))
        if _statements(head):
            msg = f"{file.name}: SQL before the first '-- name:' heading"
            raise ValueError(msg)
        for name, text in zip(blocks[::2], blocks[1::2], strict=True):
            if name in queries:
                msg = f"{file.name}: query {name} is defined twice"
                raise ValueError(msg)
            queries[name] = _statements(text)
    return queries


def _statements(text: str) -> str:
    """
    The text without comment lines and blank ends.
    """
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")
