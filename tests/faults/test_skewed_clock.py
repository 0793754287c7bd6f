"""
Hosts whose clocks are minutes off: the store's clock decides, whatever theirs say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chokaq_core.contracts import JobContext
from chokaq_core.domain.events import EventName
from chokaq_core.domain.job import ArchivedJob, new_job_id
from chokaq_core.engine import wakes
from chokaq_core.engine.scans import RESCUE_TIMER, Rescue, RescueReport
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.faults.cradle import Cradle
from tests.faults.doomed_life import Orders
from tests.faults.reckoning import check, survive
from tests.faults.report import Report
from tests.faults.skew import skew_host
from tests.support.clock import NOON, SteppedClock
from tests.support.engine import QUICK_RETRY, Note, Rig, Setup, build_rig, profile_of, wait
from tests.support.polling import wait_until

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SKEWS = [
    pytest.param(timedelta(seconds=90), id="90-seconds-ahead"),
    pytest.param(timedelta(seconds=-90), id="90-seconds-behind"),
    pytest.param(timedelta(minutes=45), id="45-minutes-ahead"),
    pytest.param(timedelta(minutes=-45), id="45-minutes-behind"),
]
LEASE_OF_30_SECONDS = RescueRules(
    fetched_job_timeout=timedelta(seconds=30),
    processing_zombie_timeout=timedelta(seconds=30),
    scan_interval=timedelta(seconds=10),
)


@pytest.fixture
def clock() -> SteppedClock:
    """
    The store's time.
    """
    return SteppedClock()


@pytest.fixture
def store(clock: SteppedClock) -> Iterator[Store]:
    """
    A store at the time of `clock`.
    """
    with closing(SqliteStore(clock=clock.now)) as store:
        store.prepare()
        yield store


@pytest.mark.case("C-007")
@pytest.mark.parametrize("skew", SKEWS)
def test_a_delayed_job_first_runs_when_the_stores_clock_says_so(
    store: Store, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch, skew: timedelta
) -> None:
    skew_host(skew, monkeypatch.setattr)
    ran_at: list[datetime] = []
    rig = build_rig(store, [profile_of(lambda job: ran_at.append(clock.now()))], Setup())
    job_id = rig.enqueue(delay=MINUTE)
    waiting = rig.hot(job_id)

    for _ in range(62):
        rig.visit()
        clock.advance(SECOND)

    assert rig.engine.stop()
    assert (waiting.created_at, waiting.due_at) == (NOON, NOON + MINUTE)
    assert ran_at == [NOON + MINUTE]
    job = rig.archived(job_id)
    assert (job.started_at, job.finished_at) == (NOON + MINUTE, NOON + MINUTE)
    assert 0 <= job.duration_ms < MINUTE.total_seconds() * 1000


@pytest.mark.case("C-007")
@pytest.mark.parametrize("skew", SKEWS)
def test_a_job_that_beats_is_never_rescued_by_a_host_with_another_clock(
    store: Store, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch, skew: timedelta
) -> None:
    may_end = threading.Event()

    def work(job: Note, ctx: JobContext) -> None:
        wait(may_end)

    rig = build_rig(store, [profile_of(work)], Setup())
    store.timer_started(RESCUE_TIMER)
    store.timer_finished(RESCUE_TIMER, "armed", has_succeeded=True)
    job_id = rig.enqueue()
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        skew_host(skew, monkeypatch.setattr)
        for _ in range(8):
            clock.advance(5 * SECOND)
            wait_until(lambda: rig.hot(job_id).heartbeat_at == clock.now())
            report = _rescue(rig)
            assert (report.is_armed, report.buried) == (False, 0)
        may_end.set()

    assert rig.engine.stop()
    job = rig.archived(job_id)
    assert (job.attempt, job.lease_number) == (1, 1)
    assert (job.started_at, job.finished_at) == (NOON, NOON + 40 * SECOND)


@pytest.mark.case("C-007")
@pytest.mark.parametrize("skew", SKEWS)
def test_a_process_with_a_wrong_clock_lives_as_any_other(
    cradle: Cradle, tmp_path: Path, report: Report, skew: timedelta
) -> None:
    before = datetime.now(UTC) - SECOND
    with closing(SqliteStore(tmp_path / "jobs.db")) as store:
        store.prepare()
        ended = cradle.run(Orders(str(tmp_path), 0, {}, skew_seconds=skew.total_seconds()))
    assert ended == 0, (tmp_path / "error.txt").read_text(encoding="utf-8")
    check(tmp_path)
    survive(tmp_path)
    after = datetime.now(UTC) + SECOND

    with closing(SqliteStore(tmp_path / "jobs.db")) as store:
        jobs = [store.find(f"task.ok-0-{number}") for number in range(2)]
    for job in jobs:
        assert isinstance(job, ArchivedJob)
        assert job.started_at is not None
        assert before < job.created_at <= job.due_at <= job.started_at <= job.finished_at < after
        assert 0 <= job.duration_ms < (after - before).total_seconds() * 1000
    report.met("lives of a process with a wrong clock")


def test_the_host_really_is_skewed(monkeypatch: pytest.MonkeyPatch) -> None:
    real, first_id = time.time(), new_job_id()

    skew_host(timedelta(hours=-1), monkeypatch.setattr)

    skewed: type[datetime] = vars(wakes)["datetime"]
    assert -3700 < time.time() - real < -3500
    assert new_job_id() < first_id
    assert -timedelta(seconds=3700) < skewed.now(UTC) - datetime.now(UTC) < -timedelta(seconds=3500)
    assert isinstance(datetime.now(UTC), skewed)


def _rescue(rig: Rig) -> RescueReport:
    return Rescue(rig.store, rig.catalog, LEASE_OF_30_SECONDS, QUICK_RETRY, rig.events).scan()
