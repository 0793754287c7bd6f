"""
What operators do to queues.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.errors import InvalidJobError, RoleTooSmallError, UnknownQueueError
from chokaq_core.domain.events import EventName
from chokaq_core.ports import QueueChange
from tests.operations.conftest import ANN, READER, Desk


@pytest.mark.parametrize(
    "change,command,target,wakes",
    [
        (QueueChange(is_paused=True), "pause", '{"queue":"default"}', 0),
        (QueueChange(is_paused=False), "resume", '{"queue":"default"}', 1),
        (QueueChange(is_active=True), "activate", '{"queue":"default"}', 1),
        (QueueChange(is_active=False), "deactivate", '{"queue":"default"}', 0),
        (QueueChange(max_workers=3), "limit_workers", '{"queue":"default","max_workers":3}', 1),
        (QueueChange(clear=frozenset({"max_workers"})), "limit_workers", '{"queue":"default","max_workers":null}', 1),
        (
            QueueChange(zombie_timeout=timedelta(seconds=36)),
            "set_zombie_timeout",
            '{"queue":"default","zombie_timeout":"00:00:36"}',
            0,
        ),
        (QueueChange(is_paused=True, is_active=True), "activate+pause", '{"queue":"default"}', 1),
    ],
)
def test_a_change_is_made_written_down_and_told_of(
    desk: Desk, change: QueueChange, command: str, target: str, wakes: int
) -> None:
    row = desk.queues.change("default", change, ANN)

    assert row == desk.stage.queue("default")
    (entry,) = desk.stage.store.operator_log(None, 10)
    assert (entry.actor, entry.command, entry.target, entry.affected) == ("ann", command, target, 1)
    (event,) = desk.events.of(EventName.ADMIN_COMMAND_COMPLETED)
    assert (event.facts["command"], event.facts["actor"]) == (command, "ann")
    assert desk.wakes.count == wakes


@pytest.mark.case("C-054")
@pytest.mark.parametrize(
    "change,field",
    [
        (QueueChange(), "change"),
        (QueueChange(max_workers=0), "max_workers"),
        (QueueChange(max_workers=10_001), "max_workers"),
        (QueueChange(zombie_timeout=timedelta(seconds=35)), "zombie_timeout"),
        (QueueChange(zombie_timeout=timedelta(seconds=36.5)), "zombie_timeout"),
        (QueueChange(zombie_timeout=timedelta(days=366)), "zombie_timeout"),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused(desk: Desk, change: QueueChange, field: str) -> None:
    before = desk.stage.queue("default")

    with pytest.raises(InvalidJobError) as refused:
        desk.queues.change("default", change, ANN)

    assert [problem.field for problem in refused.value.problems] == [field]
    assert desk.stage.queue("default") == before
    assert len(desk.events.of(EventName.ADMIN_COMMAND_REJECTED)) == 1


def test_a_mistyped_queue_is_not_made(desk: Desk) -> None:
    with pytest.raises(UnknownQueueError, match="'defualt'"):
        desk.queues.change("defualt", QueueChange(is_paused=True), ANN)

    assert [row.name for row in desk.stage.store.queues()] == ["default"]


def test_readers_change_nothing(desk: Desk) -> None:
    with pytest.raises(RoleTooSmallError):
        desk.queues.change("default", QueueChange(is_paused=True), READER)

    assert not desk.stage.queue("default").is_paused
