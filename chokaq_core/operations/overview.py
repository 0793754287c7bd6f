"""
How much was done lately, from the metric buckets.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chokaq_core.ports import MetricBucket

WINDOW = timedelta(minutes=5)
SECOND = timedelta(seconds=1)


class Rate(Value):
    """
    What ended within a span of whole seconds.
    """

    seconds: int
    succeeded: int
    failed: int

    @property
    def per_second(self) -> float:
        """
        Jobs that ended in a second, on average.
        """
        return (self.succeeded + self.failed) / self.seconds

    @property
    def failure_rate(self) -> float | None:
        """
        The part of them that ended badly; None when nothing ended.
        """
        ended = self.succeeded + self.failed
        return self.failed / ended if ended else None


class Series(Value):
    """
    What ended in each second of the window, oldest first.
    """

    start_at: datetime
    succeeded: tuple[int, ...]
    failed: tuple[int, ...]

    def last(self, seconds: int) -> Rate:
        """
        The last seconds of it.
        """
        return Rate(seconds, sum(self.succeeded[-seconds:]), sum(self.failed[-seconds:]))


def window_start(now: datetime) -> datetime:
    """
    Where the window of whole seconds begins whose last one has just ended.
    """
    return now.replace(microsecond=0) - WINDOW


def series(buckets: Sequence[MetricBucket], now: datetime) -> Series:
    """
    The window's seconds; the one that is under way is left out, since it would always look slow.
    """
    start = window_start(now)
    counts = [[0] * (WINDOW // SECOND) for _ in range(2)]
    for bucket in buckets:
        second = (bucket.at - start) // SECOND
        if 0 <= second < len(counts[0]):
            counts[1 if bucket.outcome else 0][second] += bucket.completed
    return Series(start, tuple(counts[0]), tuple(counts[1]))
