"""
Commands on a store in memory, with ears for what they tell and whom they wake.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from chokaq_core.contracts import Job
from chokaq_core.domain.access import Actor, Role
from chokaq_core.operations.commands import Ids, JobCommand, Verb
from chokaq_core.operations.job_commands import JobCommands
from chokaq_core.operations.queue_commands import QueueCommands
from chokaq_core.operations.results import CommandResult, SetChanged
from chokaq_core.operations.seals import Seals
from chokaq_core.policy.envelope import EnvelopeLimits
from chokaq_core.ports import Edit
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.stages import SECOND, Stage
from tests.support.clock import SteppedClock
from tests.support.engine import Note, RecordedEvents, Setup, build_rig, profile_of

ANN = Actor("ann", Role.OPERATE)
READER = Actor("rob", Role.READ)
MAX_PAYLOAD_BYTES = 100
WORDY = "test.wordy.v1"


class Wordy(Job):
    """
    A payload whose default alone is over the limit.
    """

    text: str = "x" * MAX_PAYLOAD_BYTES


@dataclass
class Wakes:
    """
    Counts how often somebody was woken.
    """

    count: int = 0

    def wake(self) -> None:
        self.count += 1


@dataclass
class Desk:
    """
    The commands, and what they work on.
    """

    stage: Stage
    commands: JobCommands
    queues: QueueCommands
    events: RecordedEvents
    wakes: Wakes = field(default_factory=Wakes)

    def run(self, verb: Verb, *ids: str, **edit: object) -> CommandResult:
        """
        Carries a command out for ids.
        """
        result = self.commands.run(JobCommand(verb, Ids(ids), Edit(**edit)), ANN)  # type: ignore[arg-type]
        assert not isinstance(result, SetChanged)
        return result


@pytest.fixture
def desk() -> Iterator[Desk]:
    """
    Commands on an empty store whose clock stands still; type `test.note.v1` takes `{"text": …}`.
    """
    clock = SteppedClock()

    def handle(job: Note) -> None:
        """
        Does nothing.
        """

    def handle_wordy(job: Wordy) -> None:
        """
        Does nothing.
        """

    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        profiles = [profile_of(handle), profile_of(handle_wordy, WORDY, job_type=Wordy)]
        setup = Setup(envelope=EnvelopeLimits(max_payload_bytes=MAX_PAYLOAD_BYTES))
        producer = build_rig(store, profiles, setup).engine.producer
        events, wakes = RecordedEvents(), Wakes()
        commands = JobCommands(store, events, Seals(b"k" * 32), check_payload=producer.stored_text, wake=wakes.wake)
        queues = QueueCommands(store, events, longest_beat=12 * SECOND, wake=wakes.wake)
        yield Desk(Stage(store, clock), commands, queues, events, wakes)
