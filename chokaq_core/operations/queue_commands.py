"""
The controls of queues: pause, resume, activate, deactivate, and limits.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from chokaq_core.domain.durations import format_duration
from chokaq_core.domain.errors import FieldProblem, InvalidJobError, UnknownQueueError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.job import Status
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.operations.telling import require_operator, telling_of_refusal
from chokaq_core.policy.circuit import permits_released
from chokaq_core.policy.queues import control_problems
from chokaq_core.ports import MAX_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from chokaq_core.domain.access import Actor
    from chokaq_core.ports import Events, OperatorStore, QueueChange, QueueRow

COMMAND = "change_queue"


class QueueCommands:
    """
    The commands of operators to queues. Safe to use from any thread.

    Args:
        longest_beat: between two heartbeats; a zombie timeout is at least three times as long.
        wake: sees to it that somebody looks for work soon.
    """

    def __init__(
        self, store: OperatorStore, events: Events, *, longest_beat: timedelta, wake: Callable[[], object]
    ) -> None:
        self._store = store
        self._events = events
        self._longest_beat = longest_beat
        self._wake = wake

    def change(self, name: str, change: QueueChange, actor: Actor) -> QueueRow:
        """
        Sets controls of a queue that exists; pausing gives back what was fetched, running work goes on.

        Raises:
            RoleTooSmallError: the person may not do this.
            InvalidJobError: a value breaks a rule, or none is given.
            UnknownQueueError: no job was ever enqueued to such a queue.
        """
        with telling_of_refusal(self._events, COMMAND, actor):
            require_operator(actor)
            self._check(name, change)
        command = "+".join(_words(change))
        target = _target(name, change)
        released = self._permits_held_in(name) if change.is_paused or change.is_active is False else []
        row = self._store.change_queue(name, change, LogNote(actor.name, command, target))
        if change.is_paused is False or change.is_active or change.max_workers is not None or change.clear:
            self._wake()
        facts = {"command": command, "actor": actor.name, "target": target, "affected": 1, "outcome": "1 changed"}
        self._events.publish([Event(EventName.ADMIN_COMMAND_COMPLETED, facts=facts), *released])
        return row

    def _permits_held_in(self, name: str) -> list[Event]:
        """
        What there is to tell of circuits when the queue's fetched jobs are given back.
        """
        circuits = self._store.circuits()
        probes = [circuit.probe_job_id for circuit in circuits if circuit.probe_job_id is not None]
        jobs = self._store.look_up(probes[:MAX_BATCH]).values() if probes else ()
        fetched = [job.id for job in jobs if job.queue == name and job.status is Status.FETCHED]
        return permits_released(circuits, fetched)

    def _check(self, name: str, change: QueueChange) -> None:
        problems = list(control_problems(change.max_workers, change.zombie_timeout, self._longest_beat))
        if not list(_words(change)):
            problems.append(FieldProblem("change", "name at least one control and its new value"))
        if problems:
            raise InvalidJobError(problems)
        if name not in {row.name for row in self._store.queues()}:
            raise UnknownQueueError(f"there is no queue {name[:60]!a}; a queue appears with its first job")


def _words(change: QueueChange) -> Iterator[str]:
    """
    What a change is called in the operator log.
    """
    if change.is_active is not None:
        yield "activate" if change.is_active else "deactivate"
    if change.is_paused is not None:
        yield "pause" if change.is_paused else "resume"
    if change.max_workers is not None or "max_workers" in change.clear:
        yield "limit_workers"
    if change.zombie_timeout is not None or "zombie_timeout" in change.clear:
        yield "set_zombie_timeout"


def _target(name: str, change: QueueChange) -> str:
    target: dict[str, object] = {"queue": name}
    if change.max_workers is not None:
        target["max_workers"] = change.max_workers
    if change.zombie_timeout is not None:
        target["zombie_timeout"] = format_duration(change.zombie_timeout)
    target |= dict.fromkeys(sorted(change.clear))
    return json.dumps(target, separators=(",", ":"))
