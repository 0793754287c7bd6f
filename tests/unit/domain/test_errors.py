from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.errors import (
    ChokaQError,
    CommandRefusedError,
    ConfigurationError,
    FatalJobError,
    FieldProblem,
    HandlerSignal,
    InvalidJobError,
    JobCancelledError,
    JobPostponedError,
    KeyConflictError,
    PreviewRejectedError,
    RegistrationError,
    RoleTooSmallError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    ThrottledError,
    TransientJobError,
    UnknownQueueError,
)


@pytest.mark.parametrize(
    "error,parent",
    [
        (InvalidJobError, ChokaQError),
        (KeyConflictError, InvalidJobError),
        (RegistrationError, ChokaQError),
        (ConfigurationError, ChokaQError),
        (StoreError, ChokaQError),
        (StoreUnavailableError, StoreError),
        (StoreRefusedError, StoreError),
        (HandlerSignal, ChokaQError),
        (FatalJobError, HandlerSignal),
        (ThrottledError, HandlerSignal),
        (TransientJobError, HandlerSignal),
        (JobCancelledError, HandlerSignal),
        (JobPostponedError, ChokaQError),
        (CommandRefusedError, ChokaQError),
        (RoleTooSmallError, CommandRefusedError),
        (PreviewRejectedError, CommandRefusedError),
        (UnknownQueueError, CommandRefusedError),
    ],
)
def test_an_error_stands_where_the_tree_draws_it(error: type[Exception], parent: type[Exception]) -> None:
    assert error.__bases__ == (parent,)


def test_a_refused_job_tells_every_field_and_rule() -> None:
    error = InvalidJobError([FieldProblem("queue", "must be short"), FieldProblem("payload.amount", "must be paid")])
    assert str(error) == "queue: must be short; payload.amount: must be paid"
    assert [problem.code for problem in error.problems] == ["invalid", "invalid"]


def test_a_key_conflict_names_the_first_job() -> None:
    error = KeyConflictError("job-1")
    assert error.first_id == "job-1"
    assert [(problem.field, problem.code) for problem in error.problems] == [("idempotency_key", "key_conflict")]
    assert "held by active job job-1" in str(error)


def test_invalid_settings_are_counted_and_listed() -> None:
    error = ConfigurationError(["Retry.MaxAttempts: must be at least 1", "Retry.MaxDelay: must be positive"])
    assert str(error) == (
        "2 invalid setting(s):\n  - Retry.MaxAttempts: must be at least 1\n  - Retry.MaxDelay: must be positive"
    )


def test_throttling_may_name_the_wait() -> None:
    assert ThrottledError("busy", timedelta(seconds=30)).retry_after == timedelta(seconds=30)
    assert ThrottledError().retry_after is None


def test_a_postponement_carries_its_delay() -> None:
    error = JobPostponedError("claimed elsewhere", timedelta(seconds=5))
    assert (str(error), error.delay) == ("claimed elsewhere", timedelta(seconds=5))


def test_a_job_with_very_many_problems_tells_the_first_and_how_many_more() -> None:
    problems = [FieldProblem(f"payload.items.{number}", "must be text") for number in range(250)]
    error = InvalidJobError(iter(problems))
    assert error.problems[:100] == tuple(problems[:100])
    assert error.problems[100:] == (FieldProblem("payload", "and 150 more like these"),)
    assert str(error).endswith("; payload.items.99: must be text; payload: and 150 more like these")


def test_a_job_with_as_many_problems_as_are_told_tells_them_all() -> None:
    problems = [FieldProblem("payload", str(number), "too_large") for number in range(100)]
    assert InvalidJobError(problems).problems == tuple(problems)
    assert {problem.code for problem in InvalidJobError([*problems, problems[0]]).problems} == {"too_large"}
