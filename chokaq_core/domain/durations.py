"""
Durations as text, `[d.]hh:mm:ss[.fffffff]`: one spelling for settings and for HTTP.

    >>> parse_duration("1.02:30:00")
    datetime.timedelta(days=1, seconds=9000)
    >>> format_duration(timedelta(minutes=15))
    '00:15:00'
    >>> parse_duration("24:00:00")
    Traceback (most recent call last):
    ...
    chokaq_core.domain.durations.DurationError: must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23; \
write 1.00:00:00 (1 day) or 24.00:00:00 (24 days)

Other spellings are refused, never guessed: `24:00:00` is 24 days to .NET and one day to its reader.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23"

_FORM = re.compile(
    r"(?:(?P<days>[0-9]{1,8})\.)?"
    r"(?P<hours>[01][0-9]|2[0-3]):(?P<minutes>[0-5][0-9]):(?P<seconds>[0-5][0-9])"
    r"(?:\.(?P<fraction>[0-9]{1,7}))?"
)
# For what is no duration, to guess what was meant. Kept as text: `re` compiles a pattern at its first use.
_PARTS = (
    r"(?:(?P<days>[0-9]{1,8})\.)?(?P<first>[0-9]{1,8}):(?P<second>[0-9]{1,8})(?::(?P<third>[0-9]{1,8}(?:[.,][0-9]*)?))?"
)
_NUMBER = r"[0-9]{1,8}(?:[.,][0-9]*)?"
_WITH_UNIT = r"([0-9]{1,8}(?:[.,][0-9]+)?) ?(ms|s|m|h|d)[a-z]*"
_ISO_8601 = r"p(?:([0-9]{1,8})d)?(?:t(?:([0-9]{1,8})h)?(?:([0-9]{1,8})m)?(?:([0-9]{1,8}(?:[.,][0-9]+)?)s)?)?"

_UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_SECONDS_OF_UNIT = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_HOURS_OF_A_DAY = 24
_TOO_LONG = timedelta(days=100_000_000)
_LARGEST_COUNT_IN_WORDS = 120


class DurationError(ValueError):
    """
    The text is no duration. Write it as one of `suggestions`, if there are any.

    Attributes:
        rule: the spelling that is asked for.
        hint: "write … or …", or an empty text when nothing could be guessed.
        suggestions: what was probably meant, spelled as it must be.
    """

    def __init__(self, meant: tuple[timedelta, ...]) -> None:
        self.rule = RULE
        self.suggestions = tuple(format_duration(value) for value in meant)
        self.hint = f"write {' or '.join(_with_words(value) for value in meant)}" if meant else ""
        super().__init__("; ".join(part for part in (self.rule, self.hint) if part))


def parse_duration(text: str) -> timedelta:
    """
    The duration that the text spells; digits beyond microseconds are cut.

    Raises:
        DurationError: any other spelling, with what was probably meant. The error never repeats the text.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise DurationError(_meant(text))
    return timedelta(
        days=int(match["days"] or 0),
        hours=int(match["hours"]),
        minutes=int(match["minutes"]),
        seconds=int(match["seconds"]),
        microseconds=int((match["fraction"] or "0").ljust(7, "0")) // 10,
    )


def format_duration(value: timedelta) -> str:
    """
    The spelling that `parse_duration` reads back as the same value; a negative one, which it refuses, gets a minus.
    """
    if value < timedelta(0):
        return f"-{format_duration(-value)}"
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{value.days}." if value.days else ""
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    return f"{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


def _meant(text: str) -> tuple[timedelta, ...]:
    """
    The readings that a person may have had in mind, most likely first, without repetition.
    """
    plain = text.strip().removeprefix("-").lower()
    return tuple(value for value in dict.fromkeys(_readings(plain)) if value < _TOO_LONG)


def _readings(plain: str) -> Iterator[timedelta]:
    if match := re.fullmatch(_PARTS, plain):
        yield from _readings_of_parts(match)
    elif re.fullmatch(_NUMBER, plain):
        yield timedelta(seconds=_decimal(plain))
        yield timedelta(days=_decimal(plain))
    elif match := re.fullmatch(_WITH_UNIT, plain):
        yield timedelta(seconds=_decimal(match[1]) * _SECONDS_OF_UNIT[match[2]])
    elif (match := re.fullmatch(_ISO_8601, plain)) and any(match.groups()):
        days, hours, minutes, seconds = (_decimal(group or "0") for group in match.groups())
        yield timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _readings_of_parts(match: re.Match[str]) -> Iterator[timedelta]:
    days, first, second = (int(match[name] or 0) for name in ("days", "first", "second"))
    if match["third"] is None:
        yield timedelta(days=days, hours=first, minutes=second)
        yield timedelta(days=days, minutes=first, seconds=second)
        return
    third = _decimal(match["third"])
    yield timedelta(days=days, hours=first, minutes=second, seconds=third)
    if not days and first >= _HOURS_OF_A_DAY > second:
        # What .NET makes of it: when the first part cannot be hours, the three are days, hours and minutes.
        yield timedelta(days=first, hours=second, minutes=third)


def _decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _with_words(value: timedelta) -> str:
    spelling = format_duration(value)
    for unit, seconds in _UNITS.items():
        count, rest = divmod(value, timedelta(seconds=seconds))
        if not rest and 0 < count <= _LARGEST_COUNT_IN_WORDS:
            return f"{spelling} ({count} {unit if count > 1 else unit[:-1]})"
    return spelling
