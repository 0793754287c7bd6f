"""
What an exception means for the next attempt.
"""

from __future__ import annotations

from chokaq_core.domain.errors import FatalJobError, ThrottledError, TransientJobError
from chokaq_core.domain.failures import FailureKind
from chokaq_core.domain.value import Value

PROGRAMMING_ERRORS: tuple[type[BaseException], ...] = (
    TypeError,
    ValueError,
    AttributeError,
    NameError,
    NotImplementedError,
    ImportError,
    SyntaxError,
    AssertionError,
)
"""Errors that a retry repeats: the code or the data is wrong, not the moment."""


class ErrorRules(Value):
    """
    A registration's own opinion on exception types; it wins over the defaults, the more specific class over the other.
    """

    fatal: tuple[type[BaseException], ...] = ()
    transient: tuple[type[BaseException], ...] = ()


_NO_RULES = ErrorRules()


def failure_kind(error: BaseException, rules: ErrorRules = _NO_RULES) -> FailureKind:
    """
    Fatal, throttled or transient, by the error's nearest ancestor that a rule names.
    """
    for ancestor in type(error).__mro__:
        if ancestor in rules.fatal or ancestor is FatalJobError:
            return FailureKind.FATAL
        if ancestor in rules.transient or ancestor is TransientJobError:
            return FailureKind.TRANSIENT
        if ancestor is ThrottledError:
            return FailureKind.THROTTLED
        if ancestor in PROGRAMMING_ERRORS:
            return FailureKind.FATAL
    return FailureKind.TRANSIENT
