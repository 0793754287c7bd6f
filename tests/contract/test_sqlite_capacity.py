"""
The bound of the embedded store in memory: archived jobs make room first, dead ones next, active ones never.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from chokaq_core.domain.job import Place
from chokaq_core.ports import PillarCounts
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.stages import SECOND, Stage, place_of
from tests.support.clock import SteppedClock


@pytest.fixture
def small_stage(clock: SteppedClock) -> Iterator[Stage]:
    """
    A store that keeps ten jobs.
    """
    with closing(SqliteStore(clock=clock.now, max_jobs=10)) as store:
        store.prepare()
        yield Stage(store, clock)


def _put(stage: Stage, place: Place, count: int) -> list[str]:
    ids = []
    for _ in range(count):
        ids.append(stage.put(place).id)
        stage.clock.advance(SECOND)
    return ids


def test_up_to_its_bound_nothing_goes(small_stage: Stage) -> None:
    _put(small_stage, Place.ARCHIVE, 5)
    _put(small_stage, Place.DLQ, 5)

    assert small_stage.store.counts() == PillarCounts(hot=0, archive=5, dlq=5)


def test_the_oldest_archived_jobs_go_first(small_stage: Stage) -> None:
    dead = _put(small_stage, Place.DLQ, 4)
    archived = _put(small_stage, Place.ARCHIVE, 9)

    assert [place_of(small_stage.store, job_id) for job_id in dead] == [Place.DLQ] * 4
    assert [place_of(small_stage.store, job_id) for job_id in archived] == [*[Place.ABSENT] * 3, *[Place.ARCHIVE] * 6]


def test_then_the_oldest_dead_ones(small_stage: Stage) -> None:
    archived = _put(small_stage, Place.ARCHIVE, 3)
    dead = _put(small_stage, Place.DLQ, 12)

    assert [place_of(small_stage.store, job_id) for job_id in archived] == [Place.ABSENT] * 3
    assert [place_of(small_stage.store, job_id) for job_id in dead] == [*[Place.ABSENT] * 2, *[Place.DLQ] * 10]


def test_active_jobs_never_go(small_stage: Stage) -> None:
    _put(small_stage, Place.ARCHIVE, 3)
    small_stage.add_many(25)

    assert small_stage.store.counts() == PillarCounts(hot=25, archive=0, dlq=0)
    assert len(small_stage.claim(30)) == 25


def test_a_large_store_is_looked_at_now_and_then_and_holds_its_bound_all_the_same(clock: SteppedClock) -> None:
    with closing(SqliteStore(clock=clock.now, max_jobs=500)) as store:
        store.prepare()
        stage = Stage(store, clock)
        for _ in range(600):
            stage.archived()

        assert store.counts().archive <= 505
