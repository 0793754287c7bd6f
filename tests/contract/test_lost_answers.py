"""
The connection drops in turn at every call of a store's life, before or right after its commit; the caller repeats.

Whatever was lost, the jobs, the counters, the queues and the workers end up as if nothing had been.
"""

from __future__ import annotations

from contextlib import closing
from enum import StrEnum
from pathlib import Path

import pytest

from chokaq_core.domain.value import replace
from chokaq_core.ports import PillarCounts, Totals
from tests.contract.life import Call, Caller, Life, live, write_calls
from tests.contract.sources import StoreKind
from tests.support.clock import SteppedClock
from tests.support.faulty_store import FaultyStore, nth

CALLS = (
    Call("register", 1),
    Call("enqueue", 1),
    Call("enqueue", 2),
    Call("timer_started", 1),
    Call("turn", 1),
    Call("claim_key", 1),
    Call("claim_key", 2),
    Call("beat", 1),
    Call("cancel", 1),
    Call("complete_key", 1),
    Call("release_key", 1),
    Call("claim_key", 3),
    Call("turn", 2),
    Call("recover", 1),
    Call("bury", 1),
    Call("timer_finished", 1),
    Call("resurrect", 1),
    Call("edit", 1),
    Call("change_queue", 1),
    Call("turn", 3),
    Call("purge", 1),
    Call("change_queue", 2),
    Call("retire", 1),
    Call("register", 2),
    Call("prune_lanes", 1),
    Call("prune_workers", 1),
    Call("prune_lanes", 2),
    Call("fold_counters", 1),
    Call("prune_keys", 1),
    Call("prune_operator_log", 1),
    Call("prune_buckets", 1),
    Call("purge_expired", 1),
    Call("claim_key", 4),
)


class Lost(StrEnum):
    """
    What did not get through: the request, so nothing was done; or the answer, so all was.
    """

    REQUEST = "request"
    ANSWER = "answer"


def test_the_life_calls_every_write_of_the_contract(kind: StoreKind, tmp_path: Path) -> None:
    call = Caller()
    _live_on(kind, tmp_path, call)

    assert call.made == list(CALLS)
    assert {call.method for call in CALLS} == write_calls()


def test_the_life_moves_jobs_in_every_way(kind: StoreKind, tmp_path: Path) -> None:
    life = _live_on(kind, tmp_path, Caller())

    assert life.ending.counts == PillarCounts(hot=13, archive=0, dlq=1)
    assert life.ending.totals == {"default": Totals(succeeded=1, failed=4, retried=2)}


@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("at", CALLS, ids=lambda call: f"{call.method}-{call.number}")
def test_a_lost_call_that_is_repeated_leaves_no_trace(kind: StoreKind, tmp_path: Path, at: Call, lost: Lost) -> None:
    calm = _live_on(kind, tmp_path / "calm", Caller())
    caller = Caller()

    disturbed = _live_on(kind, tmp_path / "disturbed", caller, at, lost)

    assert caller.repeats == 1
    assert disturbed == calm


def _live_on(kind: StoreKind, folder: Path, caller: Caller, at: Call | None = None, lost: Lost | None = None) -> Life:
    folder.mkdir(exist_ok=True)
    clock = SteppedClock()
    with closing(kind.create(folder).open(clock.now)) as store:
        faulty = FaultyStore(store)
        if at is not None and lost is Lost.REQUEST:
            faulty.refuse(at.method, when=nth(at.number))
        elif at is not None:
            faulty.lose_answer(at.method, when=nth(at.number))
        life = live(faulty.as_store(), clock, caller)
    return replace(life, turns=tuple(replace(turn, is_repeat=False) for turn in life.turns))
