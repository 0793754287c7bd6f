from __future__ import annotations

import linecache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chokaq_core.domain.failures import ErrorFacts
from chokaq_core.policy.error_text import error_facts, storable, text_facts

ANY_TEXT = st.text(st.characters(codec=None))
"""Every code point, NUL and lone surrogates included."""


class UnprintableError(Exception):
    def __init__(self, fault: BaseException) -> None:
        super().__init__()
        self.fault = fault

    def __str__(self) -> str:
        raise self.fault


class Stubborn(str):
    """
    Text that does not let itself be changed.
    """

    __slots__ = ()

    def replace(self, *args: object) -> str:
        raise RuntimeError

    def encode(self, *args: object) -> bytes:
        raise RuntimeError


class StubbornTextError(Exception):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def __str__(self) -> str:
        return Stubborn(self.text)


class TimeoutOfUpstreamError(Exception):
    pass


class NotesThatExitError(Exception):
    def __getattr__(self, name: str) -> object:
        raise SystemExit


def raised(error: BaseException) -> BaseException:
    """
    The error with a traceback.
    """
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def is_storable(facts: ErrorFacts) -> bool:
    texts = (facts.type, facts.message, facts.details)
    fits = len(facts.type) <= 200 and len(facts.message) <= 2_000 and len(facts.details) <= 32_000
    return fits and all("\x00" not in text and text == text.encode().decode() for text in texts)


def test_type_message_and_traceback_are_kept() -> None:
    facts = error_facts(raised(ValueError("no such customer")))
    assert (facts.type, facts.message) == ("ValueError", "no such customer")
    assert facts.details.startswith("Traceback (most recent call last):\n")
    assert "in raised\n    raise error\n" in facts.details
    assert facts.details.endswith("ValueError: no such customer\n")


def test_a_type_of_some_module_is_named_with_it() -> None:
    assert error_facts(TimeoutOfUpstreamError()).type.endswith("test_error_text.TimeoutOfUpstreamError")


def test_the_end_of_a_process_is_described_like_any_error() -> None:
    facts = error_facts(raised(SystemExit(3)))
    assert (facts.type, facts.message) == ("SystemExit", "3")
    assert facts.details.endswith("SystemExit: 3\n")


@pytest.mark.case("C-016")
def test_nul_characters_are_made_visible_and_the_rest_is_kept() -> None:
    facts = error_facts(raised(RuntimeError("upstream said: \x00\x01 bad\x00")))
    assert facts.message == "upstream said: ␀\x01 bad␀"
    assert facts.details.endswith("RuntimeError: upstream said: ␀\x01 bad␀\n")


@pytest.mark.case("C-016")
def test_nul_characters_of_a_cause_are_made_visible() -> None:
    error = RuntimeError("could not file it")
    error.__cause__ = ValueError("page\x00one")
    facts = error_facts(raised(error))
    assert "ValueError: page␀one\n" in facts.details
    assert facts.details.endswith("RuntimeError: could not file it\n")


@pytest.mark.case("C-016")
def test_nul_characters_of_a_source_line_are_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "raise RuntimeError('x')  # page\x00one\n"
    monkeypatch.setitem(linecache.cache, "<edited since>", (len(line), None, [line], "<edited since>"))
    with pytest.raises(RuntimeError) as caught:
        exec(compile("raise RuntimeError('x')", "<edited since>", "exec"))  # noqa: S102 - code of a file that changed
    facts = error_facts(caught.value)
    assert "raise RuntimeError('x')  # page␀one\n" in facts.details


@pytest.mark.parametrize(
    "text,stored",
    [
        ("half \ud83d of a pair", "half � of a pair"),
        ("\udc00 first", "� first"),
        ("last \ud800", "last �"),
        ("\ud83d\ude00 in two halves", "😀 in two halves"),
        ("\ufeff😀 é", "\ufeff😀 é"),
        ("", ""),
    ],
)
def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_joined(text: str, stored: str) -> None:
    assert storable(text) == stored


def test_a_huge_message_keeps_head_and_tail() -> None:
    message = error_facts(RuntimeError("begin " + "x" * 5_000_000 + " end")).message
    assert len(message) == 2_000
    assert message.startswith("begin xxx")
    assert "x\n… cut …\nx" in message
    assert message.endswith("xxx end")


@pytest.mark.parametrize("length,kept", [(2_000, 2_000), (2_001, 2_000)])
def test_a_message_is_cut_only_when_it_passes_the_limit(length: int, kept: int) -> None:
    message = text_facts("E", "x" * length).message
    assert len(message) == kept
    assert ("… cut …" in message) is (length > kept)


def test_a_huge_traceback_keeps_the_line_that_names_the_error() -> None:
    error = RuntimeError("outer")
    error.__cause__ = ValueError("y" * 100_000)
    details = error_facts(raised(error)).details
    assert len(details) == 32_000
    assert details.endswith("RuntimeError: outer\n")


def test_a_long_chain_of_causes_is_cut() -> None:
    error: Exception | None = None
    for number in range(3_000):
        link = ValueError(f"link {number}")
        link.__cause__ = error
        error = link
    assert error is not None
    facts = error_facts(error)
    assert facts.message == "link 2999"
    assert facts.details.endswith("ValueError: link 2999\n")
    assert is_storable(facts)


def test_causes_in_a_circle_come_to_an_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert error_facts(first).details.endswith("ValueError: first\n")


def test_a_group_of_errors_shows_its_members() -> None:
    group = ExceptionGroup("two of them", [ValueError("one\x00"), OSError("other")])
    facts = error_facts(raised(group))
    assert (facts.type, facts.message) == ("ExceptionGroup", "two of them (2 sub-exceptions)")
    assert "ValueError: one␀\n" in facts.details
    assert "OSError: other\n" in facts.details


def test_notes_on_an_error_are_kept() -> None:
    error = ValueError("bad row")
    error.add_note("row 17 \x00")
    assert error_facts(error).details == "ValueError: bad row\nrow 17 ␀\n"


@pytest.mark.parametrize(
    "fault,name",
    [
        (RuntimeError(), "RuntimeError"),
        (RecursionError(), "RecursionError"),
        (SystemExit(1), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
    ids=repr,
)
def test_an_error_that_cannot_be_printed_is_recorded_all_the_same(fault: BaseException, name: str) -> None:
    facts = error_facts(raised(UnprintableError(fault)))
    assert facts.type.endswith("UnprintableError")
    assert facts.message == f"<the error's own text could not be made: {name}>"
    assert "Traceback (most recent call last):\n" in facts.details


def test_an_error_that_stops_its_own_traceback_is_recorded_without_one() -> None:
    facts = error_facts(NotesThatExitError("row 17"))
    assert facts.message == "row 17"
    assert facts.details == "NotesThatExitError: row 17\n<no traceback: SystemExit>"


@pytest.mark.parametrize("text,stored", [("as it is", "as it is"), ("as it is\x00", "as it is␀")])
def test_text_of_a_class_of_its_own_is_recorded_as_plain_text(text: str, stored: str) -> None:
    assert error_facts(StubbornTextError(text)).message == stored


def test_a_type_with_an_unstorable_name_is_recorded() -> None:
    class OddError(Exception):
        pass

    OddError.__module__ = "m"
    OddError.__qualname__ = "Odd\x00\ud800" + "x" * 500
    facts = error_facts(OddError("hello"))
    assert facts.type.startswith("m.Odd␀�xxx")
    assert is_storable(facts)


def test_an_error_that_never_was_an_exception_has_its_text_as_details() -> None:
    facts = text_facts("UnknownJobType", "report.build_v2 has no handler here")
    assert facts.details == "UnknownJobType: report.build_v2 has no handler here"


@given(message=ANY_TEXT, cause=ANY_TEXT, note=ANY_TEXT)
def test_whatever_an_exception_says_can_be_stored(message: str, cause: str, note: str) -> None:
    error = RuntimeError(message)
    error.__cause__ = ValueError(cause)
    error.add_note(note)
    assert is_storable(error_facts(error))


@given(ANY_TEXT)
def test_storable_text_changes_nothing_but_what_cannot_be_stored(text: str) -> None:
    stored = storable(text)
    assert stored.encode().decode() == stored
    assert "\x00" not in stored
    assert storable(stored) == stored
    if "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text):
        assert stored == text


@given(kind=ANY_TEXT, repeat=st.integers(min_value=1, max_value=40_000))
def test_no_length_passes_the_limits(kind: str, repeat: int) -> None:
    assert is_storable(text_facts(kind * 50, "ab\x00\ud800" * repeat))


@pytest.mark.parametrize(
    "text,kept",
    [
        (
            "Login failed; Server=db.example.net;Pwd=s3cret;",
            "Login failed; Server=db.example.net;Pwd=***;",
        ),
        (
            "401 for https://acc.example.net/q?sv=1&sig=s3cret&se=2",
            "401 for https://acc.example.net/q?sv=1&sig=***&se=2",
        ),
        ("refused: Authorization: Bearer s3cret", "refused: Authorization: Bearer ***"),
        ("no route to amqps://user:s3cret@host/path", "no route to amqps://***@host/path"),
    ],
)
def test_a_secret_that_an_error_quotes_is_not_kept_and_the_rest_is(text: str, kept: str) -> None:
    found = error_facts(raised(OSError(text)))

    assert found.message == kept
    assert found.details.endswith(f"OSError: {kept}\n")
    assert "s3cret" not in found.details


def test_a_secret_at_the_cut_is_not_kept_either() -> None:
    text = "x" * 985 + " password=" + "s3cret" * 200 + ";" + "y" * 2_000

    assert "s3cret" not in text_facts("Kind", text).message
