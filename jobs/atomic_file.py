"""
Writes files that appear complete or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """
    Opens a new file that takes the place of `path` when the block ends well, and vanishes when it does not.

    Readers see the old file or the new one, never half of one. A process killed within the block leaves a hidden
    `.part` file behind; its name is new each time, so that two runs of one job cannot write into the same file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
