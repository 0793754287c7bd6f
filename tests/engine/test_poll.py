"""
The poll: the guarantee behind wakes that were lost, and the careful one where none can be sent.
"""

from __future__ import annotations

import pytest

from chokaq_core.domain.events import EventName
from chokaq_core.engine.scans import Poll, wakes_wanted
from chokaq_core.ports import QueueChange, Store
from tests.engine.conftest import OpenRig
from tests.support.engine import Note, RecordedEvents, RecordedWakes, profile_of


@pytest.mark.parametrize(
    "claimable,looking,most,expected",
    [
        (0, 0, 32, 0),
        (1, 0, 32, 1),
        (1, 1, 32, 0),
        (500, 0, 32, 1),
        (501, 0, 32, 2),
        (501, 1, 32, 1),
        (16_000, 0, 32, 32),
        (16_000, 3, 32, 29),
        (1_000_000, 0, 32, 32),
        (1_000_000, 0, 4, 4),
        (10, 40, 32, 0),
    ],
)
def test_one_wake_is_wanted_for_each_500_jobs_less_the_workers_that_are_there(
    claimable: int, looking: int, most: int, expected: int
) -> None:
    assert wakes_wanted(claimable, looking, most) == expected


@pytest.fixture
def wakes() -> RecordedWakes:
    return RecordedWakes()


@pytest.fixture
def events() -> RecordedEvents:
    return RecordedEvents()


@pytest.fixture
def poll(store: Store, wakes: RecordedWakes, events: RecordedEvents) -> Poll:
    return Poll(store, wakes, 32, events)


def test_nothing_due_sends_nothing_and_asks_no_queue(poll: Poll, wakes: RecordedWakes, events: RecordedEvents) -> None:
    wakes.error = ConnectionError("the queue is away")

    assert poll.scan() is True
    assert events.names() == []


@pytest.mark.parametrize("visible,sent", [(0, 1), (1, 0), (5, 0)])
def test_wakes_that_wait_already_are_not_sent_again(
    poll: Poll, wakes: RecordedWakes, open_rig: OpenRig, visible: int, sent: int
) -> None:
    open_rig(profile_of(_succeed)).enqueue(Note())
    wakes.visible = visible

    assert poll.scan() is True
    assert len(wakes.delays) == sent


def test_a_count_that_fails_counts_as_none(poll: Poll, wakes: RecordedWakes, open_rig: OpenRig) -> None:
    class CannotCount(RecordedWakes):
        def waiting(self) -> int:
            raise ConnectionError("no right to look into the queue")

    rig = open_rig(profile_of(_succeed))
    rig.enqueue(Note())
    blind = CannotCount()

    assert Poll(rig.store, blind, 32, RecordedEvents()).scan() is True
    assert blind.delays == [None]


def test_a_paused_queue_with_a_deep_backlog_is_never_polled_for(
    poll: Poll, wakes: RecordedWakes, open_rig: OpenRig
) -> None:
    rig = open_rig(profile_of(_succeed))
    rig.enqueue_many(600)
    rig.store.change_queue("default", QueueChange(is_paused=True))

    for _ in range(10):
        poll.scan()

    assert wakes.delays == []


def test_every_wake_of_enqueues_lost_one_poll_brings_a_worker_for_all_jobs(
    poll: Poll, wakes: RecordedWakes, open_rig: OpenRig
) -> None:
    rig = open_rig(profile_of(_succeed))
    rig.wakes.error = ConnectionError("every wake is lost")
    ids = rig.enqueue_many(20)

    assert poll.scan() is True
    for _ in wakes.delays:
        rig.visit()

    assert len(wakes.delays) == 1
    assert [rig.archived(job_id).attempt for job_id in ids] == [1] * 20


def test_when_no_wake_can_be_sent_at_all_the_poll_says_that_its_caller_must_drain(
    poll: Poll, wakes: RecordedWakes, events: RecordedEvents, open_rig: OpenRig
) -> None:
    rig = open_rig(profile_of(_succeed))
    job_id = rig.enqueue(Note())
    wakes.error = ConnectionError("the queue is away")

    assert poll.scan() is False
    assert [event.name for event in events.of(EventName.NOTIFICATION_FAILED)] == [EventName.NOTIFICATION_FAILED]

    rig.visit()
    assert rig.archived(job_id).attempt == 1


def test_every_wake_doubled_runs_nothing_twice(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(_succeed))
    ids = rig.enqueue_many(50)
    with rig.visiting(), rig.visiting(), rig.visiting(), rig.visiting():
        pass

    assert [rig.archived(job_id).lease_number for job_id in ids] == [1] * 50


def test_a_wake_that_cannot_be_sent_never_fails_the_enqueue(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(_succeed))
    rig.wakes.error = ConnectionError("the queue is away")

    job_id = rig.enqueue(Note())

    assert rig.hot(job_id).attempt == 0
    assert len(rig.events.of(EventName.ENQUEUE_NOTIFICATION_FAILED)) == 1


def _succeed(job: Note) -> None:
    """
    Does nothing.
    """
