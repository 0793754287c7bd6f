"""
The process that an engine belongs to.
"""

from __future__ import annotations

import os

from chokaq_core.domain.errors import ForkedEngineError


class Home:
    """
    Remembers in which process it was made.

    A forked child gets a copy of everything but the threads: its engine would claim under its parent's name and never
    run a job, and its connections would speak into those of its parent.
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    def check(self) -> None:
        """
        Does nothing at home.

        Raises:
            ForkedEngineError: this is a forked child.
        """
        if os.getpid() != self._process:
            msg = (
                f"this engine was built in process {self._process}, from which process {os.getpid()} was forked; "
                "threads and connections do not come along: build the app after the fork, in each process for itself"
            )
            raise ForkedEngineError(msg)
