from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.domain.errors import FieldProblem
from chokaq_core.policy.envelope import EnvelopeLimits, field_problem_of_json, payload_problems
from tests.support.sealing import refusal, refusals, sealed

LIMIT = 40
ESCAPED = "payload: contains an escaped lone surrogate, which is not valid text; remove it"
TOO_DEEP = "payload: is nested deeper than 100 levels; flatten it"


def padded(text: str, size: int) -> str:
    """
    A JSON string that holds the text and takes exactly `size` bytes.
    """
    return f'"{text}{"x" * (size - 2 - len(text.encode()))}"'


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.case("C-035")
@pytest.mark.parametrize("text", ["", "é" * 19, "é" * 5, "😀" * 9, r"\"\"\"\\\\", "\\u00e9"])
def test_a_payload_of_exactly_the_limit_in_bytes_is_kept_as_it_is(text: str) -> None:
    payload = padded(text, LIMIT)
    assert sealed(LIMIT, payload=payload).payload == payload


@pytest.mark.case("C-035")
@pytest.mark.parametrize("text", ["", "é" * 19, "é" * 5, "😀" * 9, r"\"\"\"\\\\", "\\u00e9"])
def test_a_payload_of_one_byte_more_is_refused_with_both_numbers(text: str) -> None:
    (problem,) = refusals(LIMIT, payload=padded(text, LIMIT + 1))
    rule = (
        "is 41 bytes of UTF-8 JSON; the limit is 40 (Serialization.MaxPayloadBytes); "
        "store large data elsewhere and send its address"
    )
    assert problem == FieldProblem("payload", rule, "too_large")


@pytest.mark.case("C-035")
@given(st.text(st.characters(codec="utf-8")))
def test_a_payload_is_accepted_exactly_when_its_bytes_fit(text: str) -> None:
    payload = json.dumps(text, ensure_ascii=False)
    problems = list(payload_problems(payload, EnvelopeLimits(max_payload_bytes=LIMIT)))
    assert (problems == []) == (len(payload.encode("utf-8")) <= 40)


@pytest.mark.parametrize("payload", ['{"a":"\ud800"}', '{"\udfff":1}', '"\ude00\ud83d"'])
def test_a_lone_surrogate_is_refused(payload: str) -> None:
    assert refusal(payload=payload) == "payload: contains a lone surrogate, which is not valid text; remove it"


@pytest.mark.parametrize(
    "payload",
    [
        r'{"a":"\ud800"}',
        r'{"a":"\uD800\u0041"}',
        r'{"\udfff":1}',
        r'"\ude00\ud83d"',
        r'"\ud83d\ud83d\ude00"',
        r'"\\\ud800"',
        r'["\ud83d\ude00","\ud83d","\ude00"]',
        r'{"a":"\"\\\" \udc00"}',
    ],
)
def test_an_escaped_lone_surrogate_is_refused(payload: str) -> None:
    assert refusal(payload=payload) == ESCAPED


@pytest.mark.parametrize(
    "payload",
    [
        r'{"a":"\ud83d\ude00"}',
        r'"\uD83D\uDE00\u00e9"',
        r'"\\ud800"',
        r'"\\\\ud800"',
        r'"\\\\\\ud800 and \ud83d\ude00"',
        r'{"a":"C:\\user\\ud800"}',
        '"😀"',
    ],
)
def test_a_whole_pair_and_a_text_about_an_escape_are_accepted(payload: str) -> None:
    assert sealed(payload=payload).payload == payload


@given(st.text(st.characters(codec="utf-8")))
def test_no_text_is_taken_for_a_lone_surrogate_however_it_is_escaped(text: str) -> None:
    assert sealed(payload=json.dumps(text)).payload == json.dumps(text)


@pytest.mark.parametrize(
    "payload",
    [nested(100), "[" * 50 + '{"a":' * 50 + "1" + "}" * 50 + "]" * 50, "[" + "[]," * 500 + "[]]"],
    ids=["arrays", "objects", "broad"],
)
def test_a_hundred_levels_are_accepted(payload: str) -> None:
    assert sealed(payload=payload).payload == payload


@pytest.mark.parametrize(
    "payload",
    [nested(101), '{"a":' * 101 + "1" + "}" * 101, f'{{"a":{nested(100)}}}', nested(300_000)],
    ids=["arrays", "objects", "mixed", "very deep"],
)
def test_one_level_more_is_refused(payload: str) -> None:
    assert refusal(payload=payload) == TOO_DEEP


@pytest.mark.parametrize(
    "payload", [f'"{"[" * 500}"', r'["\"[[[[", "\\", "' + "{" * 500 + '"]'], ids=["one", "several"]
)
def test_brackets_inside_of_strings_do_not_nest(payload: str) -> None:
    assert sealed(payload=payload).payload == payload


def test_quotes_inside_of_strings_do_not_hide_what_nests() -> None:
    assert refusal(payload=r'["\"",' + nested(100) + r',"\""]') == TOO_DEEP


@pytest.mark.parametrize(
    "payload",
    [
        r'"\u0041' + "\\" * 900_000 + '"',
        r'"\ud83d\ude00' + r"\"" * 450_000 + '"',
        r'"\ud83d\ude00' + r"\"" * 450_000,
        r'"\ud83d\ude00' + r"\"" * 450_000 + "\\",
        "[" * 101 + "]" * 101 + '"' + r"\"" * 400_000,
        '"' * 900_001 + r"\ud83d\ude00",
    ],
    ids=["backslashes", "quotes", "no end", "no end after a backslash", "no end beside brackets", "empty strings"],
)
@pytest.mark.timeout(60)
def test_no_payload_within_the_limit_takes_more_than_a_moment_to_check(payload: str) -> None:
    assert len(list(payload_problems(payload, EnvelopeLimits(max_payload_bytes=1_000_000)))) <= 1


@pytest.mark.parametrize("payload,shown", [({"a": 1}, "a dict"), (b"{}", "a bytes"), (None, "a NoneType")])
def test_a_payload_that_is_no_text_is_refused(payload: object, shown: str) -> None:
    assert refusal(payload=payload) == f"payload: must be JSON text; got {shown}"


@pytest.mark.parametrize("text", ["{}", '{"a":[1,-0.0,1e-320,"NaN",null,true]}', '"x"', " 7 ", "1e308"])
def test_strict_json_has_no_problem(text: str) -> None:
    assert field_problem_of_json(text) is None


@pytest.mark.case("C-033")
@pytest.mark.parametrize(
    "text,rule",
    [
        ("NaN", "is not strict JSON: NaN is not a JSON number"),
        ('{"a":' + "9" * 5000 + "}", "is not strict JSON: a whole number has too many digits"),
        ('{"a":Infinity}', "is not strict JSON: Infinity is not a JSON number"),
        ('{"a":[-Infinity]}', "is not strict JSON: -Infinity is not a JSON number"),
        ('{"a":1e400}', "is not strict JSON: the number 1e400 is too large"),
        ('{"a":-1e400}', "is not strict JSON: the number -1e400 is too large"),
        ("", "is not strict JSON: Expecting value: line 1 column 1 (char 0)"),
        ("{'a':1}", "is not strict JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("{} {}", "is not strict JSON: Extra data: line 1 column 4 (char 3)"),
        ('"a\x01"', "is not strict JSON: Invalid control character at: line 1 column 3 (char 2)"),
        (nested(100_000), "is nested deeper than 100 levels; flatten it"),
    ],
    ids=lambda value: value[:40],
)
def test_what_is_not_strict_json_has_its_reason_told(text: str, rule: str) -> None:
    assert field_problem_of_json(text) == FieldProblem("payload", rule)
