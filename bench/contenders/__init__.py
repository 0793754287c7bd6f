"""
What is measured side by side: this runner, its peers, and a bare loop over the same tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Contender(Protocol):
    """
    A runner on a new, empty database.
    """

    def enqueue_each(self, count: int, /) -> None:
        """
        Enqueues jobs one by one, each stored before the next.
        """

    def enqueue_bulk(self, count: int, /) -> bool:
        """
        Enqueues jobs by its way for many; False when it has none, and nothing was enqueued.
        """

    def drain(self) -> None:
        """
        Runs all jobs; answers when the last one is done and its end is stored.
        """

    def left(self) -> int:
        """
        Jobs that are not done.
        """

    def close(self) -> None:
        """
        Lets go of the database.
        """


@dataclass(frozen=True, slots=True)
class Entrant:
    """
    A contender by name, with the number of jobs that it is given.

    Attributes:
        settings: what its figures depend on, for the reader.
    """

    name: str
    settings: str
    enter: Callable[[Path], Contender]
    jobs: int
