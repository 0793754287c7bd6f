from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.functions.timer import TimerRequest

from chokaq_core.localhost.functions import Handler, TimerFunction
from chokaq_core.localhost.invocation import Invoker
from chokaq_core.localhost.schedules import parse_schedule
from chokaq_core.localhost.timer_trigger import SystemClock, TimerLoop

NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
EVERY_TEN_SECONDS = "*/10 * * * * *"
EVERY_MINUTE = "0 * * * * *"


class FastClock:
    """
    A clock that jumps to where a sleeper wants to be, and ends the loop after a number of sleeps.
    """

    def __init__(self, sleeps: int) -> None:
        self.time = NOON
        self.sleeps_left = sleeps

    def now(self) -> datetime:
        return self.time

    async def sleep_until(self, moment: datetime, stop: asyncio.Event) -> None:
        if self.sleeps_left == 0:
            stop.set()
            return
        self.sleeps_left -= 1
        self.time = max(self.time, moment)


def run_timer(
    clock: FastClock,
    handler: Callable[[TimerRequest], object],
    schedule: str = EVERY_TEN_SECONDS,
    *,
    runs_on_startup: bool = False,
    is_monitored: bool = True,
) -> None:
    function = TimerFunction(Handler("tick", "timer", handler), schedule, runs_on_startup, is_monitored)
    invoker = Invoker(Path("app"), 1)
    asyncio.run(TimerLoop(function, parse_schedule(schedule, NOON), invoker, clock).run())
    invoker.close()


def test_a_timer_ticks_by_its_schedule() -> None:
    clock = FastClock(sleeps=3)
    ticks: list[datetime] = []

    def handler(timer: TimerRequest) -> None:
        ticks.append(clock.time)

    run_timer(clock, handler)

    assert [tick.second for tick in ticks] == [10, 20, 30]


def test_ticks_that_fall_into_a_run_are_skipped() -> None:
    clock = FastClock(sleeps=3)
    ticks: list[datetime] = []

    def slow(timer: TimerRequest) -> None:
        ticks.append(clock.time)
        clock.time += timedelta(seconds=25)

    run_timer(clock, slow)

    assert [tick.isoformat()[14:19] for tick in ticks] == ["00:10", "00:40", "01:10"]


def test_the_next_tick_is_looked_for_only_after_the_run() -> None:
    running = 0
    most = 0

    async def slow(timer: TimerRequest) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(100):
            await asyncio.sleep(0)
        running -= 1

    run_timer(FastClock(sleeps=4), slow)

    assert most == 1


def test_a_clock_that_is_set_back_gives_no_tick_twice() -> None:
    clock = FastClock(sleeps=2)
    wanted: list[datetime] = []

    async def note_the_wish(moment: datetime, stop: asyncio.Event) -> None:
        wanted.append(moment)
        await FastClock.sleep_until(clock, moment, stop)

    def sets_the_clock_back(timer: TimerRequest) -> None:
        clock.time -= timedelta(seconds=5)

    clock.sleep_until = note_the_wish  # type: ignore[method-assign] # a look at what the loop asks for
    run_timer(clock, sets_the_clock_back)

    assert [moment.second for moment in wanted] == [10, 20, 30]


def test_a_handler_that_raises_is_logged_and_ticks_on(all_logs: pytest.LogCaptureFixture) -> None:
    ticks = 0

    def broken(timer: TimerRequest) -> None:
        nonlocal ticks
        ticks += 1
        raise ValueError("no luck")

    run_timer(FastClock(sleeps=3), broken)

    assert ticks == 3
    assert "Timer function 'tick' failed; its next tick is not affected" in all_logs.text
    assert "ValueError: no luck" in all_logs.text


@pytest.mark.parametrize("runs_on_startup,ticks_at", [(False, [10]), (True, [0, 10])])
def test_only_a_timer_that_asks_for_it_runs_at_the_start(runs_on_startup: bool, ticks_at: list[int]) -> None:
    clock = FastClock(sleeps=1)
    ticks: list[int] = []

    def handler(timer: TimerRequest) -> None:
        ticks.append(clock.time.second)

    run_timer(clock, handler, runs_on_startup=runs_on_startup)

    assert ticks == ticks_at


def test_a_handler_gets_what_the_platform_tells_it() -> None:
    requests: list[TimerRequest] = []

    def handler(timer: TimerRequest) -> None:
        requests.append(timer)

    run_timer(FastClock(sleeps=2), handler, EVERY_MINUTE)

    assert [request.past_due for request in requests] == [False, False]
    assert [request.schedule for request in requests] == [{"AdjustForDST": True}, {"AdjustForDST": True}]
    assert [request.schedule_status for request in requests] == [
        {
            "Last": "0001-01-01T00:00:00+00:00",
            "LastUpdated": "0001-01-01T00:00:00+00:00",
            "Next": "2026-01-01T12:01:00+00:00",
        },
        {
            "Last": "2026-01-01T12:01:00+00:00",
            "LastUpdated": "2026-01-01T12:01:00+00:00",
            "Next": "2026-01-01T12:02:00+00:00",
        },
    ]


@pytest.mark.parametrize("schedule,is_monitored", [(EVERY_TEN_SECONDS, True), (EVERY_MINUTE, False)])
def test_a_timer_without_a_monitor_has_no_status(schedule: str, is_monitored: bool) -> None:
    statuses: list[object] = []

    def handler(timer: TimerRequest) -> None:
        statuses.append(timer.schedule_status)

    run_timer(FastClock(sleeps=1), handler, schedule, is_monitored=is_monitored)

    assert statuses == [{}]


def test_a_stop_lets_the_run_that_is_under_way_end() -> None:
    events: list[str] = []

    async def stop_during_a_run() -> None:
        entered, release = asyncio.Event(), asyncio.Event()

        async def handler(timer: TimerRequest) -> None:
            entered.set()
            await release.wait()
            events.append("handler ended")

        function = TimerFunction(Handler("tick", "timer", handler), EVERY_TEN_SECONDS, False, True)
        schedule = parse_schedule(EVERY_TEN_SECONDS, NOON)
        loop = TimerLoop(function, schedule, Invoker(Path("app"), 1), FastClock(sleeps=99))
        running = asyncio.create_task(loop.run())
        await entered.wait()
        loop.stop()
        release.set()
        await running
        events.append("loop ended")

    asyncio.run(stop_during_a_run())

    assert events == ["handler ended", "loop ended"]


def test_the_system_clock_tells_utc() -> None:
    before = datetime.now(UTC)

    assert before <= SystemClock().now() <= datetime.now(UTC)


def test_the_system_clock_sleeps_to_the_moment() -> None:
    clock = SystemClock()
    moment = clock.now() + timedelta(milliseconds=30)

    asyncio.run(clock.sleep_until(moment, asyncio.Event()))

    assert clock.now() >= moment


def test_the_system_clock_wakes_up_when_it_is_stopped() -> None:
    async def stop_while_it_sleeps() -> None:
        stop = asyncio.Event()
        sleeping = asyncio.create_task(SystemClock().sleep_until(datetime(2999, 1, 1, tzinfo=UTC), stop))
        await asyncio.sleep(0)
        stop.set()
        await sleeping

    began = time.monotonic()
    asyncio.run(stop_while_it_sleeps())

    assert time.monotonic() - began < 20
