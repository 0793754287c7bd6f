"""
The role that commands need, and the events that tell of commands.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from chokaq_core.domain.access import Role
from chokaq_core.domain.errors import CommandRefusedError, InvalidJobError, RoleTooSmallError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.domain.operator_log import tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chokaq_core.domain.access import Actor
    from chokaq_core.operations.results import JobResult
    from chokaq_core.ports import Events

MAX_TOLD_CHARACTERS = 300


def require_operator(actor: Actor) -> None:
    """
    Lets operators pass.

    Raises:
        RoleTooSmallError: anybody else.
    """
    if actor.role < Role.OPERATE:
        raise RoleTooSmallError("this needs the role operate")


@contextmanager
def telling_of_refusal(events: Events, command: str, actor: Actor) -> Iterator[None]:
    """
    Tells of a command that is refused inside of the block.
    """
    try:
        yield
    except (CommandRefusedError, InvalidJobError) as error:
        facts = {"command": str(command), "actor": actor.name, "why": str(error)[:MAX_TOLD_CHARACTERS]}
        events.publish([Event(EventName.ADMIN_COMMAND_REJECTED, facts=facts)])
        raise


def tell_of_command(events: Events, command: str, actor: Actor, target: str, results: Sequence[JobResult]) -> None:
    """
    Tells of a command to jobs that was carried out.
    """
    facts = {
        "command": str(command),
        "actor": actor.name,
        "target": target[:MAX_TOLD_CHARACTERS],
        "affected": sum(result.is_done for result in results),
        "outcome": tally(result.outcome for result in results),
    }
    events.publish([Event(EventName.ADMIN_COMMAND_COMPLETED, facts=facts)])
