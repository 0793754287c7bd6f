"""
Controls of a queue as workers meet them: from the next claim on, everywhere, and whatever runs goes on.
"""

from __future__ import annotations

import threading

import pytest

from chokaq_core.domain.events import EventName
from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.job import HotJob, Lease, Status
from chokaq_core.domain.moves import complete
from chokaq_core.domain.value import replace
from chokaq_core.engine.scans import Rescue
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.ports import PillarCounts, QueueChange, Store, Turn
from tests.contract.stages import OTHER_WORKER, Stage
from tests.engine.conftest import OpenRig
from tests.support.clock import SteppedClock
from tests.support.engine import MINUTE, ONE_AT_A_TIME, SECOND, Gates, Note, Rig, profile_of, wait
from tests.support.polling import wait_until


def test_a_pause_releases_what_was_fetched_and_nothing_more_of_the_queue_starts(
    open_rig: OpenRig, gates: Gates
) -> None:
    may_end = gates.new()
    runs: list[str] = []

    def work(job: Note) -> None:
        runs.append(job.text)
        wait(may_end)

    rig = open_rig(profile_of(work), worker=replace(ONE_AT_A_TIME, prefetch=3))
    ids = rig.enqueue_many(4)
    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        wait_until(lambda: [rig.hot(job_id).status for job_id in ids].count(Status.FETCHED) == 3)

        rig.store.change_queue("default", QueueChange(is_paused=True))

        assert [rig.hot(job_id).status for job_id in ids].count(Status.PENDING) == 3
        may_end.set()

    assert len(runs) == 1
    assert rig.store.counts() == PillarCounts(hot=3, archive=1, dlq=0)
    waiting = [found for job_id in ids if isinstance(found := rig.store.find(job_id), HotJob)]
    assert [(job.attempt, job.is_ready) for job in waiting] == [(0, True)] * 3


@pytest.mark.parametrize("was_paused", [False, True])
def test_activating_a_queue_restores_the_pause_state_that_was(open_rig: OpenRig, was_paused: bool) -> None:
    rig = open_rig(profile_of(lambda job: None))
    rig.store.change_queue("default", QueueChange(is_paused=was_paused))
    job_id = rig.enqueue()

    rig.store.change_queue("default", QueueChange(is_active=False))
    rig.visit()
    assert rig.hot(job_id).status is Status.PENDING

    row = rig.store.change_queue("default", QueueChange(is_active=True))
    assert (row.is_active, row.is_paused) == (True, was_paused)
    rig.visit()
    assert rig.store.counts().archive == (0 if was_paused else 1)


def test_a_limit_holds_from_the_next_claim_on_when_it_is_set_raised_and_lifted(open_rig: OpenRig, gates: Gates) -> None:
    may_end = gates.new()
    rig = open_rig(profile_of(lambda job: wait(may_end)))
    rig.store.change_queue("default", QueueChange(max_workers=1))
    rig.enqueue_many(5)

    with rig.visiting():
        rig.events.wait_for(EventName.JOB_STARTED)
        rig.store.change_queue("default", QueueChange(max_workers=2))
        rig.events.wait_for(EventName.JOB_STARTED, count=2)
        assert running(rig) == 2
        rig.store.change_queue("default", QueueChange(clear=frozenset({"max_workers"})))
        rig.events.wait_for(EventName.JOB_STARTED, count=4)
        may_end.set()

    assert rig.store.counts().archive == 5


def running(rig: Rig) -> int:
    return {row.name: row.running for row in rig.store.queues()}["default"]


@pytest.mark.case("C-054")
def test_a_limit_below_what_runs_lets_it_end_and_admits_none_until_there_is_room(
    clocked_store: Store, clock: SteppedClock
) -> None:
    stage = Stage(clocked_store, clock)
    stage.add_many(5)
    leases: list[Lease] = [job.lease for job in stage.turn(want=3).claimed]
    stage.set_queue("default", max_workers=2)

    assert stage.claim(5, OTHER_WORKER) == []
    stage.settle(complete(leases[0], 1.0))
    assert stage.claim(5, OTHER_WORKER) == []
    stage.settle(complete(leases[1], 1.0))
    assert len(stage.claim(5, OTHER_WORKER)) == 1


@pytest.mark.case("C-060")
def test_a_paused_queue_starts_nothing_whoever_looks_and_loses_nothing(
    open_rig: OpenRig, clocked_store: Store, clock: SteppedClock, gates: Gates
) -> None:
    sms = Sms(gates)
    profile = profile_of(sms, queue="sms")
    host = open_rig(profile, store=clocked_store, retry=RetryRules())
    other_host = open_rig(profile, store=clocked_store, worker=ONE_AT_A_TIME)
    dead, failing = host.run(Note(text="dead")), host.run(Note(text="failing"))
    lost = host.enqueue(Note(text="lost"))
    clocked_store.turn(Turn("gone", 1, want=1))
    long = host.enqueue(Note(text="long"))
    with other_host.visiting():
        other_host.events.wait_for(EventName.JOB_STARTED, long)
        waiting = [dead, failing, *host.enqueue_many(5)]
        waiting += [host.enqueue(Note(text=f"delayed-{n}"), delay=10 * SECOND) for n in range(2)]

        clocked_store.change_queue("sms", QueueChange(is_paused=True))
        clock.advance(11 * MINUTE)
        wait_until(lambda: host.hot(long).heartbeat_at == clock.now())
        assert _buried(host) == 1
        clocked_store.resurrect([dead], "ann")
        waiting.append(host.enqueue(Note(text="late")))
        host.visit()
        sms.may_end.set()
    for rig in (other_host, open_rig(profile, store=clocked_store)):
        rig.visit()

    assert sms.runs == ["dead", "failing", "long"]
    assert host.archived(long).attempt == 1
    assert host.dead(lost).reason is FailureReason.ZOMBIE
    assert {host.hot(job_id).status for job_id in waiting} == {Status.PENDING}
    (row,) = [row for row in clocked_store.queues() if row.name == "sms"]
    assert (row.is_paused, row.pending, row.running) == (True, 10, 0)

    due = {job_id: host.hot(job_id).due_at for job_id in waiting}
    clock.advance(3 * MINUTE)
    clocked_store.change_queue("sms", QueueChange(is_paused=False, max_workers=1))
    host.visit()
    assert {job_id: host.archived(job_id).due_at for job_id in waiting} == due
    assert sms.most == 1


class Sms:
    """
    The handler of a queue where everything happens at once: it fails, fails for good, or takes long, by its job's text.
    """

    def __init__(self, gates: Gates) -> None:
        self.may_end = gates.new()
        self.runs: list[str] = []
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()

    def __call__(self, job: Note) -> None:
        with self._lock:
            is_first = job.text not in self.runs
            self.runs.append(job.text)
            self._inside += 1
            self.most = max(self.most, self._inside)
        try:
            self._run(job.text, is_first=is_first)
        finally:
            with self._lock:
                self._inside -= 1

    def _run(self, text: str, *, is_first: bool) -> None:
        if text == "long":
            wait(self.may_end)
        if text == "failing" and is_first:
            raise OSError("connection refused")
        if text == "dead" and is_first:
            raise TypeError("a bug")


def _buried(rig: Rig) -> int:
    """
    Two scans, of which the first only arms.
    """
    rescue = Rescue(rig.store, rig.catalog, RescueRules(), RetryRules(), rig.events)
    assert rescue.scan().is_armed
    return rescue.scan().buried
