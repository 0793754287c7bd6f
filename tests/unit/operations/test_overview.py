from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chokaq_core.operations.overview import Rate, series, window_start
from chokaq_core.ports import MetricBucket

NOW = datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def bucket(seconds_ago: float, outcome: int, completed: int, queue: str = "q") -> MetricBucket:
    at = NOW.replace(microsecond=0) - timedelta(seconds=seconds_ago)
    return MetricBucket(at, queue, outcome, -1 if outcome == 0 else 6, completed, completed, 1.0, 1.0)


def test_the_window_is_five_minutes_of_whole_seconds() -> None:
    assert window_start(NOW) == datetime(2026, 3, 1, 11, 55, tzinfo=UTC)
    assert len(series([], NOW).succeeded) == len(series([], NOW).failed) == 300


def test_each_second_sums_all_queues_by_outcome() -> None:
    found = series([bucket(1, 0, 3), bucket(1, 0, 4, "other"), bucket(1, 1, 2), bucket(300, 0, 5)], NOW)

    assert (found.succeeded[-1], found.failed[-1], found.succeeded[0]) == (7, 2, 5)
    assert (sum(found.succeeded), sum(found.failed)) == (12, 2)


def test_the_second_under_way_and_what_is_older_are_left_out() -> None:
    assert sum(series([bucket(0, 0, 3), bucket(301, 0, 3)], NOW).succeeded) == 0


def test_rates_are_of_the_last_seconds() -> None:
    found = series([bucket(1, 0, 90), bucket(60, 1, 30), bucket(61, 0, 180)], NOW)

    assert found.last(60) == Rate(60, 90, 30)
    assert (found.last(60).per_second, found.last(60).failure_rate) == (2.0, 0.25)
    assert found.last(300) == Rate(300, 270, 30)


def test_nothing_ended_has_no_failure_rate() -> None:
    assert (Rate(60, 0, 0).per_second, Rate(60, 0, 0).failure_rate) == (0.0, None)
