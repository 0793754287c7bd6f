"""
Waiting for what nobody announces: the one place in the tests that pauses.

A bound only tells a hang from an answer; no test passes because one is reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

WAIT_SECONDS = 30.0
"""How long a test waits for what must come."""
PAUSE_SECONDS = 0.005


def looks(seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """
    Yields again and again, after a short pause each time, until so many seconds are over.
    """
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        yield
        time.sleep(PAUSE_SECONDS)


def wait_until(is_true: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """
    Waits for a condition that nobody announces.
    """
    for _ in looks(seconds):
        if is_true():
            return
    raise AssertionError("what the test waits for never became true")
