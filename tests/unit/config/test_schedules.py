from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from croniter import croniter

from chokaq_core.config import Schedules, load_settings, schedules_of
from chokaq_core.config.periods import EXPRESSIBLE, is_expressible, schedule_of

MIDNIGHT = datetime(2030, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "period, schedule",
    [
        (timedelta(seconds=1), "*/1 * * * * *"),
        (timedelta(seconds=30), "*/30 * * * * *"),
        (timedelta(minutes=1), "0 */1 * * * *"),
        (timedelta(seconds=900), "0 */15 * * * *"),
        (timedelta(minutes=60), "0 0 * * * *"),
    ],
)
def test_a_period_becomes_a_schedule_of_six_fields(period: timedelta, schedule: str) -> None:
    assert schedule_of(period) == schedule


@pytest.mark.parametrize("period", EXPRESSIBLE, ids=str)
def test_a_schedule_fires_once_every_period_without_a_seam(period: timedelta) -> None:
    ticks = croniter(schedule_of(period), MIDNIGHT, ret_type=datetime, second_at_beginning=True)
    times = [MIDNIGHT, *(ticks.get_next() for _ in range(150))]
    assert {later - earlier for earlier, later in pairwise(times)} == {period}


def test_every_divisor_of_a_minute_and_of_an_hour_can_be_expressed() -> None:
    seconds = [count for count in range(1, 3601) if is_expressible(timedelta(seconds=count))]
    assert seconds == [
        *(1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30),
        *(60, 120, 180, 240, 300, 360, 600, 720, 900, 1200, 1800, 3600),
    ]


def test_other_periods_cannot() -> None:
    assert not is_expressible(timedelta(0))
    assert not is_expressible(timedelta(milliseconds=500))
    assert not is_expressible(timedelta(seconds=90))
    assert not is_expressible(timedelta(hours=2))


def test_the_schedules_follow_the_settings(app_folder: Path) -> None:
    overrides = {
        "Functions.PollInterval": "00:00:10",
        "Functions.HeartbeatInterval": "00:00:20",
        "Recovery.ScanInterval": "00:02:00",
        "Functions.MaintenanceInterval": "01:00:00",
    }
    assert schedules_of(load_settings(app_folder, {}, overrides)) == Schedules(
        poll="*/10 * * * * *", heartbeat="*/20 * * * * *", rescue="0 */2 * * * *", maintenance="0 0 * * * *"
    )


def test_invalid_settings_get_the_schedules_of_the_defaults(app_folder: Path) -> None:
    assert schedules_of(None) == schedules_of(load_settings(app_folder, {}))
