"""
Every test that asks for `store` or `stage` runs once on each kind of store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from chokaq_core.ports import Store
from tests.contract.sources import KINDS, StoreKind, StoreSource
from tests.contract.stages import Stage
from tests.support.clock import SteppedClock

OpenStore = Callable[[], Store]
"""Opens a store on the test's one database, at the database's own time."""

_ALL = [pytest.param(kind, id=kind.name) for kind in KINDS]
_SHARED = [pytest.param(kind, id=kind.name) for kind in KINDS if kind.is_shared]


@pytest.fixture
def clock() -> SteppedClock:
    """
    The time of `store` and `stage`.
    """
    return SteppedClock()


@pytest.fixture(params=_ALL)
def kind(request: pytest.FixtureRequest) -> StoreKind:
    """
    Each kind of store in turn.
    """
    kind: StoreKind = request.param
    return kind


@pytest.fixture
def source(kind: StoreKind, tmp_path: Path) -> StoreSource:
    """
    An empty database of each kind.
    """
    return kind.create(tmp_path)


@pytest.fixture(params=_SHARED)
def shared_source(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSource:
    """
    An empty database of each kind that several processes can work on.
    """
    kind: StoreKind = request.param
    return kind.create(tmp_path)


@pytest.fixture
def store(source: StoreSource, clock: SteppedClock) -> Iterator[Store]:
    """
    A store on an empty database, at the time of `clock`.
    """
    with closing(source.open(clock.now)) as store:
        yield store


@pytest.fixture
def stage(store: Store, clock: SteppedClock) -> Stage:
    """
    The same store with actors on it.
    """
    return Stage(store, clock)


@pytest.fixture
def real_clock_store(source: StoreSource) -> Iterator[Store]:
    """
    A store on an empty database, at the database's own time.
    """
    with closing(source.open()) as store:
        yield store


@pytest.fixture
def open_shared(shared_source: StoreSource) -> Iterator[OpenStore]:
    """
    Opens one store after the other on the same database.
    """
    with ExitStack() as stack:

        def open_store() -> Store:
            return stack.enter_context(closing(shared_source.open()))

        yield open_store
