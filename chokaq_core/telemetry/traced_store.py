"""
A store whose every call is a span.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from chokaq_core.ports import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chokaq_core.ports import Store
    from chokaq_core.telemetry.tracing import Tracing


def traced(store: Store, tracing: Tracing, system: str) -> Store:
    """
    The store, each call a client span while tracing is on.

    Args:
        system: the database as OpenTelemetry names it: `mssql` or `sqlite`.
    """
    return cast("Store", TracedStore(store, tracing, system))


class TracedStore:
    """
    Passes everything on to a store of any kind; what is not a public method is handed out as it is.
    """

    def __init__(self, store: Store, tracing: Tracing, system: str) -> None:
        self._store = store
        self._tracing = tracing
        self._system = system

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        attribute = getattr(self._store, name)
        if name.startswith("_") or not callable(attribute):
            return attribute
        call = partial(self._call, name, attribute)
        # Found here from now on, so that `__getattr__` runs once for each method.
        self.__dict__[name] = call
        return call

    def _call(self, name: str, method: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        if not self._tracing.is_on:
            return method(*arguments, **named)
        first = next(iter((*arguments, *named.values())), None)
        attributes: dict[str, str | int] = {"db.system": self._system, "db.operation.name": name, **_batch(first)}
        with self._tracing.calling(f"store {name}", attributes, _settled(first)):
            return method(*arguments, **named)


def _batch(argument: object) -> dict[str, int]:
    """
    How many jobs a call is about, where that can be seen.
    """
    match argument:
        case Turn(settlements=settlements, starts=starts):
            return {"db.operation.batch.size": len(settlements) + len(starts)}
        case list() | tuple():
            return {"db.operation.batch.size": len(argument)}
        case _:
            return {}


def _settled(argument: object) -> Sequence[str]:
    if not isinstance(argument, Turn):
        return ()
    return [settlement.lease.job_id for settlement in argument.settlements]
