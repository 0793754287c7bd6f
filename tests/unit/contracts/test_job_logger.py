from __future__ import annotations

import logging
from typing import Any

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.contracts.context import JobLogger
from tests.support.run_control import Control

IDS = "[job_id=job-1 type=a%sb%(c)d queue=pdf attempt=2]"


@pytest.fixture
def logger(caplog: pytest.LogCaptureFixture) -> JobLogger:
    caplog.set_level(logging.INFO, logger="chokaq.job")
    return JobContext(Control(), job_id="job-1", type_key="a%sb%(c)d", queue="pdf", attempt=2, created_by=None).logger


@pytest.mark.parametrize(
    "message,args,text",
    [
        ("plain", (), f"plain {IDS}"),
        ("100% done", (), f"100% done {IDS}"),
        ("%s of %d", ("one", 9), f"one of 9 {IDS}"),
        ("100%% of %s", ("it",), f"100% of it {IDS}"),
        ("%(name)s", ({"name": "anna"},), f"anna {IDS}"),
        (ValueError("odd"), (), f"odd {IDS}"),
    ],
)
def test_a_line_carries_the_ids_of_the_job_as_text(
    logger: JobLogger, caplog: pytest.LogCaptureFixture, message: object, args: tuple[object, ...], text: str
) -> None:
    logger.info(message, *args)
    assert caplog.messages == [text]


def test_a_line_carries_the_ids_of_the_job_as_fields_too(logger: JobLogger, caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("slow", extra={"seconds": 7})
    facts: dict[str, Any] = vars(caplog.records[0])
    found = {name: facts[name] for name in ("job_id", "type", "queue", "attempt", "seconds")}
    assert found == {"job_id": "job-1", "type": "a%sb%(c)d", "queue": "pdf", "attempt": 2, "seconds": 7}


def test_a_line_may_say_that_it_has_no_further_fields(logger: JobLogger, caplog: pytest.LogCaptureFixture) -> None:
    logger.info("plain", extra=None)
    assert caplog.messages == [f"plain {IDS}"]


def test_a_line_below_the_level_is_not_written(logger: JobLogger, caplog: pytest.LogCaptureFixture) -> None:
    logger.debug("%s", "detail")
    assert caplog.messages == []


def test_a_line_names_the_place_it_was_written_at(logger: JobLogger, caplog: pytest.LogCaptureFixture) -> None:
    def warn() -> None:
        logger.info("from the caller's place", stacklevel=2)

    logger.info("from here")
    logger.log(logging.INFO, "from here")
    warn()
    here = "test_a_line_names_the_place_it_was_written_at"
    assert [record.funcName for record in caplog.records] == [here, here, here]
    assert {record.filename for record in caplog.records} == {"test_job_logger.py"}


def test_an_exception_is_logged_with_its_traceback(logger: JobLogger, caplog: pytest.LogCaptureFixture) -> None:
    try:
        int("seven")
    except ValueError:
        logger.exception("row %d", 7)
    assert caplog.messages == [f"row 7 {IDS}"]
    assert "ValueError: invalid literal" in caplog.text


def test_a_line_that_cannot_be_put_together_does_not_fail_the_job(
    logger: JobLogger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logger.logger, "handlers", [logging.StreamHandler()])
    monkeypatch.setattr(logger.logger, "propagate", False)
    logger.info("%d rows", "seven")
    assert "--- Logging error ---" in capsys.readouterr().err


def test_the_logger_is_made_once() -> None:
    ctx = JobContext(Control(), job_id="j", type_key="t", queue="q", attempt=1, created_by=None)
    assert ctx.logger is ctx.logger
