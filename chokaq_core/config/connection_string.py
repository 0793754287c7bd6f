r"""
Connection strings: ADO.NET and ODBC spellings read into one form.

    >>> read = parse_connection_string(
    ...     "Server=tcp:s.database.windows.net,1433;Initial Catalog=jobs;User ID=app;Password='semi;colon'"
    ... )
    >>> read.server, read.port, read.database, read.password
    ('s.database.windows.net', 1433, 'jobs', ***)

A value in braces, `{…}`, may hold anything; `}}` inside stands for `}`. Without a `Driver`, which marks the ODBC
spelling, quotes do the same: `'…'` or `"…"`, doubled inside.

No error repeats a value, since every value may turn out to be a piece of the password: `Password=a;b=c` has the
keyword `b`. So a keyword that nobody knows is named only before the password; behind it, only its place is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from chokaq_core.config.connection_keywords import (
    FIELDS,
    IGNORED,
    PASSED_ON,
    REFUSED,
    WITHOUT_EFFECT,
    Field,
    squashed,
)
from chokaq_core.config.connection_login import connection_of
from chokaq_core.config.kinds import Kind, RefusedError
from chokaq_core.domain.secret import MASK
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chokaq_core.policy.sqlserver import SqlServerConnection

QUOTE_IT = "a value that holds ';' must stand in quotes or braces"

# Kept as text: `re` compiles a pattern at its first use, and most starts use none of these.
_SEPARATORS = r"[;\s]*"
_KEYWORD = r"(?P<keyword>[^=;]*)=\s*"
_QUOTED = {
    "{": r"\{(?P<value>(?:[^}]|\}\})*+)\}\s*(?:;|\Z)",
    "'": r"'(?P<value>(?:[^']|'')*+)'\s*(?:;|\Z)",
    '"': r'"(?P<value>(?:[^"]|"")*+)"\s*(?:;|\Z)',
}
_PLAIN = r"(?P<value>[^;]*)"
_HARMLESS_WORD = r"[A-Za-z][A-Za-z_ ]{0,39}"
_CONTROL = r"[\x00-\x1f\x7f\ud800-\udfff]"

_LONGEST_WORD = 40
_ALIKE = 0.8
"""Likeness from which a hidden word is taken for a slip of the pen; it is still not repeated."""

Name = TypeVar("Name", bound=str)

_ADO_NET = "{'\""
_ODBC = "{"


class Pair(Value):
    """
    One `keyword=value`, unquoted; `number` is its place in the string, from 1.
    """

    number: int
    keyword: str
    value: str


@dataclass(slots=True)
class _Findings:
    """
    What the keywords of a string say, gathered one by one.
    """

    fields: dict[Field, str] = field(default_factory=dict)
    further: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def parse_connection_string(text: str) -> SqlServerConnection:
    """
    The connection that the string describes.

    Raises:
        RefusedError: one rule for each fault; none repeats a value.
    """
    read = _pairs(text)
    found = _sorted_in([pair for pair in read if isinstance(pair, Pair)])
    unread = [fault for fault in read if isinstance(fault, str)]
    connection, missing = connection_of(found.fields, tuple(found.further.items()), tuple(found.notes))
    # What a string that could not be read to its end lacks may stand in the rest of it.
    faults = [*found.faults, *(unread or missing)]
    if faults or connection is None:
        raise RefusedError(*faults)
    return connection


def _pairs(text: str) -> list[Pair | str]:
    """
    The pairs by ODBC's rules if those find a driver, else by ADO.NET's.
    """
    by_odbc = list(_split(text, _ODBC))
    is_odbc = any(isinstance(pair, Pair) and squashed(pair.keyword) == "driver" for pair in by_odbc)
    return by_odbc if is_odbc else list(_split(text, _ADO_NET))


def _split(text: str, quotes: str) -> Iterator[Pair | str]:
    """
    The pairs in order; a fault of spelling, as text, ends them.
    """
    number, position = 1, _skip(text, 0)
    while position < len(text):
        head = re.compile(_KEYWORD).match(text, position)
        if head is None:
            yield f"the text after {number - 1} keyword(s) has no '='; {QUOTE_IT}"
            return
        quote = next((mark for mark in quotes if text.startswith(mark, head.end())), None)
        body = re.compile(_QUOTED[quote] if quote else _PLAIN).match(text, head.end())
        if body is None:
            yield f"the value of keyword number {number} is not closed as it was opened; double a quote inside it"
            return
        yield Pair(number, head["keyword"].strip(), _unquoted(body["value"], quote))
        number, position = number + 1, _skip(text, body.end())


def _skip(text: str, position: int) -> int:
    match = re.compile(_SEPARATORS).match(text, position)
    return match.end() if match else position


def _unquoted(value: str, quote: str | None) -> str:
    if quote is None:
        return value.strip()
    closing = "}" if quote == "{" else quote
    return value.replace(closing * 2, closing)


def _sorted_in(pairs: list[Pair]) -> _Findings:
    found = _Findings()
    # A text without any known keyword may be a secret that was put into the wrong setting.
    may_be_secret = not any(squashed(pair.keyword) in FIELDS for pair in pairs)
    for pair in pairs:
        word = squashed(pair.keyword)
        is_known = _take(word, pair, found)
        if not is_known:
            found.faults.append(_unknown(pair, may_be_secret=may_be_secret))
        # A password that is quoted badly spills over all that follows, words that look like keywords included.
        may_be_secret = may_be_secret or not is_known or FIELDS.get(word) is Field.PASSWORD
    return found


def _take(word: str, pair: Pair, found: _Findings) -> bool:
    """
    Puts a pair where it belongs; False when nobody knows its keyword.
    """
    if word in FIELDS:
        _put(found.fields, FIELDS[word], pair, found.faults)
    elif word in PASSED_ON:
        _put(found.further, PASSED_ON[word], pair, found.faults)
    elif word in WITHOUT_EFFECT:
        found.notes.append(WITHOUT_EFFECT[word])
    elif word in REFUSED:
        found.faults.append(f"keyword {_shown(pair)} is refused: {REFUSED[word]}")
    else:
        return word in IGNORED
    return True


def _put(into: dict[Name, str], name: Name, pair: Pair, faults: list[str]) -> None:
    if name in into:
        faults.append(f"{name} is given twice, the second time as keyword number {pair.number}; keep one")
    elif re.search(_CONTROL, pair.value):
        faults.append(f"the value of {name} holds control characters or invalid text")
    into.setdefault(name, pair.value)


def _unknown(pair: Pair, *, may_be_secret: bool) -> str:
    """
    The fault of a keyword that nobody knows; one that may be a piece of a secret is told by its place alone.
    """
    is_hidden = may_be_secret or re.fullmatch(_HARMLESS_WORD, pair.keyword) is None
    name = f"number {pair.number}" if is_hidden else _shown(pair)
    near = _nearest(squashed(pair.keyword), cutoff=_ALIKE if is_hidden else 0.0)
    return f"keyword {name} is not known; {f'the nearest is {near}' if near else QUOTE_IT}"


def _nearest(word: str, *, cutoff: float) -> str | None:
    import difflib  # noqa: PLC0415 - for misspelt names only

    known = {**WITHOUT_EFFECT, **PASSED_ON, **FIELDS}
    found = difflib.get_close_matches(word[:_LONGEST_WORD], known, n=1, cutoff=cutoff)
    return known[found[0]] if found else None


def _shown(pair: Pair) -> str:
    return " ".join(pair.keyword.split())[:_LONGEST_WORD]


def _parse_setting(given: str) -> SqlServerConnection:
    if not given:
        raise RefusedError("is present but blank", hint="give it, or remove the setting to use the embedded store")
    return parse_connection_string(given)


CONNECTION_STRING = Kind(
    "connection string (secret)",
    "must be a connection string for SQL Server, in ADO.NET or ODBC spelling",
    _parse_setting,
    show=lambda _: MASK,
    is_secret=True,
)
"""Where the SQL Server store connects."""
