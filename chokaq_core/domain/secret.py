"""
A text that is never shown.
"""

from __future__ import annotations

import hmac

MASK = "***"


class Secret:
    """
    Holds a password or a key; printing, formatting or logging it, alone or inside another value, shows `***`.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return self.matches(other.reveal()) if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __len__(self) -> int:
        return len(self._text)

    def reveal(self) -> str:
        """
        The text itself, for the one place that sends it where it belongs.
        """
        return self._text

    def matches(self, given: str) -> bool:
        """
        Whether the given text is the secret, in a time that does not tell how much of it was right.
        """
        return hmac.compare_digest(self._text.encode("utf-8", "surrogatepass"), given.encode("utf-8", "surrogatepass"))
