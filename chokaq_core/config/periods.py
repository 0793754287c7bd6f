"""
Periods as timer schedules: six-field NCRONTAB expressions, `{second} {minute} {hour} {day} {month} {weekday}`.

    >>> schedule_of(timedelta(seconds=30))
    '*/30 * * * * *'
    >>> schedule_of(timedelta(minutes=15))
    '0 */15 * * * *'

A schedule repeats within a minute or within an hour, so only their divisors can be expressed: `*/7` would fire at
second 56 and again at second 0.
"""

from __future__ import annotations

from datetime import timedelta

_PARTS_OF_SIXTY = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)

_SCHEDULES = {
    **{timedelta(seconds=count): f"*/{count} * * * * *" for count in _PARTS_OF_SIXTY},
    **{timedelta(minutes=count): f"0 */{count} * * * *" for count in _PARTS_OF_SIXTY},
    timedelta(hours=1): "0 0 * * * *",
}

EXPRESSIBLE = tuple(_SCHEDULES)
"""Every period that a schedule can express, shortest first."""


def is_expressible(period: timedelta) -> bool:
    """
    Whether a schedule can repeat with this period.
    """
    return period in _SCHEDULES


def schedule_of(period: timedelta) -> str:
    """
    The schedule that fires once every period.

    Raises:
        KeyError: no schedule can; the settings' own rule refuses such periods.
    """
    return _SCHEDULES[period]
