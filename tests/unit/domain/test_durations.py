from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.domain.durations import DurationError, format_duration, parse_duration

LONGEST = timedelta(days=99_999_999, hours=23, minutes=59, seconds=59, microseconds=999_999)


@pytest.mark.parametrize(
    "text, value",
    [
        ("00:00:00", timedelta(0)),
        ("00:15:00", timedelta(seconds=900)),
        ("1.00:00:00", timedelta(seconds=86_400)),
        ("0.00:00:01", timedelta(seconds=1)),
        ("00:00:00.5000000", timedelta(milliseconds=500)),
        ("00:00:00.1", timedelta(milliseconds=100)),
        ("00:00:00.0000019", timedelta(microseconds=1)),
        ("23:59:59.9999999", timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999)),
        (
            "10675199.02:48:05.4775807",
            timedelta(days=10_675_199, hours=2, minutes=48, seconds=5, microseconds=477_580),
        ),
    ],
)
def test_a_duration_is_read_as_it_is_spelled(text: str, value: timedelta) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize(
    "text, hint",
    [
        ("24:00:00", "write 1.00:00:00 (1 day) or 24.00:00:00 (24 days)"),
        ("48:00:00", "write 2.00:00:00 (2 days) or 48.00:00:00 (48 days)"),
        ("36:30:00", "write 1.12:30:00"),
        ("1.24:00:00", "write 2.00:00:00 (2 days)"),
        ("23:59:60", "write 1.00:00:00 (1 day)"),
        ("00:60:00", "write 01:00:00 (1 hour)"),
        ("7", "write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)"),
        ("7.", "write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)"),
        ("1,5", "write 00:00:01.5 or 1.12:00:00 (36 hours)"),
        ("0", "write 00:00:00"),
        ("1:30", "write 01:30:00 (90 minutes) or 00:01:30 (90 seconds)"),
        ("1:2:3", "write 01:02:03"),
        ("00:00:05,25", "write 00:00:05.25"),
        ("00:15:00.", "write 00:15:00 (15 minutes)"),
        ("00:00:00.12345678", "write 00:00:00.123457"),
        ("-00:00:05", "write 00:00:05 (5 seconds)"),
        (" 00:15:00 ", "write 00:15:00 (15 minutes)"),
        ("00:15:00\n", "write 00:15:00 (15 minutes)"),
        ("PT15M", "write 00:15:00 (15 minutes)"),
        ("P1DT2H3M4.5S", "write 1.02:03:04.5"),
        ("15m", "write 00:15:00 (15 minutes)"),
        ("90 seconds", "write 00:01:30 (90 seconds)"),
        ("500ms", "write 00:00:00.5"),
        ("", ""),
        ("   ", ""),
        ("P", ""),
        ("PT", ""),
        ("soon", ""),
        ("\u0660\u0660:\u0661\u0665:\u0660\u0660", ""),
        ("00:15:0\uff10", ""),
        ("99999999.99999999:00:00", ""),
        ("1:2:3:4", ""),
    ],
)
def test_any_other_spelling_is_refused_with_what_was_probably_meant(text: str, hint: str) -> None:
    with pytest.raises(DurationError) as refused:
        parse_duration(text)
    assert refused.value.hint == hint
    rule = "must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23"
    assert str(refused.value) == (f"{rule}; {hint}" if hint else rule)


@pytest.mark.parametrize(
    "value, text",
    [
        (timedelta(0), "00:00:00"),
        (timedelta(minutes=15), "00:15:00"),
        (timedelta(days=1, hours=2), "1.02:00:00"),
        (timedelta(milliseconds=500), "00:00:00.5"),
        (timedelta(microseconds=1), "00:00:00.000001"),
        (timedelta(seconds=-5), "-00:00:05"),
    ],
)
def test_a_duration_is_shown_without_what_it_does_not_need(value: timedelta, text: str) -> None:
    assert format_duration(value) == text


@given(st.timedeltas(min_value=timedelta(0), max_value=LONGEST))
def test_what_is_shown_is_read_back_as_the_same_value(value: timedelta) -> None:
    assert parse_duration(format_duration(value)) == value


@given(st.timedeltas(max_value=timedelta(microseconds=-1), min_value=-LONGEST))
def test_a_negative_duration_is_never_read(value: timedelta) -> None:
    with pytest.raises(DurationError):
        parse_duration(format_duration(value))


@given(st.one_of(st.text(), st.text(alphabet="0123456789:.,-PTDHMSdhms ")))
def test_every_text_is_read_or_refused_and_every_suggestion_can_be_read(text: str) -> None:
    try:
        values = [parse_duration(text)]
    except DurationError as error:
        values = [parse_duration(suggestion) for suggestion in error.suggestions]
    assert all(timedelta(0) <= value <= LONGEST for value in values)
