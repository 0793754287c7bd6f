"""
Foreign values as safe text: on one line, of bounded length, without secrets, and never raising.
"""

from __future__ import annotations

import json
import math
import re
import traceback
from pathlib import PurePath

from chokaq_core.policy.secret_text import SECRETS, without_secrets

MAX_TEXT = 1_000
MAX_ITEMS = 50
MAX_DEPTH = 4
MAX_FRAMES = 6
MAX_CAUSES = 5

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

# Whatever could break a line, hide text or fail to be encoded: controls, separators, text direction, lone surrogates.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

_NAMES = rf"{SECRETS}|uid|user\ ?id|user\ ?name|server|addr|address|data\ source|network\ address"
"""What stays out of a log: users and servers too, since it is read by many."""


def one_line_json(value: object) -> str:
    """
    A `plain` value as JSON on one line.
    """
    return escaped(_ENCODER.encode(value))


def safe_text(value: object) -> str:
    """
    A value's text on one line, cut and with secrets masked.
    """
    return escaped(shown(value))


def escaped(text: str) -> str:
    """
    The text with all that could end a line, hide a part of it or command a terminal spelled out.
    """
    return _UNSAFE.sub(_escape, text)


def plain(value: object, depth: int = 0) -> object:
    """
    The value as JSON takes it; strings are masked and cut, collections are cut, anything else becomes its text.
    """
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return value
    if kind is float:
        return value if math.isfinite(value) else str(value)  # type: ignore[arg-type]
    if depth < MAX_DEPTH and kind in {list, tuple}:
        return [plain(item, depth + 1) for item in value[:MAX_ITEMS]]  # type: ignore[index]
    if depth < MAX_DEPTH and kind is dict:
        items = list(value.items())[:MAX_ITEMS]  # type: ignore[attr-defined]
        return {shown(key): plain(item, depth + 1) for key, item in items}
    return shown(value)


def shown(value: object) -> str:
    """
    A value's text, cut and with secrets masked, for a place that escapes what could break a line.
    """
    # Cut twice: an endless text costs no more than its beginning, and a secret is masked before it can be cut in two.
    return masked(_text(value)[: 4 * MAX_TEXT])[:MAX_TEXT]


def masked(text: str) -> str:
    """
    The text with the values of passwords, keys, tokens, users and servers replaced.
    """
    return without_secrets(text, _NAMES)


def error_fields(error: BaseException) -> dict[str, object]:
    """
    What a log line says of an exception: its type, its message, where it came from, and the types that caused it.

    A formatted traceback would quote the driver's own words, which may hold a server's name or worse.
    """
    fields: dict[str, object] = {"error_type": type(error).__qualname__, "error": shown(error)}
    if frames := _frames(error):
        fields["error_at"] = frames
    if causes := _causes(error):
        fields["caused_by"] = causes
    return fields


def _text(value: object) -> str:
    try:
        return str.__str__(str(value))
    except BaseException as fault:  # noqa: BLE001 - a __str__ that exits must not end the thread that reports
        return f"<{type(value).__qualname__} without text: {type(fault).__qualname__}>"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _frames(error: BaseException) -> list[str]:
    """
    The innermost places of the traceback, innermost last.
    """
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:] if error.__traceback__ is not None else []
    return [f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]


def _causes(error: BaseException) -> list[str]:
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < MAX_CAUSES:
        causes.append(type(cause).__qualname__)
        cause = cause.__cause__ or cause.__context__
    return causes
