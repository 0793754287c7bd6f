"""
An exception as storable text: recording a failure can never fail because of the failure's own text.
"""

from __future__ import annotations

import traceback

from chokaq_core.domain.failures import ErrorFacts
from chokaq_core.policy.secret_text import without_secrets

MAX_TYPE_CHARACTERS = 200
MAX_MESSAGE_CHARACTERS = 2_000
MAX_DETAILS_CHARACTERS = 32_000

_CUT = "\n… cut …\n"


def error_facts(error: BaseException) -> ErrorFacts:
    """
    Type, message and traceback of an exception, cut to fit, with NULs and lone surrogates made visible.

    Operators and producers read it, so values that look like secrets are replaced.
    """
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    return text_facts(kind, _message(error), _traceback(error))


def text_facts(kind: str, message: str, details: str | None = None) -> ErrorFacts:
    """
    The same for an error that never was an exception.
    """
    return ErrorFacts(
        type=_fit(kind, MAX_TYPE_CHARACTERS),
        message=_fit(message, MAX_MESSAGE_CHARACTERS),
        details=_fit(details if details is not None else f"{kind}: {message}", MAX_DETAILS_CHARACTERS),
    )


def storable(text: str) -> str:
    """
    The text with NUL as ␀ and lone surrogates as �, so that every database and UTF-8 take it.
    """
    # Called on `str` itself, since an exception may give text of a class of its own.
    visible = str.replace(text, "\x00", "␀")
    return visible.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _fit(text: str, limit: int) -> str:
    """
    At most `limit` characters, head and tail kept: the tail of a traceback names the error.
    """
    # Before the cut, which could part a secret from its name.
    clean = without_secrets(storable(text))
    if len(clean) <= limit:
        return clean
    keep = limit - len(_CUT)
    if keep < 2 * len(_CUT):
        return clean[:limit]
    return clean[: keep // 2] + _CUT + clean[len(clean) - (keep - keep // 2) :]


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as fault:  # noqa: BLE001 - a broken __str__, even one that exits, must not hide the failure
        return f"<the error's own text could not be made: {type(fault).__name__}>"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException as fault:  # noqa: BLE001 - the same for whatever traceback meets in a foreign exception
        return f"{type(error).__qualname__}: {_message(error)}\n<no traceback: {type(fault).__name__}>"
