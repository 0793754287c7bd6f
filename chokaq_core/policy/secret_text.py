"""
Secrets that drivers and SDKs quote in the text of an error: values of passwords, keys and tokens are replaced.
"""

from __future__ import annotations

import re

MASK = "***"

SECRETS = (
    "pwd|password|passphrase|secret|client_?secret|access_?token|token|api_?key|account_?key|sig"
    "|shared_?access_?(?:key|signature)"
)
"""What such a value is called, in connection strings, query strings and arguments."""

# Kept as text: `re` compiles a pattern at its first use, which most processes never come to.
_BEARER = r"\b([Bb]earer\s+)\S+"
_USER_INFO = r"(?<=://)[^/@\s]+(?=@)"


def without_secrets(text: str, names: str = SECRETS) -> str:
    """
    The text with the values of secrets replaced, as far as their names tell.

    Args:
        names: what values to replace are called, as alternatives of a regular expression.
    """
    if "earer" in text:
        text = re.sub(_BEARER, rf"\1{MASK}", text)
    if "=" in text:
        text = re.sub(_assignment(names), rf"\1\2{MASK}", text)
    return re.sub(_USER_INFO, MASK, text) if "://" in text else text


def _assignment(names: str) -> str:
    """
    A name, `=`, and its value: in braces, in quotes, or up to what ends it in a connection string or an address.
    """
    return rf"""(?ix)
        \b({names})(\s*=\s*)(\{{(?:[^}}]|\}}\}})*\}}?|"[^"]*"?|'[^']*'?|[^;,&\s][^;&\r\n]*)"""
