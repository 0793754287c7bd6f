from __future__ import annotations

import asyncio
import json

import pytest

from chokaq_core.domain.errors import FatalJobError, JobCancelledError, ThrottledError, TransientJobError
from chokaq_core.domain.failures import FailureKind
from chokaq_core.policy.classify import ErrorRules, failure_kind


class UpstreamRefusedError(ConnectionError):
    pass


class BadInvoiceError(FatalJobError):
    pass


class SlowDownError(ThrottledError):
    pass


class FlakyValueError(TransientJobError, ValueError):
    pass


class Boom(BaseException):
    pass


UNDECODABLE = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
NOT_JSON = json.JSONDecodeError("Expecting value", "", 0)


@pytest.mark.parametrize(
    "error",
    [
        TypeError(),
        ValueError(),
        AttributeError(),
        NameError(),
        NotImplementedError(),
        ImportError(),
        SyntaxError(),
        AssertionError(),
    ],
    ids=repr,
)
def test_a_programming_error_is_fatal(error: Exception) -> None:
    assert failure_kind(error) is FailureKind.FATAL


@pytest.mark.parametrize(
    "error",
    [NOT_JSON, UNDECODABLE, UnboundLocalError(), ModuleNotFoundError(), IndentationError()],
    ids=lambda error: type(error).__name__,
)
def test_a_subclass_of_a_programming_error_is_fatal(error: Exception) -> None:
    assert failure_kind(error) is FailureKind.FATAL


@pytest.mark.parametrize(
    "error",
    [RuntimeError(), OSError(), ConnectionResetError(), TimeoutError(), KeyError(), ZeroDivisionError(), MemoryError()],
    ids=repr,
)
def test_an_error_of_the_moment_is_transient(error: Exception) -> None:
    assert failure_kind(error) is FailureKind.TRANSIENT


@pytest.mark.case("C-013")
@pytest.mark.parametrize(
    "error",
    [SystemExit(1), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), Boom()],
    ids=repr,
)
def test_what_would_end_a_process_is_a_transient_failure_of_its_job(error: BaseException) -> None:
    assert failure_kind(error) is FailureKind.TRANSIENT


def test_a_group_of_errors_is_transient() -> None:
    assert failure_kind(ExceptionGroup("two at once", [ValueError(), OSError()])) is FailureKind.TRANSIENT


@pytest.mark.parametrize(
    "error,kind",
    [
        (FatalJobError("no such customer"), FailureKind.FATAL),
        (BadInvoiceError(), FailureKind.FATAL),
        (TransientJobError("locked"), FailureKind.TRANSIENT),
        (FlakyValueError(), FailureKind.TRANSIENT),
        (ThrottledError(), FailureKind.THROTTLED),
        (SlowDownError(), FailureKind.THROTTLED),
        (JobCancelledError(), FailureKind.TRANSIENT),
    ],
    ids=repr,
)
def test_a_handler_names_the_kind_by_the_error_it_raises(error: Exception, kind: FailureKind) -> None:
    assert failure_kind(error) is kind


def test_a_registration_adds_a_fatal_type() -> None:
    rules = ErrorRules(fatal=(ConnectionError,))
    assert failure_kind(UpstreamRefusedError(), rules) is FailureKind.FATAL
    assert failure_kind(OSError(), rules) is FailureKind.TRANSIENT


def test_a_registration_takes_a_type_out_of_the_programming_errors() -> None:
    rules = ErrorRules(transient=(ValueError,))
    assert failure_kind(NOT_JSON, rules) is FailureKind.TRANSIENT
    assert failure_kind(TypeError(), rules) is FailureKind.FATAL


def test_the_more_specific_rule_wins() -> None:
    rules = ErrorRules(fatal=(OSError, json.JSONDecodeError), transient=(ConnectionError, ValueError))
    assert failure_kind(UpstreamRefusedError(), rules) is FailureKind.TRANSIENT
    assert failure_kind(PermissionError(), rules) is FailureKind.FATAL
    assert failure_kind(NOT_JSON, rules) is FailureKind.FATAL
    assert failure_kind(UNDECODABLE, rules) is FailureKind.TRANSIENT


def test_a_type_named_both_fatal_and_transient_is_fatal() -> None:
    rules = ErrorRules(fatal=(KeyError,), transient=(KeyError,))
    assert failure_kind(KeyError(), rules) is FailureKind.FATAL


def test_a_registration_can_make_the_end_of_a_process_fatal() -> None:
    assert failure_kind(SystemExit(2), ErrorRules(fatal=(SystemExit,))) is FailureKind.FATAL


def test_a_registration_can_make_throttling_fatal() -> None:
    assert failure_kind(SlowDownError(), ErrorRules(fatal=(ThrottledError,))) is FailureKind.FATAL
