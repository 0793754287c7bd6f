from __future__ import annotations

import logging
from typing import Any

import pytest

from chokaq_core.domain.events import EventName
from chokaq_core.telemetry.wording import WORDING, wording_of


@pytest.mark.parametrize("name", EventName, ids=lambda name: name.title)
def test_every_event_has_words_and_a_level(name: EventName) -> None:
    wording = wording_of(name, {})
    assert wording.text.strip()
    assert wording.level in {logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR}


def test_the_table_has_no_words_for_events_that_do_not_exist() -> None:
    assert set(WORDING) == set(EventName)


def test_no_two_events_say_the_same() -> None:
    texts = [wording_of(name, {}).text for name in EventName]
    assert sorted(texts) == sorted(set(texts))


@pytest.mark.parametrize(
    "name", [EventName.JOB_ENQUEUED, EventName.JOB_STARTED, EventName.JOB_SUCCEEDED_ARCHIVED], ids=lambda n: n.title
)
def test_the_ordinary_life_of_a_job_is_silent_unless_somebody_asks(name: EventName) -> None:
    assert wording_of(name, {}).level == logging.DEBUG


@pytest.mark.parametrize(
    "name,facts,level,word",
    [
        (EventName.JOB_TIMED_OUT_OR_CANCELLED, {"reason": "Timeout"}, logging.ERROR, "timeout"),
        (EventName.JOB_TIMED_OUT_OR_CANCELLED, {"reason": "Cancelled"}, logging.INFO, "cancelled"),
        (EventName.JOB_FATAL_ERROR_DLQ, {"reason": "FatalError"}, logging.ERROR, "no retry can mend"),
        (EventName.JOB_FATAL_ERROR_DLQ, {"reason": "Rejected"}, logging.ERROR, "before its handler ran"),
        (EventName.ZOMBIE_RESCUE_STARTED, {"recovered": 0, "buried": 0}, logging.DEBUG, "nothing to do"),
        (EventName.ZOMBIE_RESCUE_STARTED, {"recovered": 1, "buried": 0}, logging.INFO, "moved jobs"),
        (EventName.ZOMBIE_RESCUE_STARTED, {"recovered": 0, "buried": 2}, logging.INFO, "moved jobs"),
        (EventName.STORE_CHOSEN, {"is_durable": True}, logging.INFO, "Store chosen"),
        (EventName.STORE_CHOSEN, {"is_durable": False}, logging.WARNING, "in memory"),
        (EventName.CIRCUIT_CHANGED, {"change": "opened"}, logging.ERROR, "opened"),
        (EventName.CIRCUIT_CHANGED, {"change": "closed"}, logging.INFO, "closed"),
        (EventName.CIRCUIT_CHANGED, {"change": "probe_acquired"}, logging.INFO, "changed"),
        (EventName.IDEMPOTENCY_CLAIM_ANSWERED, {"claim": "claimed"}, logging.DEBUG, "answered"),
        (EventName.IDEMPOTENCY_CLAIM_ANSWERED, {"claim": "complete_conflict"}, logging.WARNING, "twice"),
    ],
)
def test_facts_decide_where_one_event_stands_for_two_situations(
    name: EventName, facts: dict[str, Any], level: int, word: str
) -> None:
    wording = wording_of(name, facts)
    assert wording.level == level
    assert word in wording.text
