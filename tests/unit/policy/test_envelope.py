from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.job import NewJob
from tests.support.sealing import sealed


def test_a_job_gets_the_defaults_for_what_its_caller_left_out() -> None:
    assert sealed() == NewJob(
        id="fresh-id",
        type_key="invoice.render.v1",
        payload="{}",
        queue="default",
        priority=10,
        delay=None,
        due_at=None,
        idempotency_key=None,
        tags=None,
        created_by=None,
        trace_parent=None,
    )


def test_every_field_that_is_given_reaches_the_sealed_job() -> None:
    job = sealed(
        type_key="email.send.v1",
        payload='{"to":"anna@example.org"}',
        queue="mail",
        priority=70,
        due_at=datetime(2030, 5, 10, 12, tzinfo=UTC),
        idempotency_key="order-7731:mail",
        tags="vip",
        created_by="shop",
        job_id="mail-7731",
        trace_parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    assert job == NewJob(
        id="mail-7731",
        type_key="email.send.v1",
        payload='{"to":"anna@example.org"}',
        queue="mail",
        priority=70,
        delay=None,
        due_at=datetime(2030, 5, 10, 12, tzinfo=UTC),
        idempotency_key="order-7731:mail",
        tags="vip",
        created_by="shop",
        trace_parent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )


def test_all_problems_are_told_at_once_each_with_its_field() -> None:
    with pytest.raises(InvalidJobError) as caught:
        sealed(
            10,
            type_key="",
            payload='"' + "x" * 20 + '"',
            queue="Mail",
            priority=-1,
            delay=timedelta(seconds=-5),
            due_at=datetime(2030, 5, 10),  # noqa: DTZ001 - one of the problems
            idempotency_key=" ",
            tags="x" * 1_001,
            created_by="x" * 101,
            job_id="a b",
            trace_parent="none",
        )
    problems = caught.value.problems
    fields = ["type", "payload", "queue", "priority", "due_at", "delay", "due_at", "idempotency_key", "tags"]
    assert [problem.field for problem in problems] == [*fields, "created_by", "id", "trace_parent"]
    assert {problem.field for problem in problems if problem.code == "too_large"} == {"payload"}
    assert str(caught.value) == "; ".join(str(problem) for problem in problems)
