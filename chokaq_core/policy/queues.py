"""
What a queue's row starts with, and what it may be set to.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.durations import format_duration
from chokaq_core.domain.errors import FieldProblem
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WORKERS = 10_000
BEATS_PER_ZOMBIE = 3
"""A zombie timeout is at least so many times the longest pause between two heartbeats."""
MAX_ZOMBIE_TIMEOUT = timedelta(days=365)


class QueueRules(Value):
    """
    The first values of a queue's row (section `Queues`); the row, changed at run time, wins from then on.

    Attributes:
        max_workers: hard limit on its fetched and processing jobs over all instances; None means no limit.
        zombie_timeout: its own heartbeat age that makes a zombie; None means `Recovery.ProcessingZombieTimeout`.
    """

    max_workers: int | None = None
    zombie_timeout: timedelta | None = None


def control_problems(
    max_workers: int | None, zombie_timeout: timedelta | None, longest_beat: timedelta
) -> Iterator[FieldProblem]:
    """
    What is wrong with new limits of a queue; they obey the rules of the configured ones.
    """
    if max_workers is not None and not 1 <= max_workers <= MAX_WORKERS:
        yield FieldProblem("max_workers", f"must be from 1 to {MAX_WORKERS}, or null for no limit; got {max_workers}")
    if zombie_timeout is None:
        return
    bound = BEATS_PER_ZOMBIE * longest_beat
    if zombie_timeout < bound:
        rule = f"must be at least {BEATS_PER_ZOMBIE} × Execution.HeartbeatIntervalMax ({format_duration(bound)}), or "
        yield FieldProblem("zombie_timeout", f"{rule}jobs that live are buried; got {format_duration(zombie_timeout)}")
    elif zombie_timeout > MAX_ZOMBIE_TIMEOUT or zombie_timeout.microseconds:
        yield FieldProblem("zombie_timeout", f"must be whole seconds, at most {format_duration(MAX_ZOMBIE_TIMEOUT)}")
