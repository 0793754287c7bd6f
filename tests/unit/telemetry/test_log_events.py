from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.telemetry.log_events import LogEvents

JOB = JobRef("job-1", "email.send.v1", "mail", attempt=2, worker_id="host:1:ab")


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.all: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.all.append(record)


class FailingHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("the disk is full")


class Exits:
    def __str__(self) -> str:
        raise SystemExit


class Unreadable(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("chokaq", logging.DEBUG)  # noqa: LOG001 - one that no other test shares
    logger.addHandler(Records())
    return logger


def written(logger: logging.Logger, *events: Event) -> list[logging.LogRecord]:
    LogEvents(logger).publish(events)
    records = logger.handlers[0]
    assert isinstance(records, Records)
    return records.all


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    text, _, fields = record.getMessage().partition(" {")
    assert text
    parsed = json.loads("{" + fields)
    assert isinstance(parsed, dict)
    return parsed


def test_a_line_is_a_sentence_and_one_json_object(logger: logging.Logger) -> None:
    facts = {"delay_s": 3.2, "error_type": "OSError"}
    (record,) = written(logger, Event(EventName.JOB_TRANSIENT_RETRY_SCHEDULED, JOB, facts))
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (
        'Job failed and will be retried {"event_id":2022,"event":"JobTransientRetryScheduled","job_id":"job-1",'
        '"type":"email.send.v1","queue":"mail","attempt":2,"worker_id":"host:1:ab","delay_s":3.2,'
        '"error_type":"OSError"}'
    )


def test_the_fields_are_attributes_of_the_record_too(logger: logging.Logger) -> None:
    event = Event(EventName.JOB_TRANSIENT_RETRY_SCHEDULED, JOB, {"delay_s": 3.2, "name": "x", "list": [1, 2]})
    (record,) = written(logger, event)
    attributes = {key: value for key, value in vars(record).items() if key.startswith("chokaq.")}
    assert attributes == {
        "chokaq.event_id": 2022,
        "chokaq.event": "JobTransientRetryScheduled",
        "chokaq.job_id": "job-1",
        "chokaq.type": "email.send.v1",
        "chokaq.queue": "mail",
        "chokaq.attempt": 2,
        "chokaq.worker_id": "host:1:ab",
        "chokaq.delay_s": 3.2,
        "chokaq.name": "x",
        "chokaq.list": "[1,2]",
    }
    assert record.name == "chokaq"


def test_an_event_without_a_job_has_no_fields_of_one(logger: logging.Logger) -> None:
    (record,) = written(logger, Event(EventName.WORKER_STARTED, facts={"worker_id": "w", "capacity": 16}))
    assert fields_of(record) == {"event_id": 1000, "event": "WorkerStarted", "worker_id": "w", "capacity": 16}


def test_facts_never_replace_what_the_event_is_about(logger: logging.Logger) -> None:
    facts = {"event_id": 1, "event": "x", "job_id": "other", "queue": "other"}
    (record,) = written(logger, Event(EventName.JOB_STARTED, JOB, facts))
    fields = fields_of(record)
    assert (fields["event_id"], fields["event"]) == (2011, "JobStarted")
    assert (fields["job_id"], fields["queue"]) == ("job-1", "mail")


@pytest.mark.case("C-062")
def test_an_error_is_told_on_the_line_without_what_the_driver_quotes(logger: logging.Logger) -> None:
    driver_error = RuntimeError("Login failed; Server=tcp:db.example.net;Uid=app;Pwd=s3cret;")
    error = StoreUnavailableError("the store is away: Server=tcp:db.example.net;Pwd=s3cret")
    error.__cause__ = driver_error
    (record,) = written(logger, Event(EventName.WORKER_LOOP_CRASHED, facts={"failures": 1}, error=error))
    assert record.levelno == logging.ERROR
    assert record.exc_info is None
    fields = fields_of(record)
    assert fields["error_type"] == "StoreUnavailableError"
    assert fields["error"] == "the store is away: Server=***;Pwd=***"
    assert fields["caused_by"] == ["RuntimeError"]
    assert "s3cret" not in str(vars(record))
    assert "example.net" not in str(vars(record))


def test_what_is_not_enabled_is_not_written(logger: logging.Logger) -> None:
    logger.setLevel(logging.WARNING)
    started, failed = Event(EventName.JOB_STARTED, JOB), Event(EventName.JOB_RETRIES_EXHAUSTED_DLQ, JOB)
    idle, cancelled = Event(EventName.ZOMBIE_RESCUE_STARTED), Event(EventName.JOB_TIMED_OUT_OR_CANCELLED, JOB)
    records = written(logger, started, failed, idle, cancelled)
    assert [fields_of(record)["event_id"] for record in records] == [2023, 2005]


def test_what_is_not_enabled_is_not_even_looked_at(logger: logging.Logger) -> None:
    logger.setLevel(logging.INFO)
    assert written(logger, Event(EventName.JOB_STARTED, JOB, Unreadable())) == []


def test_a_message_with_percent_signs_and_braces_is_left_alone(logger: logging.Logger) -> None:
    (record,) = written(logger, Event(EventName.WAKE_MALFORMED, facts={"text": "100 %s {0} %(x)d"}))
    assert fields_of(record)["text"] == "100 %s {0} %(x)d"


@pytest.mark.parametrize(
    "event",
    [
        Event(EventName.WORKER_STARTED, facts={"a": Exits()}),
        Event(EventName.WORKER_STARTED, facts={"a\nb": "c\nd"}),
        Event(EventName.WORKER_STARTED, JobRef("x\ny", "\ud800", "\u2028")),
        Event(EventName.WORKER_STARTED, JobRef(Exits(), Exits(), Exits())),  # type: ignore[arg-type]
        Event(EventName.WORKER_STARTED, error=RuntimeError(Exits())),
        Event(EventName.WORKER_STARTED, error=KeyError("\n")),
    ],
)
def test_hostile_values_give_one_line(logger: logging.Logger, event: Event) -> None:
    (record,) = written(logger, event)
    assert len(record.getMessage().splitlines()) == 1
    assert record.getMessage().encode()
    assert fields_of(record)["event_id"] == 1000


def test_facts_that_cannot_be_read_lose_their_line_only(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    records = written(logger, Event(EventName.WORKER_STARTED, facts=Unreadable()), Event(EventName.WORKER_STOPPED))
    assert [fields_of(record)["event_id"] for record in records] == [1001]
    assert capsys.readouterr().err == "chokaq: the line of event 1000 was lost: RuntimeError\n"


def test_a_handler_of_the_host_that_fails_stops_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("chokaq", logging.DEBUG)  # noqa: LOG001 - one that no other test shares
    logger.addHandler(FailingHandler())
    LogEvents(logger).publish([Event(EventName.WORKER_STARTED), Event(EventName.WORKER_STOPPED)])
    assert capsys.readouterr().err.count("was lost: OSError") == 2


def test_the_usual_logger_is_chokaq(caplog: pytest.LogCaptureFixture) -> None:
    LogEvents().publish([Event(EventName.JOB_RETRIES_EXHAUSTED_DLQ, JOB)])
    assert [record.name for record in caplog.records] == ["chokaq"]
