from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from chokaq_core.domain.events import Event, EventName
from chokaq_core.telemetry.fan_out import FanOut

EVENT = Event(EventName.WORKER_STARTED)


class Kept:
    def __init__(self) -> None:
        self.batches: list[list[Event]] = []

    def publish(self, events: Sequence[Event]) -> None:
        self.batches.append(list(events))


class Failing:
    def publish(self, events: Sequence[Event]) -> None:
        raise RuntimeError("Pwd=s3cret")


def test_every_sink_gets_every_batch_in_order() -> None:
    one, other = Kept(), Kept()
    fan_out = FanOut(one, other)
    fan_out.publish([EVENT, EVENT])
    fan_out.publish([EVENT])
    assert [len(batch) for batch in one.batches] == [2, 1]
    assert one.batches == other.batches


def test_a_failing_sink_stops_neither_the_others_nor_the_caller() -> None:
    kept = Kept()
    FanOut(Failing(), kept).publish([EVENT])
    assert kept.batches == [[EVENT]]


def test_a_failing_sink_is_told_once_and_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    fan_out = FanOut(Failing())
    for _ in range(3):
        fan_out.publish([EVENT])
    assert [record.getMessage() for record in caplog.records] == [
        "Failing failed with RuntimeError; its events are lost"
    ]
    assert caplog.records[0].levelno == logging.ERROR


def test_an_empty_batch_reaches_nobody() -> None:
    kept = Kept()
    FanOut(kept).publish([])
    assert kept.batches == []
