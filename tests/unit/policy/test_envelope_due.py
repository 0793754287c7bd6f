from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from tests.support.sealing import refusal, refusals, sealed

MADRID = ZoneInfo("Europe/Madrid")
EASTERN = timezone(timedelta(hours=5, minutes=30))
WESTERN = timezone(timedelta(hours=-5))


@pytest.fixture(params=["America/Bogota", "Asia/Kolkata"])
def _host_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.case("C-024")
@pytest.mark.parametrize(
    "delay",
    [
        timedelta(0),
        timedelta(days=7),
        timedelta(days=7, seconds=1),
        timedelta(days=24, hours=20, minutes=31, seconds=23, milliseconds=647),
        timedelta(days=24, hours=20, minutes=31, seconds=23, milliseconds=648),
        timedelta(days=400),
        timedelta(days=36_525),
        timedelta(days=366_000),
    ],
    ids=str,
)
def test_a_delay_up_to_a_thousand_years_is_kept_to_the_microsecond(delay: timedelta) -> None:
    assert sealed(delay=delay).delay == delay


@pytest.mark.case("C-024")
@pytest.mark.parametrize(
    "delay,shown",
    [
        (timedelta(days=366_000, microseconds=1), "366000 days, 0:00:00.000001"),
        (timedelta(seconds=1e13), "115740740 days, 17:46:40"),
        (timedelta.max, "999999999 days, 23:59:59.999999"),
    ],
)
def test_a_longer_delay_is_refused_with_limit_and_value(delay: timedelta, shown: str) -> None:
    assert refusal(delay=delay) == f"delay: must be at most 366000 days; got {shown}"


@pytest.mark.case("C-025")
@pytest.mark.parametrize(
    "delay,shown",
    [
        (timedelta(microseconds=-1), "-1 day, 23:59:59.999999"),
        (timedelta(seconds=-5), "-1 day, 23:59:55"),
        (timedelta(days=-30), "-30 days, 0:00:00"),
        (timedelta.min, "-999999999 days, 0:00:00"),
    ],
)
def test_a_negative_delay_is_refused(delay: timedelta, shown: str) -> None:
    assert refusal(delay=delay) == f"delay: must not be negative; got {shown}"


@pytest.mark.case("C-025")
@pytest.mark.parametrize("delay,shown", [(float("nan"), "nan"), (5, "5"), (0.5, "0.5"), ("-00:00:05", "'-00:00:05'")])
def test_a_delay_that_is_no_duration_is_refused(delay: object, shown: str) -> None:
    assert refusal(delay=delay) == f"delay: must be a timedelta; got {shown}"


@pytest.mark.case("C-025")
def test_not_a_number_cannot_become_a_duration() -> None:
    with pytest.raises(ValueError, match="cannot convert float NaN"):
        timedelta(seconds=float("nan"))


@pytest.mark.case("C-025")
def test_a_due_time_in_the_past_is_accepted() -> None:
    past = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert sealed(due_at=past).due_at == past


@pytest.mark.case("C-026")
@pytest.mark.usefixtures("_host_zone")
@pytest.mark.parametrize(
    "due_at,in_utc",
    [
        (datetime(2030, 5, 10, 12, tzinfo=UTC), "2030-05-10T12:00:00+00:00"),
        (datetime(2030, 5, 10, 12, tzinfo=timezone(timedelta(hours=2))), "2030-05-10T10:00:00+00:00"),
        (datetime(2030, 5, 10, 12, tzinfo=MADRID), "2030-05-10T10:00:00+00:00"),
        (datetime(2030, 5, 10, 12, tzinfo=EASTERN), "2030-05-10T06:30:00+00:00"),
        (datetime(2030, 10, 27, 2, 30, tzinfo=MADRID), "2030-10-27T00:30:00+00:00"),
        (datetime(2030, 10, 27, 2, 30, fold=1, tzinfo=MADRID), "2030-10-27T01:30:00+00:00"),
        (datetime(2030, 5, 10, 12, 0, 0, 123_457, tzinfo=WESTERN), "2030-05-10T17:00:00.123457+00:00"),
    ],
    ids=str,
)
def test_a_due_time_with_a_zone_is_stored_as_the_same_moment_in_utc(due_at: datetime, in_utc: str) -> None:
    stored = sealed(due_at=due_at).due_at
    assert stored is not None
    assert stored.isoformat() == in_utc


@pytest.mark.case("C-026")
@pytest.mark.usefixtures("_host_zone")
def test_a_due_time_without_a_zone_is_refused_wherever_the_host_stands() -> None:
    text = refusal(due_at=datetime(2030, 5, 10, 12))  # noqa: DTZ001 - the point of the test
    assert text == "due_at: needs a time zone, e.g. 2030-05-10T12:00:00Z; got 2030-05-10T12:00:00"


@pytest.mark.case("C-026")
@pytest.mark.parametrize(
    "due_at,shown",
    [("2030-05-10T12:00:00Z", "'2030-05-10T12:00:00Z'"), (1_904_644_800, "1904644800"), (timedelta(1), None)],
)
def test_a_due_time_that_is_no_datetime_is_refused(due_at: object, shown: str | None) -> None:
    expected = shown if shown is not None else "datetime.timedelta(days=1)"
    assert refusal(due_at=due_at) == f"due_at: must be a datetime; got {expected}"


@pytest.mark.case("C-024")
def test_the_last_moment_of_the_calendar_is_accepted() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert sealed(due_at=last).due_at == last


@pytest.mark.parametrize(
    "due_at,shown",
    [
        (datetime(9999, 12, 31, 23, 0, tzinfo=WESTERN), "9999-12-31T23:00:00-05:00"),
        (datetime(1, 1, 1, 0, 0, tzinfo=EASTERN), "0001-01-01T00:00:00+05:30"),
    ],
)
def test_a_moment_outside_of_the_calendar_in_utc_is_refused(due_at: datetime, shown: str) -> None:
    assert refusal(due_at=due_at) == f"due_at: must lie in the years 1 to 9999 in UTC; got {shown}"


def test_a_delay_and_a_due_time_together_are_refused() -> None:
    text = refusal(delay=timedelta(seconds=5), due_at=datetime(2030, 5, 10, tzinfo=UTC))
    assert text == "due_at: give either delay or due_at, not both"


def test_a_delay_and_a_due_time_that_are_wrong_besides_are_told_all_at_once() -> None:
    problems = refusals(delay=timedelta(seconds=-5), due_at=datetime(2030, 5, 10))  # noqa: DTZ001
    assert [problem.field for problem in problems] == ["due_at", "delay", "due_at"]
