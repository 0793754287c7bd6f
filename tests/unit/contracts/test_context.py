from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chokaq_core.contracts import Job, JobCancelledError, JobContext
from chokaq_core.domain.job import EnqueueResult
from tests.support.run_control import Control


class FollowUp(Job):
    number: int = 1


def context(control: Control) -> JobContext:
    return JobContext(control, job_id="job-1", type_key="pdf.merge.v1", queue="pdf", attempt=2, created_by="shop")


def test_a_handler_sees_what_the_job_is() -> None:
    ctx = context(Control())
    assert (ctx.job_id, ctx.type_key, ctx.queue, ctx.attempt) == ("job-1", "pdf.merge.v1", "pdf", 2)
    assert (ctx.created_by, ctx.remaining) == ("shop", timedelta(minutes=5))


def test_a_handler_sees_a_cancel_as_soon_as_it_is_there() -> None:
    control = Control()
    ctx = context(control)
    assert ctx.cancelled is False
    control.is_stopping = True
    assert ctx.cancelled is True


def test_a_handler_that_may_go_on_is_not_stopped() -> None:
    control = Control()
    context(control).raise_if_cancelled()
    assert control.progress == []


def test_a_handler_that_shall_stop_is_stopped() -> None:
    with pytest.raises(JobCancelledError, match="job job-1 was told to stop"):
        context(Control(is_stopping=True)).raise_if_cancelled()


@pytest.mark.parametrize(
    "percent,stored",
    [
        (0, 0),
        (49.4, 49),
        (49.6, 50),
        (100, 100),
        (100.4, 100),
        (250, 100),
        (-3, 0),
        (-0.2, 0),
        (10**400, 100),
        (float("inf"), 100),
        (float("-inf"), 0),
        (float("nan"), 0),
    ],
)
def test_progress_is_a_whole_number_from_0_to_100(percent: float, stored: int) -> None:
    control = Control()
    context(control).report_progress(percent)
    assert control.progress == [(stored, None)]
    assert type(control.progress[0][0]) is int


@pytest.mark.parametrize(
    "note,stored",
    [
        ("page 7 of 9", "page 7 of 9"),
        ("", ""),
        ("x" * 400, "x" * 400),
        ("x" * 401, "x" * 400),
        ("é" * 5_000, "é" * 400),
        ("😀" * 200, "😀" * 200),
        ("😀" * 201, "😀" * 200),
        ("x" + "😀" * 200, "x" + "😀" * 199),
        ("page\x007", "page␀7"),
        ("page \ud800", "page �"),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_a_note_is_cut_and_cleaned_to_what_its_column_holds(note: str, stored: str) -> None:
    control = Control()
    context(control).report_progress(50, note)
    assert control.progress == [(50, stored)]


def test_a_job_enqueued_from_a_handler_is_created_by_the_running_job() -> None:
    control, job = Control(), FollowUp()
    assert context(control).enqueue(job) == EnqueueResult("job-2")
    nothing = ["queue", "priority", "delay", "due_at", "idempotency_key", "tags", "job_id"]
    assert control.enqueued == [(job, {**dict.fromkeys(nothing), "created_by": "job:job-1"})]


def test_every_option_of_an_enqueue_reaches_the_producer() -> None:
    control, job = Control(), FollowUp()
    options: dict[str, Any] = {
        "queue": "mail",
        "priority": 70,
        "delay": timedelta(seconds=5),
        "due_at": datetime(2030, 5, 10, tzinfo=UTC),
        "idempotency_key": "order-7731",
        "tags": "vip",
        "created_by": "anna",
        "job_id": "job-3",
    }
    context(control).enqueue(job, **options)
    assert control.enqueued == [(job, options)]
