from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.schedules import parse_schedule

NEW_YEAR = datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC)  # a Thursday


def next_tick(text: str, after: datetime = NEW_YEAR) -> str:
    return parse_schedule(text, after).next_after(after).isoformat(sep=" ", timespec="seconds")[:19]


@pytest.mark.parametrize(
    "text,tick",
    [
        ("*/5 * * * * *", "2026-01-01 00:00:05"),
        ("30 * * * * *", "2026-01-01 00:00:30"),
        ("0 */15 * * * *", "2026-01-01 00:15:00"),
        ("0 0 3 * * *", "2026-01-01 03:00:00"),
        ("0 30 9 * * 1-5", "2026-01-01 09:30:00"),
        ("0 0 0 * * Sat", "2026-01-03 00:00:00"),
        ("0 0 0 * * 0", "2026-01-04 00:00:00"),
        ("0 0 0 1 feb *", "2026-02-01 00:00:00"),
        ("0 0 0 1 February *", "2026-02-01 00:00:00"),
        ("5,40 * * * * *", "2026-01-01 00:00:05"),
        ("10-20/5 * * * * *", "2026-01-01 00:00:10"),
        ("50/3 * * * * *", "2026-01-01 00:00:50"),
    ],
)
def test_seconds_come_first(text: str, tick: str) -> None:
    assert next_tick(text) == tick


def test_five_fields_begin_with_the_minute() -> None:
    assert next_tick("*/15 * * * *") == "2026-01-01 00:15:00"


def test_a_day_must_match_both_day_fields() -> None:
    assert next_tick("0 0 0 13 * 5") == "2026-02-13 00:00:00"


def test_a_range_written_backwards_is_turned_round() -> None:
    assert next_tick("20-10 * * * * *") == "2026-01-01 00:00:10"


def test_a_tick_is_later_than_the_moment_it_is_looked_for_at() -> None:
    assert next_tick("0 0 0 * * *") == "2026-01-02 00:00:00"


def test_a_moment_between_ticks_gives_the_coming_one() -> None:
    assert next_tick("*/10 * * * * *", NEW_YEAR + timedelta(seconds=9, microseconds=999_999)) == "2026-01-01 00:00:10"


@pytest.mark.parametrize(
    "text,complaint",
    [
        ("* * * *", "found 4"),
        ("* * * * * * *", "found 7"),
        ("", "found 0"),
        ("@daily", "found 1"),
        ("00:05:00", "found 1"),
        ("60 * * * * *", "'60' is no second: expected 0 to 59"),
        ("0 60 * * * *", "'60' is no minute: expected 0 to 59"),
        ("0 0 24 * * *", "'24' is no hour: expected 0 to 23"),
        ("0 0 0 0 * *", "'0' is no day: expected 1 to 31"),
        ("0 0 0 * 13 *", "'13' is no month: expected 1 to 12"),
        ("0 0 0 * * 7", "'7' is no day-of-week: expected 0 to 6"),
        ("0 0 0 L * *", "'L' is no day"),
        ("0 0 0 ? * *", r"'\?' is no day"),
        ("0 0 0 * * 1#2", "'1#2' is no day-of-week"),
        ("0 0 0 * Foo *", "'Foo' is no month"),
        ("*/0 * * * * *", "'0' is no step for the second"),
        ("*/x * * * * *", "'x' is no step for the second"),
        ("1, * * * * *", "'' is no second"),
        ("-5 * * * * *", "'' is no second"),
        ("0 0 0 30 2 *", "names a day that never comes"),
    ],
)
def test_what_is_no_ncrontab_schedule_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(HostError, match=complaint):
        parse_schedule(text, NEW_YEAR)


@pytest.mark.parametrize("text,is_shorter", [("*/30 * * * * *", True), ("0 * * * * *", False), ("0 0 * * * *", False)])
def test_a_schedule_knows_whether_it_ticks_more_often_than_once_a_minute(text: str, is_shorter: bool) -> None:
    assert parse_schedule(text, NEW_YEAR).is_shorter_than(timedelta(minutes=1), NEW_YEAR) is is_shorter
