from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.telemetry.text import error_fields, masked, one_line_json, plain, safe_text


class Exits:
    def __str__(self) -> str:
        raise SystemExit("the text wants to end the process")


def _line(value: object) -> str:
    """
    Any value as a log line holds it.
    """
    return one_line_json(plain(value))


class Deep:
    def __str__(self) -> str:
        return str(self)


class Disguised(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "disguised\nas another"


@pytest.mark.case("C-062")
@pytest.mark.parametrize(
    "text,expected",
    [
        (
            "Login failed; Server=tcp:db.example.net;Uid=app;Pwd=s3cret;",
            "Login failed; Server=***;Uid=***;Pwd=***;",
        ),
        ("Password = s3cret", "Password = ***"),
        ("PWD={s3;cr}}et};Encrypt=yes", "PWD=***;Encrypt=yes"),
        ('password="s3;cret" was refused', "password=*** was refused"),
        ("Data Source=db.example.net;Database=jobs", "Data Source=***;Database=jobs"),
        ("AccountName=acc;AccountKey=abc==;EndpointSuffix=x", "AccountName=acc;AccountKey=***;EndpointSuffix=x"),
        ("SharedAccessSignature=sv=2024&sig=abc", "SharedAccessSignature=***&sig=***"),
        ("GET https://acc.example.net/q?sv=1&sig=abc%3D&se=2", "GET https://acc.example.net/q?sv=1&sig=***&se=2"),
        ("amqps://user:s3cret@host/path", "amqps://***@host/path"),
        ("Authorization: Bearer eyJhbGciOi.x.y", "Authorization: Bearer ***"),
        ("client_secret=abc", "client_secret=***"),
        ("the job failed = badly", "the job failed = badly"),
        ("retry in 3 s", "retry in 3 s"),
    ],
)
def test_what_could_be_a_secret_is_masked(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "value,expected",
    [
        ("two\nlines", "two\\u000alines"),
        ("\x00 \x1b[31m \u2028 \u202e \ud800", "\\u0000 \\u001b[31m \\u2028 \\u202e \\ud800"),
        ("Привет", "Привет"),
        (Exits(), "<Exits without text: SystemExit>"),
        (Deep(), "<Deep without text: RecursionError>"),
        (17, "17"),
    ],
)
def test_any_value_becomes_text_on_one_line(value: object, expected: str) -> None:
    assert safe_text(value) == expected


def test_long_text_is_cut() -> None:
    assert safe_text("x" * 100_000) == "x" * 1_000


def test_a_secret_is_masked_before_the_text_is_cut() -> None:
    assert "s3cret" not in safe_text("x" * 985 + " Pwd=s3cret")


@pytest.mark.parametrize(
    "value,expected",
    [
        ({"a": 1, "b": 1.5, "c": None, "d": True}, '{"a":1,"b":1.5,"c":null,"d":true}'),
        ({"a": float("nan"), "b": float("inf")}, '{"a":"nan","b":"inf"}'),
        ({"a": [1, ("x", 2)]}, '{"a":[1,["x",2]]}'),
        ({"a": {"Pwd": "x", "text": "Pwd=x"}}, '{"a":{"Pwd":"x","text":"Pwd=***"}}'),
        ({"a": Exits()}, '{"a":"<Exits without text: SystemExit>"}'),
        ({"a": Disguised("x")}, '{"a":"disguised\\nas another"}'),
        ({"a": b"\xff"}, '{"a":"b\'\\\\xff\'"}'),
        ({1: 2, None: 3}, '{"1":2,"None":3}'),
    ],
)
def test_json_holds_what_it_can_and_shows_the_rest_as_text(value: dict[Any, Any], expected: str) -> None:
    assert _line(value) == expected


def test_collections_are_cut_in_length_and_depth() -> None:
    endless: list[object] = []
    endless.append(endless)
    text = json.loads(_line({"many": list(range(1_000)), "deep": endless}))
    assert len(text["many"]) == 50
    assert len(_line({"deep": endless})) < 2_000


@given(st.dictionaries(st.text(), st.text(st.characters()) | st.floats() | st.integers() | st.binary(), max_size=5))
def test_any_fields_are_one_line_of_json_that_utf_8_takes(fields: dict[str, object]) -> None:
    line = _line(fields)
    assert len(line.splitlines()) == 1
    assert isinstance(json.loads(line.encode()), dict)


def test_unsafe_characters_survive_the_round_trip() -> None:
    assert json.loads(_line({"a": "x\u2028y\ud800z\x85"})) == {"a": "x\u2028y\ud800z\x85"}


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause  # noqa: TRY301 - a traceback is what the caller wants
    except BaseException as caught:  # noqa: BLE001 - any exception is asked for
        return caught


def test_an_error_tells_its_type_message_places_and_the_types_behind_it() -> None:
    fields = error_fields(raised(OSError("away"), raised(ValueError("Pwd=s3cret"), TimeoutError())))
    assert fields["error_type"] == "OSError"
    assert fields["error"] == "away"
    assert fields["caused_by"] == ["ValueError", "TimeoutError"]
    assert re.fullmatch(r"\['test_text\.py:\d+ raised'\]", str(fields["error_at"]))
    assert "s3cret" not in str(fields)


def test_an_error_that_was_never_raised_tells_type_and_message() -> None:
    assert error_fields(OSError("away")) == {"error_type": "OSError", "error": "away"}


def test_a_chain_of_errors_that_bites_its_tail_ends() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert error_fields(one)["caused_by"] == ["ValueError"] * 5
