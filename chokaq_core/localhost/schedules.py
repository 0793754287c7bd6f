"""
NCRONTAB, the schedule language of timer triggers: `{second} {minute} {hour} {day} {month} {day-of-week}`, in UTC.

It is not cron: seconds come first, a day must match both day fields, Sunday is 0 only, ranges written backwards are
turned round, and the extras of cron libraries (L, #, ?, @daily) do not exist. So fields are read here, into plain
numbers, and croniter only looks for the next moment. Source: the NCrontab library, which the Functions host uses.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from croniter import CroniterError, croniter

from chokaq_core.domain.value import Value
from chokaq_core.localhost.errors import HostError

# Any beginning of a name will do, in any letter case.
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WITHOUT_SECONDS = 5


class Schedule(Value):
    """
    A schedule that is known to come round.
    """

    expression: str

    def next_after(self, moment: datetime) -> datetime:
        """
        Gives the first tick later than the moment, which must be in UTC.
        """
        ticks = croniter(self.expression, moment, second_at_beginning=True, day_or=False)
        tick: datetime = ticks.get_next(datetime)
        return tick

    def is_shorter_than(self, period: timedelta, moment: datetime) -> bool:
        """
        Tells whether the two ticks after the moment are less than the period apart.
        """
        first = self.next_after(moment)
        return self.next_after(first) - first < period


class _Field(Value):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day-of-week", 0, 6, _DAYS),
)


def parse_schedule(text: str, now: datetime) -> Schedule:
    """
    Reads a schedule of six fields, or of five, which then begins with the minute and ticks at second 0.

    Raises:
        HostError: the text is no NCRONTAB expression, or names a day that never comes.
    """
    parts = text.split()
    if len(parts) == _WITHOUT_SECONDS:
        parts = ["0", *parts]
    if len(parts) != len(_FIELDS):
        raise HostError(f"'{text}' is no NCRONTAB schedule: expected six fields, {{second}} first, found {len(parts)}")
    schedule = Schedule(" ".join(_numbers(part, field) for part, field in zip(parts, _FIELDS, strict=True)))
    _refuse_if_never(schedule, text, now)
    return schedule


def _refuse_if_never(schedule: Schedule, text: str, now: datetime) -> None:
    try:
        schedule.next_after(now)
    except CroniterError as error:
        raise HostError(f"'{text}' names a day that never comes") from error


def _numbers(text: str, field: _Field) -> str:
    if text == "*":
        return text
    chosen = {number for item in text.split(",") for number in _item(item, field)}
    return ",".join(str(number) for number in sorted(chosen))


def _item(text: str, field: _Field) -> range:
    span, slash, step = text.partition("/")
    low, high = _span(span, field, open_ended=bool(slash))
    return range(low, high + 1, _step(step, field) if slash else 1)


def _span(text: str, field: _Field, *, open_ended: bool) -> tuple[int, int]:
    if text == "*":
        return field.low, field.high
    first, dash, last = text.partition("-")
    low = _value(first, field)
    if dash:
        ends = sorted((low, _value(last, field)))
        return ends[0], ends[1]
    return low, field.high if open_ended else low


def _step(text: str, field: _Field) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise HostError(f"'{text}' is no step for the {field.name}: expected a whole number from 1 on")
    return int(text)


def _value(text: str, field: _Field) -> int:
    number = int(text) if text.isascii() and text.isdigit() else _named(text, field)
    if number is None or not field.low <= number <= field.high:
        raise HostError(f"'{text}' is no {field.name}: expected {field.low} to {field.high}")
    return number


def _named(text: str, field: _Field) -> int | None:
    matches = (index for index, name in enumerate(field.names) if text and name.lower().startswith(text.lower()))
    return next((index + field.low for index in matches), None)
