"""
Floods into the DLQ: everything fails at once, while operators bring jobs back and delete others.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from chokaq_core.contracts import JobContext, Profile
from chokaq_core.domain.errors import FatalJobError
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.domain.operator_log import LogNote
from chokaq_core.ports import PillarCounts, ResurrectOutcome, Store
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.racing import at_once
from tests.faults.doomed_life import NO_CIRCUITS
from tests.faults.report import Report
from tests.support.engine import Note, Rig, Setup, build_rig

DOOMED, HEALTHY = 900, 40
ENGINES = 3
PAGE = 50
NOTE = LogNote("ann", "resurrect", "[]")


class Mail(Note):
    """
    A job that is fine.
    """


class Flood:
    """
    Handlers that note every run.
    """

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self._lock = threading.Lock()

    def profile(self) -> Profile:
        """
        Jobs of one type all fail, those of the other are fine.
        """
        profile = Profile("flood")
        profile.handler("flood.v1", queue="flood")(self.fail)
        profile.handler("mail.v1", queue="mail")(self.mail)
        return profile

    def fail(self, job: Note, ctx: JobContext) -> None:
        self._note(ctx)
        raise FatalJobError("the other side is gone")

    def mail(self, job: Mail, ctx: JobContext) -> None:
        self._note(ctx)

    def _note(self, ctx: JobContext) -> None:
        with self._lock:
            self.runs[ctx.job_id] += 1


@pytest.fixture
def flood() -> Flood:
    """
    What the jobs do.
    """
    return Flood()


@pytest.fixture
def rigs(tmp_path: Path, flood: Flood) -> Iterator[list[Rig]]:
    """
    Engines on one file.
    """
    with ExitStack() as stack:
        rigs = []
        for _ in range(ENGINES):
            store = stack.enter_context(closing(SqliteStore(tmp_path / "jobs.db", circuit_rules=NO_CIRCUITS)))
            store.prepare()
            rigs.append(build_rig(store, [flood.profile()], Setup()))
            stack.callback(rigs[-1].engine.stop)
        yield rigs


def test_a_flood_of_failures_is_all_accounted_for(rigs: list[Rig], flood: Flood, report: Report) -> None:
    first = rigs[0]
    doomed = [first.enqueue() for _ in range(DOOMED)]
    is_over = threading.Event()
    brought_back: Counter[str] = Counter()
    purged: set[str] = set()
    store = first.store

    def work_off() -> None:
        for rig in rigs:
            rig.enqueue(Mail())
        at_once([rig.visit for rig in rigs])
        is_over.set()

    def enqueue_mail() -> None:
        for _ in range(HEALTHY):
            rigs[1].enqueue(Mail())

    calls: list[Callable[[], object]] = [
        work_off,
        enqueue_mail,
        partial(_until, is_over, partial(_resurrect, store, brought_back)),
        partial(_until, is_over, partial(_purge, store, purged)),
        partial(_until, is_over, partial(_look, store)),
    ]
    at_once(calls)
    while store.counts().hot:
        first.visit()

    totals = store.totals()
    assert totals["mail"].succeeded == HEALTHY + ENGINES
    assert store.counts() == PillarCounts(hot=0, archive=HEALTHY + ENGINES, dlq=DOOMED - len(purged))
    assert totals["flood"].failed == DOOMED + brought_back.total()
    assert brought_back.total() > 0
    assert len(purged) > 0
    assert {job_id: flood.runs[job_id] for job_id in doomed} == {job_id: 1 + brought_back[job_id] for job_id in doomed}
    assert sum(entry.affected for entry in store.operator_log(None, 10_000)) == brought_back.total()
    report.met("jobs of a flood into the DLQ", DOOMED + brought_back.total())


def _until(is_over: threading.Event, step: Callable[[], object]) -> None:
    step()
    while not is_over.is_set():
        step()


def _dead(store: Store) -> list[str]:
    return [job.id for job in store.list_jobs(JobQuery(Pillar.DLQ), PAGE).jobs]


def _resurrect(store: Store, brought_back: Counter[str]) -> None:
    if brought_back.total() >= DOOMED:
        return
    ids = _dead(store)
    outcomes = store.resurrect(ids, "ann", None, NOTE) if ids else []
    brought_back.update(i for i, outcome in zip(ids, outcomes, strict=True) if outcome is ResurrectOutcome.RESURRECTED)


def _purge(store: Store, purged: set[str]) -> None:
    ids = _dead(store)[:1] if len(purged) < DOOMED // 10 else []
    purged.update(i for i, is_purged in zip(ids, store.purge(ids), strict=True) if is_purged)


def _look(store: Store) -> None:
    top = store.top_errors(10_000, 10)
    assert {group.error_type for group in top.groups} <= {"chokaq_core.domain.errors.FatalJobError"}
