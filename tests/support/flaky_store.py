"""
A store whose connection drops when a test says so.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, cast

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.ports import Store


class Lost(StrEnum):
    """
    What did not get through: the request, so nothing was done; or the answer, so all was.
    """

    REQUEST = "request"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Drop:
    """
    The connection drops at the nth call of a method, counted from 1.
    """

    method: str
    call: int = 1
    lost: Lost = Lost.ANSWER


def flaky(store: Store, drops: Iterable[Drop]) -> Store:
    """
    The same store, raising StoreUnavailableError at the given calls.
    """
    return cast("Store", _FlakyStore(store, drops))


class _FlakyStore:
    def __init__(self, store: Store, drops: Iterable[Drop]) -> None:
        self._store = store
        self._drops = {(drop.method, drop.call): drop.lost for drop in drops}
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)

        @wraps(method)
        def call(*args: Any, **values: Any) -> Any:  # noqa: ANN401 - whatever the method takes and gives
            lost = self._next(name)
            if lost is Lost.REQUEST:
                raise StoreUnavailableError(f"the connection dropped before {name}")
            answer = method(*args, **values)
            if lost is Lost.ANSWER:
                raise StoreUnavailableError(f"the connection dropped after {name} was committed")
            return answer

        return call

    def _next(self, name: str) -> Lost | None:
        with self._lock:
            self._calls[name] += 1
            return self._drops.get((name, self._calls[name]))
