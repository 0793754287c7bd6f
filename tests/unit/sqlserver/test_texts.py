"""
Texts of any content in one parameter, cut out by position.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.stores.sqlserver.texts import Span, Texts


def _cut(joined: str, span: Span, units: int) -> str:
    """
    What the server's SUBSTRING cuts out: by UTF-16 units, or by characters.
    """
    start, length = span
    assert start is not None
    assert length is not None
    if units == 1:
        return joined[start - 1 : start - 1 + length]
    raw = joined.encode("utf-16-le")
    return raw[2 * (start - 1) : 2 * (start - 1 + length)].decode("utf-16-le")


def test_positions_start_at_one_and_follow_each_other() -> None:
    texts = Texts(2)

    assert [texts.add(text) for text in ("abc", "", "de")] == [(1, 3), (4, 0), (4, 2)]
    assert texts.joined() == "abcde"


def test_none_has_no_place() -> None:
    texts = Texts(2)

    assert texts.add(None) == (None, None)
    assert texts.joined() == ""


def test_a_character_beyond_the_basic_plane_takes_two_units_on_sql_server_and_one_elsewhere() -> None:
    assert [Texts(units).add("a\U0001f680\u00e9") for units in (2, 1)] == [(1, 4), (1, 3)]


def test_a_lone_surrogate_is_replaced() -> None:
    texts = Texts(2)
    texts.add("a\ud800b")

    assert texts.joined() == "a\ufffdb"


@given(st.lists(st.text()), st.sampled_from([1, 2]))
def test_every_text_is_cut_out_as_it_was(given_texts: list[str], units: int) -> None:
    texts = Texts(units)
    spans = [texts.add(text) for text in given_texts]

    assert [_cut(texts.joined(), span, units) for span in spans] == given_texts
