"""
A real store whose calls can be counted, failed, or held up at a chosen moment.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.ports import Store

WAIT_SECONDS = 30.0
"""How long a held call waits to be let go; long enough to tell a hang from a slow machine."""

When = Callable[[Any], object]


class Hold:
    """
    A call that has been stopped on its way: `reached` tells that it is there, `release` lets it go on.
    """

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._released = threading.Event()

    def __call__(self, answer: Any) -> Any:  # noqa: ANN401 - whatever the method answered
        self._reached.set()
        assert self._released.wait(WAIT_SECONDS), "a held call was never let go"
        return answer

    def wait_until_reached(self) -> None:
        """
        Returns once a call is held.
        """
        assert self._reached.wait(WAIT_SECONDS), "the call that was to be held never came"

    def release(self) -> None:
        """
        Lets the call go on.
        """
        self._released.set()


def always(_answer: object) -> bool:
    """
    Any answer will do.
    """
    return True


def nth(number: int) -> When:
    """
    The answer that comes as the nth from now on, counted from 1.
    """
    count = itertools.count(1)
    return lambda _answer: next(count) == number


@dataclass(frozen=True, slots=True)
class _Order:
    """
    What to do at the first call that it applies to.
    """

    act: Callable[[Any], Any]
    when: When = always


class FaultyStore:
    """
    Passes every call on to the real store, with what a test has ordered for it before or after.

    Attributes:
        calls: how often each method was called.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._before: defaultdict[str, list[_Order]] = defaultdict(list)
        self._after: defaultdict[str, list[_Order]] = defaultdict(list)
        self._is_away: set[str] = set()
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the method answers
        method = getattr(self._store, name)

        @wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            self._enter(name)
            answer = method(*arguments, **options)
            order = self._next(self._after[name], answer)
            return answer if order is None else order.act(answer)

        return call

    def as_store(self) -> Store:
        """
        The same object by the port's type.
        """
        return cast("Store", self)

    def total_calls(self) -> int:
        """
        Calls of all methods together.
        """
        return self.calls.total()

    def refuse(self, name: str, times: int = 1, *, when: When = always) -> None:
        """
        The next calls fail before the real store hears of them; `when` is asked with None, since no answer is there.
        """
        self._before[name].extend([_Order(_fail, when)] * times)

    def lose_answer(self, name: str, times: int = 1, *, when: When = always) -> None:
        """
        The next calls with such an answer are carried out, and then fail.
        """
        self._after[name].extend([_Order(_fail, when)] * times)

    def go_away(self, *names: str) -> None:
        """
        Every call of these methods fails before it is carried out, until `come_back`.
        """
        with self._lock:
            self._is_away.update(names)

    def come_back(self) -> None:
        """
        Ends `go_away`.
        """
        with self._lock:
            self._is_away.clear()

    def hold_before(self, name: str) -> Hold:
        """
        Stops the next call before it is carried out.
        """
        hold = Hold()
        self._before[name].append(_Order(hold))
        return hold

    def hold_after(self, name: str, *, when: When = always) -> Hold:
        """
        Stops the next call with such an answer after it was carried out and before it is answered.
        """
        hold = Hold()
        self._after[name].append(_Order(hold, when))
        return hold

    def after(self, name: str, step: Callable[[], object], *, when: When = always) -> None:
        """
        Does something after the next call with such an answer was carried out and before it is answered.
        """

        def act(answer: Any) -> Any:  # noqa: ANN401 - whatever the method answered
            step()
            return answer

        self.alter(name, act, when=when)

    def alter(self, name: str, change: Callable[[Any], Any], *, when: When = always) -> None:
        """
        Gives the next such answer of a method in another form.
        """
        self._after[name].append(_Order(change, when))

    def _enter(self, name: str) -> None:
        with self._lock:
            self.calls[name] += 1
            is_away = name in self._is_away
        order = _Order(_fail) if is_away else self._next(self._before[name], None)
        if order is not None:
            order.act(None)

    def _next(self, orders: list[_Order], answer: object) -> _Order | None:
        with self._lock:
            order = next((order for order in orders if order.when(answer)), None)
            if order is not None:
                orders.remove(order)
        return order


def _fail(_answer: object) -> None:
    msg = "the database is away"
    raise StoreUnavailableError(msg)
