from __future__ import annotations

from datetime import UTC, datetime

from chokaq_core.domain.events import Event, EventName, JobRef
from chokaq_core.telemetry.recent import RecentEvents

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PAUSED = Event(EventName.ADMIN_COMMAND_COMPLETED, facts={"command": "pause", "actor": "ann"})


def test_an_event_is_kept_with_its_words_its_level_and_its_fields() -> None:
    recent = RecentEvents(now=lambda: NOON)

    recent.publish([Event(EventName.JOB_TIMED_OUT_OR_CANCELLED, JobRef("a", "t", "q"), {"reason": "Timeout"})])

    (event,) = recent.since(0)
    assert (event.number, event.at, event.level) == (1, NOON, "error")
    assert event.text == "Job ran into its timeout and lies in the DLQ"
    assert event.fields == {
        "event_id": 2005,
        "event": "JobTimedOutOrCancelled",
        "job_id": "a",
        "type": "t",
        "queue": "q",
        "reason": "Timeout",
    }


def test_the_ordinary_life_of_jobs_is_left_out() -> None:
    recent = RecentEvents()

    recent.publish(
        [
            Event(EventName.JOB_ENQUEUED),
            Event(EventName.JOB_STARTED),
            Event(EventName.JOB_SUCCEEDED_ARCHIVED),
            Event(EventName.ZOMBIE_RESCUE_STARTED, facts={"recovered": 0, "buried": 0}),
            PAUSED,
        ]
    )

    assert [event.fields["event"] for event in recent.since(0)] == ["AdminCommandCompleted"]


def test_only_the_last_ones_are_kept_and_numbers_go_on() -> None:
    recent = RecentEvents(3)

    recent.publish([PAUSED] * 10)

    assert [event.number for event in recent.since(0)] == [8, 9, 10]
    assert [event.number for event in recent.since(9)] == [10]
    assert recent.since(10) == []


def test_secrets_in_facts_are_masked() -> None:
    recent = RecentEvents()

    recent.publish([Event(EventName.ADMIN_COMMAND_REJECTED, facts={"why": "Password=hunter2;x"})])

    assert recent.since(0)[0].fields["why"] == "Password=***;x"


def test_each_process_has_a_name_of_its_own() -> None:
    assert RecentEvents().process != RecentEvents().process
