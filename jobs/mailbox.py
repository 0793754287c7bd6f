"""
Reads the addresses of e-mails.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.headerregistry import Address

MAX_MAILBOX_CHARACTERS = 500
MAX_ADDRESS_CHARACTERS = 254
"""RFC 5321, 4.5.3.1.3: a path has at most 256 octets, two of them the angle brackets."""
MAX_LOCAL_PART_CHARACTERS = 64
"""RFC 5321, 4.5.3.1.1."""

_MAILBOX = re.compile(r"(?P<name>[^<>]*)<(?P<inner>[^<>]+)>|(?P<bare>[^<>]+)")
_LOCAL_PART = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*", re.ASCII)
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"localhost|{_LABEL}(\.{_LABEL})+")
_BREAKING_CATEGORIES = frozenset({"Cc", "Zl", "Zp"})


def parse_mailbox(text: str) -> Address:
    """
    The mailbox that `ada@example.org` or `Ada Lovelace <ada@example.org>` names.

    Stricter than RFC 5322: no quoted local parts, no comments, no address literals, and ASCII only, so that every
    mail server takes it. An international domain is written in its `xn--` form.

    Raises:
        ValueError: it names none.
    """
    from email.headerregistry import Address  # noqa: PLC0415 - it takes 5 ms, which no start of the app waits for

    mailbox = _MAILBOX.fullmatch(one_line(text).strip()) if len(text) <= MAX_MAILBOX_CHARACTERS else None
    address = (mailbox["inner"] or mailbox["bare"]).strip() if mailbox is not None else ""
    if mailbox is None or not _is_address(address):
        raise ValueError(f"{text[:MAX_MAILBOX_CHARACTERS]!r} is not an e-mail address such as ada@example.org")
    return Address((mailbox["name"] or "").strip().strip('"'), addr_spec=address)


def one_line(text: str) -> str:
    """
    The text as it is.

    Raises:
        ValueError: it holds a line break or another control character, with which a caller could smuggle in headers.
    """
    if any(unicodedata.category(character) in _BREAKING_CATEGORIES for character in text):
        raise ValueError("must not contain line breaks or control characters")
    return text


def _is_address(text: str) -> bool:
    local_part, _, domain = text.rpartition("@")
    fits = len(text) <= MAX_ADDRESS_CHARACTERS and len(local_part) <= MAX_LOCAL_PART_CHARACTERS
    return fits and _LOCAL_PART.fullmatch(local_part) is not None and _DOMAIN.fullmatch(domain) is not None
