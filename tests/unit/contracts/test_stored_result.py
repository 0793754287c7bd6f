from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import BaseModel

from chokaq_core.contracts.serializer import StoredResult, stored_result


class Report(BaseModel):
    rows: int
    ratio: float = 0.5


class Plain:
    pass


def endless() -> Iterator[int]:
    while True:
        yield 1


@pytest.mark.parametrize(
    "value,text",
    [
        (0, "0"),
        ("", '""'),
        (False, "false"),
        ({"rows": 7, "note": "NaN é"}, '{"rows":7,"note":"NaN é"}'),
        ([1, 2.5, None], "[1,2.5,null]"),
        (Report(rows=7), '{"rows":7,"ratio":0.5}'),
        (Decimal("0.10"), '"0.10"'),
        (datetime(2030, 5, 10, 12, tzinfo=UTC), '"2030-05-10T12:00:00Z"'),
    ],
    ids=repr,
)
def test_a_return_value_is_kept_as_json(value: object, text: str) -> None:
    assert stored_result(value, max_bytes=1_000) == StoredResult(text)


def test_a_handler_that_returns_nothing_has_no_result_and_no_note() -> None:
    assert stored_result(None, max_bytes=1_000) == StoredResult(None, None)


@pytest.mark.parametrize(
    "value,note",
    [
        (Plain(), "the result of type Plain is not JSON: Unable to serialize unknown type: "),
        (float("nan"), "the result of type float is not JSON: result: must be a finite number"),
        ({"a": [float("inf")]}, "the result of type dict is not JSON: result.a.0: must be a finite number"),
        ([Report(rows=7, ratio=float("nan"))], "the result of type list is not JSON: result.0.ratio: must be a finite"),
        (endless(), "the result of type generator is not JSON: result: is an iterator of type generator"),
        ("a\ud800", "the result of type str is not JSON: "),
        (b"\xff", "the result of type bytes is not JSON: "),
    ],
    ids=["object", "nan", "nested infinity", "nan in a model", "generator", "surrogate", "bytes"],
)
def test_a_return_value_that_is_no_json_leaves_a_note_instead(value: object, note: str) -> None:
    result = stored_result(value, max_bytes=1_000)
    assert result.text is None
    assert result.note is not None
    assert result.note.startswith(note)


def test_a_return_value_that_holds_itself_leaves_a_note_of_bounded_length() -> None:
    ring: list[object] = []
    ring.append(ring)
    note = stored_result(ring, max_bytes=1_000).note
    assert note is not None
    assert note.startswith("the result of type list is not JSON: result.0.0.0")
    assert len(note) <= 300


@pytest.mark.case("C-035")
@pytest.mark.parametrize("text", ["x" * 38, "é" * 19, "😀" * 9 + "xx"])
def test_a_result_of_exactly_the_limit_in_bytes_is_kept_and_one_byte_more_is_not(text: str) -> None:
    assert stored_result(text, max_bytes=40) == StoredResult(f'"{text}"')
    note = "the result is 41 bytes of JSON; the limit is 40"
    assert stored_result(text + "x", max_bytes=40) == StoredResult(None, note)
