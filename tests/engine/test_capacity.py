"""
How many jobs run at once, changed while they run.
"""

from __future__ import annotations

import threading

import pytest

from chokaq_core.domain.events import EventName
from tests.engine.conftest import OpenRig
from tests.support.engine import ONE_AT_A_TIME, QUICK_WORKER, Gates, Note, Rig, profile_of, wait


class Crowd:
    """
    A handler whose runs wait at a gate of their own, and tell how many there are.
    """

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._changed = threading.Condition()
        self.inside: dict[str, threading.Event] = {}
        self.most = 0

    def __call__(self, job: Note) -> None:
        gate = self._gates.new()
        with self._changed:
            self.inside[job.text] = gate
            self.most = max(self.most, len(self.inside))
            self._changed.notify_all()
        wait(gate)
        with self._changed:
            del self.inside[job.text]
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[str]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.inside) == count, 30), self.inside
            return list(self.inside)

    def let_go(self, text: str) -> None:
        self.inside[text].set()


def capacity_of(rig: Rig) -> int:
    (worker,) = rig.store.workers()
    return worker.capacity


def test_more_room_is_used_at_once(open_rig: OpenRig, gates: Gates) -> None:
    crowd = Crowd(gates)
    rig = open_rig(profile_of(crowd), worker=ONE_AT_A_TIME)
    rig.enqueue_many(3)
    with rig.visiting():
        crowd.wait_for(1)

        rig.engine.set_capacity(3)

        crowd.wait_for(3)
        assert capacity_of(rig) == 3
        (event,) = rig.events.of(EventName.WORKER_CAPACITY_CHANGED)
        assert event.facts == {"worker_id": rig.engine.worker_id, "capacity": 3, "before": 1}
        gates.open_all()


def test_with_less_room_running_jobs_go_on_and_new_ones_wait_for_it(open_rig: OpenRig, gates: Gates) -> None:
    crowd = Crowd(gates)
    rig = open_rig(profile_of(crowd), worker=QUICK_WORKER)
    rig.enqueue_many(6)
    with rig.visiting():
        texts = crowd.wait_for(4)
        rig.engine.set_capacity(1)
        crowd.most = 0

        for text in texts[:3]:
            crowd.let_go(text)
        crowd.wait_for(1)
        for _ in range(3):
            (text,) = crowd.wait_for(1)
            crowd.let_go(text)
            rig.events.wait_for(EventName.JOB_SUCCEEDED_ARCHIVED)
            _wait_until_gone(crowd, text)

    assert crowd.most <= 1
    assert rig.store.counts().archive == 6


def _wait_until_gone(crowd: Crowd, text: str) -> None:
    with crowd._changed:  # noqa: SLF001 - the condition is this file's own
        assert crowd._changed.wait_for(lambda: text not in crowd.inside, 30)  # noqa: SLF001


def test_the_same_capacity_again_is_no_change(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=QUICK_WORKER)

    rig.engine.set_capacity(4)

    assert rig.events.of(EventName.WORKER_CAPACITY_CHANGED) == []


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_worker_without_room_is_refused(open_rig: OpenRig, capacity: int) -> None:
    rig = open_rig(profile_of(lambda job: None))

    with pytest.raises(ValueError, match="at least 1"):
        rig.engine.set_capacity(capacity)


def test_a_capacity_that_was_set_before_the_first_visit_is_the_one_that_is_told(open_rig: OpenRig) -> None:
    rig = open_rig(profile_of(lambda job: None), worker=QUICK_WORKER)
    rig.engine.set_capacity(2)
    rig.run()

    assert capacity_of(rig) == 2
