"""
What kills a process with signal 9 at a chosen point, from inside.
"""

from __future__ import annotations

import inspect
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, cast

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.ports import Store
from tests.faults.kill_points import STEPPING, KillPoint, Moment, step_names, steps_of_answer, steps_of_call


class Death:
    """
    Waits at one point, for the nth time that the process comes by.

    Args:
        at: where; None lets the process live, and only keeps what it came by.
        number: which time, counted from 1.
        statement: which statement of the call to die before, at its commit at the latest; None means the commit.
    """

    def __init__(self, at: KillPoint | None, number: int = 1, statement: int | None = None) -> None:
        self.met: Counter[KillPoint] = Counter()
        self._at = at
        self._number = number
        self._statement = statement
        self._lock = threading.Lock()
        self._call = threading.local()

    def come_by(self, step: str, moment: Moment) -> None:
        """
        Dies here, if it is the time and the place.
        """
        point = KillPoint(step, moment)
        with self._lock:
            self.met[point] += 1
            is_time = point == self._at and self.met[point] == self._number
        if is_time:
            _die()

    @contextmanager
    def within(self, steps: set[str]) -> Iterator[None]:
        """
        Watches the statements of a call of this thread.
        """
        self._call.steps, self._call.statements = steps, 0
        yield
        self._call.steps = set()

    def hear_statement(self, text: str) -> None:
        """
        Dies before the statement, if it is the chosen one of the chosen call.
        """
        steps: set[str] = getattr(self._call, "steps", set())
        if not steps:
            return
        is_commit = text == "COMMIT"
        self._call.statements += 1
        if not is_commit and self._call.statements != self._statement:
            return
        for step in steps:
            self.come_by(step, Moment.DURING)
        self._call.steps = set()


class DoomedStore:
    """
    Passes every call on, and comes by its kill points.

    The answers of the first beat and of the first turn that settles something are lost, so that the engine goes through
    its trouble too.
    """

    def __init__(self, store: Store, death: Death) -> None:
        self._store = store
        self._death = death
        self._lost: set[str] = set()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the method answers
        method = getattr(self._store, name)

        @wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            steps = steps_of_call(name, arguments)
            for step in steps:
                self._death.come_by(step, Moment.BEFORE)
            with self._death.within(steps):
                answer = method(*arguments, **options)
            for step in steps_of_answer(name, arguments, answer):
                self._death.come_by(step, Moment.AFTER)
            self._lose_first(name, arguments)
            return answer

        return call

    def as_store(self) -> Store:
        """
        The same object by the port's type.
        """
        return cast("Store", self)

    def _lose_first(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in self._lost or not (name == "beat" or (name == "turn" and arguments[0].settlements)):
            return
        self._lost.add(name)
        raise StoreUnavailableError(f"the answer of the first {name} was lost")


def instrument(death: Death) -> None:
    """
    Lets every step of the engine, and every statement on a connection, come by the kill points of this process.
    """
    for cls in STEPPING:
        for name in list(step_names(cls)):
            _wrap(cls, name, death)
    connection = type("DoomedConnection", (_ListeningConnection,), {"hear": staticmethod(death.hear_statement)})
    sqlite3.connect = partial(sqlite3.connect, factory=connection)  # type: ignore[assignment]


class _ListeningConnection(sqlite3.Connection):
    hear: Callable[[str], None]

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
        self.hear(sql)
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
        self.hear(sql)
        return super().executemany(sql, parameters)


def _wrap(cls: type, name: str, death: Death) -> None:
    method = inspect.getattr_static(cls, name)
    function = method.__func__ if isinstance(method, staticmethod) else method
    step = f"{cls.__name__}.{name}"

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        death.come_by(step, Moment.BEFORE)
        answer = function(*arguments, **options)
        death.come_by(step, Moment.AFTER)
        return answer

    @wraps(function)
    async def call_async(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        death.come_by(step, Moment.BEFORE)
        answer = await function(*arguments, **options)
        death.come_by(step, Moment.AFTER)
        return answer

    wrapped = call_async if inspect.iscoroutinefunction(function) else call
    setattr(cls, name, staticmethod(wrapped) if isinstance(method, staticmethod) else wrapped)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()
