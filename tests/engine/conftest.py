"""
Engines on the embedded store, stopped at the end of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import pytest

from chokaq_core.contracts import Profile
from chokaq_core.domain.value import replace
from chokaq_core.policy.circuit import CircuitRules
from chokaq_core.ports import Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.clock import SteppedClock
from tests.support.engine import Gates, Rig, Setup, build_rig
from tests.support.faulty_store import FaultyStore
from tests.support.polling import wait_until

NO_CIRCUITS = CircuitRules(is_enabled=False)
"""Most tests let one type fail more often than a circuit would bear."""

OpenFile = Callable[[], Store]
"""Opens a further store on the test's one file."""


class OpenRig(Protocol):
    """
    Builds an engine for the profiles, on `store` or on a store of its own; other arguments are fields of `Setup`.
    """

    def __call__(self, *profiles: Profile, store: Store | None = None, **setup: Any) -> Rig: ...  # noqa: ANN401


@pytest.fixture
def gates() -> Gates:
    """
    Gates that open at the end of the test, before its engines are stopped.
    """
    return Gates()


@pytest.fixture
def clock() -> SteppedClock:
    """
    The time of `clocked_store`.
    """
    return SteppedClock()


@pytest.fixture
def store() -> Iterator[Store]:
    """
    A store in memory, at the real time.
    """
    with closing(_prepared(SqliteStore(circuit_rules=NO_CIRCUITS))) as store:
        yield store


@pytest.fixture
def clocked_store(clock: SteppedClock) -> Iterator[Store]:
    """
    A store in memory, at the time of `clock`.
    """
    with closing(_prepared(SqliteStore(clock=clock.now, circuit_rules=NO_CIRCUITS))) as store:
        yield store


@pytest.fixture
def faulty(store: Store) -> FaultyStore:
    """
    The store in memory with faults to order.
    """
    return FaultyStore(store)


@pytest.fixture
def open_file(tmp_path: Path) -> Iterator[OpenFile]:
    """
    Opens one store after the other on the same file.
    """
    opened: list[Store] = []

    def open_file() -> Store:
        opened.append(_prepared(SqliteStore(tmp_path / "jobs.db", circuit_rules=NO_CIRCUITS)))
        return opened[-1]

    yield open_file
    for store in opened:
        store.close()


@pytest.fixture
def open_rig(
    store: Store,
    clocked_store: Store,
    open_file: OpenFile,
    faulty: FaultyStore,
    gates: Gates,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[OpenRig]:
    """
    Builds engines. Handlers that were told to stop get little time before they count as stuck.

    Asks for every kind of store, so that engines end before the stores that they may be on.
    """
    monkeypatch.setattr("chokaq_core.engine.run.STUCK_SECONDS", 0.1)
    own_store = store
    rigs: list[Rig] = []

    def open_rig(*profiles: Profile, store: Store | None = None, **setup: Any) -> Rig:  # noqa: ANN401 - fields of Setup
        rigs.append(build_rig(store if store is not None else own_store, profiles, replace(Setup(), **setup)))
        return rigs[-1]

    yield open_rig
    gates.open_all()
    faulty.come_back()
    for rig in rigs:
        # One whose last job has not ended in time goes on beating, through all tests to come.
        wait_until(rig.engine.stop)


def _prepared(store: SqliteStore) -> Store:
    store.prepare()
    return store
