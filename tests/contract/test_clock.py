"""
The database's own clock, as production uses it: every time comes from it, in UTC.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.job import HotJob, NewJob
from chokaq_core.ports import Beat, Store, Turn, WorkerFacts


@pytest.mark.case("C-007")
def test_times_are_in_utc_and_follow_each_other(real_clock_store: Store) -> None:
    store = real_clock_store
    store.register(WorkerFacts("worker-1", "host-1", capacity=1))
    store.enqueue([NewJob("a", "t", "1")])
    answer = store.turn(Turn("worker-1", 1, want=1))
    store.beat(Beat("worker-1", capacity=1))
    (worker,) = store.workers()
    job = store.find("a")

    assert isinstance(job, HotJob)
    assert worker.started_at is not None
    assert job.started_at == answer.now == answer.claimed[0].claimed_at
    assert job.heartbeat_at == worker.heartbeat_at
    times = [worker.started_at, job.created_at, job.started_at, job.heartbeat_at, store.suspects(timedelta(1), 1).now]
    known = [at for at in times if at is not None]
    assert known == sorted(known)
    assert [at.utcoffset() for at in known] == [timedelta(0)] * 5


@pytest.mark.case("C-007")
def test_a_delay_begins_when_the_job_is_stored(real_clock_store: Store) -> None:
    store = real_clock_store
    store.enqueue([NewJob("a", "t", "1", delay=timedelta(hours=1))])

    job = store.find("a")

    assert job is not None
    assert job.due_at - job.created_at == timedelta(hours=1)
    assert store.turn(Turn("worker-1", 1, want=1)).next_due_at == job.due_at
