from __future__ import annotations

import pytest

from tests.support.sealing import refusal, sealed

LIMITS = [("idempotency_key", 255), ("tags", 1_000), ("created_by", 100)]
"""Counted in UTF-16 units, as the columns are; an emoji takes two."""


@pytest.mark.parametrize("field,limit", LIMITS)
@pytest.mark.parametrize("last", ["x", "é", "\uffff"])
def test_a_text_of_exactly_the_limit_is_kept_as_it_is(field: str, limit: int, last: str) -> None:
    text = "x" * (limit - 1) + last
    assert getattr(sealed(**{field: text}), field) == text


@pytest.mark.parametrize("field,limit", LIMITS)
def test_an_emoji_counts_as_two_characters(field: str, limit: int) -> None:
    text = "x" * (limit - 2) + "😀"
    assert getattr(sealed(**{field: text}), field) == text
    assert refusal(**{field: "x" + text}) == f"{field}: must be at most {limit} characters; got {limit + 1}"


@pytest.mark.parametrize("field,limit", LIMITS)
@pytest.mark.parametrize("over", [1, 4_000])
def test_a_longer_text_is_refused_with_limit_and_size(field: str, limit: int, over: int) -> None:
    text = refusal(**{field: "x" * (limit + over)})
    assert text == f"{field}: must be at most {limit} characters; got {limit + over}"


@pytest.mark.parametrize("field", ["idempotency_key", "tags", "created_by"])
@pytest.mark.parametrize(
    "value,rule",
    [
        ("a\x00b", "must not contain NUL characters"),
        ("a\ud800b", "contains a lone surrogate, which is not valid text; remove it"),
    ],
)
def test_what_no_database_can_hold_is_refused(field: str, value: str, rule: str) -> None:
    assert refusal(**{field: value}) == f"{field}: {rule}"


@pytest.mark.parametrize("field", ["tags", "created_by"])
def test_a_value_that_is_no_text_is_refused(field: str) -> None:
    assert refusal(**{field: ["vip"]}) == f"{field}: must be text; got ['vip']"


@pytest.mark.parametrize("field", ["idempotency_key", "tags", "created_by"])
def test_a_text_may_be_left_out(field: str) -> None:
    assert getattr(sealed(), field) is None


@pytest.mark.parametrize("text", ["", "  vip  ", "a_b 100% [x]y it's C:\\tmp"])
def test_tags_are_free_text(text: str) -> None:
    assert sealed(tags=text).tags == text


@pytest.mark.case("C-022")
@pytest.mark.parametrize("key", ["inv-1", "INV-1", "ınv-1", "invé", "inve\u0301", "ß", "ss", "ｉｎｖ-1", "a b"])  # noqa: RUF001
def test_a_key_is_kept_by_exact_characters(key: str) -> None:
    assert sealed(idempotency_key=key).idempotency_key == key


@pytest.mark.case("C-022")
@pytest.mark.parametrize("key,shown", [("", "''"), ("   ", "'   '"), ("\t\n", "'\\t\\n'"), ("\u00a0", "'\\xa0'")])
def test_a_blank_key_is_refused(key: str, shown: str) -> None:
    assert refusal(idempotency_key=key) == f"idempotency_key: must not be blank; leave it out instead; got {shown}"


@pytest.mark.case("C-022")
@pytest.mark.parametrize(
    "key,shown",
    [("inv-1 ", "'inv-1 '"), (" inv-1", "' inv-1'"), ("inv-1\n", "'inv-1\\n'"), ("inv-1\u3000", "'inv-1\\u3000'")],
)
def test_a_key_with_blanks_around_it_is_refused(key: str, shown: str) -> None:
    assert refusal(idempotency_key=key) == f"idempotency_key: must not begin or end with blanks; got {shown}"


def test_a_key_that_is_no_text_is_refused() -> None:
    assert refusal(idempotency_key=7731) == "idempotency_key: must be text; got 7731"


@pytest.mark.parametrize("priority", [0, 1, 10, 1_000_000])
def test_a_priority_within_the_limits_is_kept(priority: int) -> None:
    assert sealed(priority=priority).priority == priority


@pytest.mark.parametrize(
    "priority,shown",
    [(-1, "-1"), (1_000_001, "1000001"), (1.5, "1.5"), (True, "True"), ("7", "'7'"), (None, "None")],
)
def test_any_other_priority_is_refused(priority: object, shown: str) -> None:
    assert refusal(priority=priority) == f"priority: must be a whole number from 0 to 1000000; got {shown}"
