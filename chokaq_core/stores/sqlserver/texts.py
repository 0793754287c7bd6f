"""
The texts of a batch in one parameter, cut out by position on the server.
"""

from __future__ import annotations

from typing import Literal

Span = tuple[int, int] | tuple[None, None]
NOWHERE: Span = (None, None)
"""
The place of no text. It is a list in JSON too: Babelfish shifts a column up where a path leads nowhere in one row.
"""

_LAST_OF_BASIC_PLANE = "\uffff"


class Texts:
    """
    Gathers texts of any content: nothing is escaped, so nothing has to be unescaped.

    Args:
        units: how many positions a character beyond the basic plane takes on the server: 2 where text is UTF-16, as on
            SQL Server, 1 where it is not.
    """

    def __init__(self, units: int) -> None:
        self._is_utf16 = units > 1
        self._parts: list[str] = []
        self._end = 1

    def add(self, text: str | None) -> Span:
        """
        The place of a text: position from 1, and length; that of None is empty.
        """
        if text is None:
            return NOWHERE
        storable = _storable(text)
        length = self._length(storable)
        span: Span = (self._end, length)
        self._parts.append(storable)
        self._end += length
        return span

    def joined(self) -> str:
        """
        All texts, one after the other.
        """
        return "".join(self._parts)

    def _length(self, text: str) -> int:
        if not self._is_utf16 or text.isascii() or max(text) <= _LAST_OF_BASIC_PLANE:
            return len(text)
        return len(text.encode("utf-16-le")) // 2


def _storable(text: str, errors: Literal["surrogatepass"] = "surrogatepass") -> str:
    """
    The text itself; lone surrogates, which no encoding takes, are replaced.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", errors).decode("utf-16-le", "replace")
