"""
Where a process can be killed: generated from the table of moves, the store's ports and the engine's own steps.

A move or call that is added later has its kill points at once, and fails its tests until the life that is killed
reaches it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from chokaq_core.domain.moves import MOVES, Move
from chokaq_core.engine.execution import Executor
from chokaq_core.engine.heartbeat import Heartbeat
from chokaq_core.engine.idempotency import Idempotency
from chokaq_core.engine.producer import Producer
from chokaq_core.engine.scans import Maintenance, Poll, Pulse, Rescue
from chokaq_core.engine.turns import StoreThread
from chokaq_core.engine.worker import Engine
from chokaq_core.ports import Turn, TurnAnswer
from tests.contract.life import write_calls

HANDLER = "handler"
STEPPING = (Engine, Producer, StoreThread, Executor, Idempotency, Heartbeat, Rescue, Poll, Pulse, Maintenance)
"""Whose methods are the engine's steps."""

MOVES_OF_CALLS = {
    "enqueue": {Move.ENQUEUE},
    "beat": {Move.BEAT},
    "recover": {Move.RECOVER},
    "bury": {Move.BURY},
    "cancel": {Move.CANCEL},
    "resurrect": {Move.RESURRECT},
    "edit": {Move.EDIT},
    "purge": {Move.PURGE},
}
"""What calls do to jobs; a turn's moves are told by what it carries."""


class Moment(StrEnum):
    """
    Before a step begins; within it, for a call just before its commit; after it, for a call before it is answered.
    """

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class KillPoint:
    """
    One moment of one step.
    """

    step: str
    moment: Moment

    def __str__(self) -> str:
        return f"{self.step}-{self.moment}"


def stored_steps() -> list[str]:
    """
    Every move, and every call that makes no move.
    """
    others = write_calls() - MOVES_OF_CALLS.keys() - {"turn"}
    return [*(f"move.{move}" for move in MOVES), *sorted(f"call.{name}" for name in others)]


def engine_steps() -> list[str]:
    """
    Every method of the classes that carry a job through its life.
    """
    return [f"{cls.__name__}.{name}" for cls in STEPPING for name in step_names(cls)]


def step_names(cls: type) -> Iterator[str]:
    """
    The methods of a class in the order of its text.
    """
    for name, value in vars(cls).items():
        is_method = inspect.isfunction(value) or isinstance(value, staticmethod)
        if is_method and not name.startswith("__"):
            yield name


def stored_points() -> list[KillPoint]:
    """
    Kill points around the store and in the handler: what the database holds differs between any two of them.
    """
    return [KillPoint(step, moment) for step in [HANDLER, *stored_steps()] for moment in Moment]


def engine_points() -> list[KillPoint]:
    """
    Kill points at the engine's steps.
    """
    return [KillPoint(step, moment) for step in engine_steps() for moment in (Moment.BEFORE, Moment.AFTER)]


def steps_of_call(name: str, arguments: tuple[object, ...]) -> set[str]:
    """
    What a call is about to do; a turn with room may claim.
    """
    if name not in write_calls():
        return set()
    if name != "turn":
        return {f"move.{move}" for move in MOVES_OF_CALLS.get(name, ())} or {f"call.{name}"}
    (turn,) = arguments
    assert isinstance(turn, Turn)
    moves = {settlement.move for settlement in turn.settlements}
    moves |= {Move.START} if turn.starts else set()
    moves |= {Move.CLAIM} if turn.want + turn.prefetch else set()
    return {f"move.{move}" for move in moves}


def steps_of_answer(name: str, arguments: tuple[object, ...], answer: object) -> set[str]:
    """
    What a call has done; a turn that found nothing did not claim.
    """
    steps = steps_of_call(name, arguments)
    if isinstance(answer, TurnAnswer) and not answer.claimed:
        steps.discard(f"move.{Move.CLAIM}")
    return steps
