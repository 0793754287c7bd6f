"""
Wakes that never leave the process: how an app and its host, in one process, say "there may be work".

A wake is a hint and never the job. Losing, doubling or delaying one changes latency only; so a crowd of wakes is
folded into a few, and nothing outlives the process.
"""

from __future__ import annotations

import heapq
import time
import uuid
from collections import deque
from datetime import UTC, datetime, timedelta
from threading import TIMEOUT_MAX, Condition
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value, replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

WAKE_TEXT = '{"v":1}'
MAX_VISIBLE_WAKES = 64


class Wake(Value):
    """
    One wake as its receiver sees it; `delivery` is 1 the first time it is handed out.
    """

    id: str
    sent_at: datetime
    delivery: int
    text: str = WAKE_TEXT


class PendingWakes(Value):
    """
    How many wakes wait: those that a receiver would get now, and those that are still delayed.
    """

    visible: int
    hidden: int


class InProcessWakes:
    """
    A small in-memory queue of wakes, safe to use from any thread; each wake goes to one receiver.

    Args:
        monotonic: the clock that delays are measured with, in seconds.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = Condition()
        self._visible: deque[Wake] = deque()
        self._hidden: list[tuple[float, int, Wake]] = []
        self._sequence = 0

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Leaves one wake, receivable at once or after the delay; never waits and never fails.

        With MAX_VISIBLE_WAKES already visible the wake is folded into them: they bring every worker there is.
        """
        self.put_back(Wake(id=str(uuid.uuid4()), sent_at=datetime.now(UTC), delivery=0), delay=delay)

    def receive(self, timeout: float | None = None, *, stop: Event | None = None) -> Wake | None:
        """
        Takes the oldest visible wake, waiting up to `timeout` seconds, or without end.

        Returns:
            None when no wake came in time, or `stop` is set. Who sets `stop` calls `interrupt` next.
        """
        deadline = float("inf") if timeout is None else self._monotonic() + timeout
        with self._changed:
            while not (stop and stop.is_set()):
                self._show_ripe()
                if self._visible:
                    return _handed_out(self._visible.popleft())
                seconds_left = deadline - self._monotonic()
                if seconds_left <= 0:
                    return None
                self._changed.wait(min(seconds_left, self._seconds_to_next_ripe(), TIMEOUT_MAX))
        return None

    def put_back(self, wake: Wake, *, delay: timedelta | None = None) -> None:
        """
        Makes a received wake receivable again, at once or after the delay; its delivery count is kept.
        """
        with self._changed:
            if delay:
                self._hide(wake, self._monotonic() + delay.total_seconds())
            else:
                self._show(wake)
            self._changed.notify_all()

    def interrupt(self) -> None:
        """
        Makes every waiting `receive` look at its `stop` now.
        """
        with self._changed:
            self._changed.notify_all()

    def pending(self) -> PendingWakes:
        """
        Counts the wakes that nobody has received yet.
        """
        with self._changed:
            self._show_ripe()
            return PendingWakes(visible=len(self._visible), hidden=len(self._hidden))

    def waiting(self) -> int:
        """
        Counts the wakes that could be received now.
        """
        return self.pending().visible

    def _show_ripe(self) -> None:
        while self._hidden and self._hidden[0][0] <= self._monotonic():
            self._show(heapq.heappop(self._hidden)[2])

    def _show(self, wake: Wake) -> None:
        if len(self._visible) < MAX_VISIBLE_WAKES:
            self._visible.append(wake)

    def _hide(self, wake: Wake, ripe_at: float) -> None:
        # The sequence keeps equal times in order and spares the heap a comparison of wakes.
        self._sequence += 1
        heapq.heappush(self._hidden, (ripe_at, self._sequence, wake))

    def _seconds_to_next_ripe(self) -> float:
        return max(self._hidden[0][0] - self._monotonic(), 0.0) if self._hidden else float("inf")


def _handed_out(wake: Wake) -> Wake:
    return replace(wake, delivery=wake.delivery + 1)


IN_PROCESS = InProcessWakes()
