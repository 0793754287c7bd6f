"""
Timer triggers: one loop per function sleeps to the next tick, calls the handler, and only then looks for the next tick.

So the runs of one function never overlap, and ticks that fall into a run are skipped.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from azure.functions.timer import TimerRequest

if TYPE_CHECKING:
    from chokaq_core.localhost.functions import TimerFunction
    from chokaq_core.localhost.invocation import Invoker
    from chokaq_core.localhost.schedules import Schedule

_log = logging.getLogger(__name__)
_NEVER = "0001-01-01T00:00:00+00:00"
_SHORTEST_MONITORED_PERIOD = timedelta(minutes=1)
_LONGEST_SLEEP = timedelta(seconds=30)


class Clock(Protocol):
    """
    The time of day, and waiting for one.
    """

    def now(self) -> datetime:
        """
        Tells the time in UTC.
        """

    async def sleep_until(self, moment: datetime, stop: asyncio.Event) -> None:
        """
        Returns once the moment has come or `stop` is set.
        """


class SystemClock:
    """
    The machine's clock.
    """

    def now(self) -> datetime:
        """
        Tells the time in UTC.
        """
        return datetime.now(UTC)

    async def sleep_until(self, moment: datetime, stop: asyncio.Event) -> None:
        """
        Sleeps in short stretches, so that a clock that was set, or a laptop that slept, is noticed.
        """
        while not stop.is_set() and (left := moment - self.now()) > timedelta(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), min(left, _LONGEST_SLEEP).total_seconds())


class TimerLoop:
    """
    The life of one timer function.
    """

    def __init__(self, function: TimerFunction, schedule: Schedule, invoker: Invoker, clock: Clock) -> None:
        self._function = function
        self._schedule = schedule
        self._invoker = invoker
        self._clock = clock
        self._stop = asyncio.Event()
        self._last_run_at: datetime | None = None

    async def run(self) -> None:
        """
        Ticks until `stop` is called; a run that is under way then is finished first.
        """
        if self._function.runs_on_startup:
            await self._fire(self._schedule.next_after(self._clock.now()))
        due_at = self._schedule.next_after(self._clock.now())
        while True:
            await self._clock.sleep_until(due_at, self._stop)
            if self._stop.is_set():
                return
            await self._fire(due_at)
            # From the tick on at least: a clock that was set back must not give the same tick twice.
            due_at = self._schedule.next_after(max(self._clock.now(), due_at))

    def stop(self) -> None:
        """
        Ends the loop after the run that is under way, if any.
        """
        self._stop.set()

    async def _fire(self, due_at: datetime) -> None:
        request = self._request(due_at)
        self._last_run_at = self._clock.now()
        try:
            await self._invoker.invoke(self._function.handler, request)
        except Exception:  # noqa: BLE001 - whatever a handler raises ends its own call only
            _log.exception("Timer function '%s' failed; its next tick is not affected", self._function.handler.name)

    def _request(self, due_at: datetime) -> TimerRequest:
        # In Azure a tick is past due when the host slept through it, which it learns from a record that outlives it.
        # Nothing outlives this host.
        return TimerRequest(past_due=False, schedule_status=self._status(due_at), schedule={"AdjustForDST": True})

    def _status(self, due_at: datetime) -> dict[str, str]:
        if not self._is_monitored():
            return {}
        last = self._last_run_at.isoformat() if self._last_run_at else _NEVER
        return {"Last": last, "LastUpdated": last, "Next": due_at.isoformat()}

    def _is_monitored(self) -> bool:
        # The platform keeps no record of timers that tick more than once a minute.
        is_frequent = self._schedule.is_shorter_than(_SHORTEST_MONITORED_PERIOD, self._clock.now())
        return self._function.is_monitored and not is_frequent
