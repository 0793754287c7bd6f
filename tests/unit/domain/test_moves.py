from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import Lease
from chokaq_core.domain.moves import (
    MOVES,
    SETTLING,
    Move,
    Settlement,
    complete,
    dead_letter,
    hand_back,
    postpone,
    release,
    retry,
    under_cancel_mark,
)

LEASE = Lease("job-1", "worker-7", 4)
ERROR = ErrorFacts("RuntimeError", "nope", "RuntimeError: nope")
DELAY = timedelta(seconds=3)


def test_every_move_has_exactly_one_rule() -> None:
    assert list(MOVES) == list(Move)
    assert [rule.move for rule in MOVES.values()] == list(Move)


@pytest.mark.parametrize(
    "move,sources,targets",
    [
        (Move.ENQUEUE, {"absent"}, {"pending"}),
        (Move.CLAIM, {"pending"}, {"fetched", "processing"}),
        (Move.START, {"fetched"}, {"processing"}),
        (Move.BEAT, {"processing"}, {"processing"}),
        (Move.COMPLETE, {"processing"}, {"archive"}),
        (Move.RETRY, {"processing"}, {"pending"}),
        (Move.POSTPONE, {"fetched", "processing"}, {"pending"}),
        (Move.DEAD_LETTER, {"processing"}, {"dlq"}),
        (Move.RELEASE, {"fetched"}, {"pending"}),
        (Move.HAND_BACK, {"processing"}, {"pending"}),
        (Move.RECOVER, {"fetched"}, {"pending"}),
        (Move.BURY, {"processing"}, {"dlq", "pending"}),
        (Move.CANCEL, {"pending", "fetched", "processing"}, {"dlq", "processing"}),
        (Move.RESURRECT, {"dlq"}, {"pending"}),
        (Move.EDIT, {"pending", "dlq"}, {"pending", "dlq"}),
        (Move.PURGE, {"archive", "dlq"}, {"absent"}),
    ],
)
def test_a_move_leads_from_its_places_to_its_places(move: Move, sources: set[str], targets: set[str]) -> None:
    assert MOVES[move].sources == sources
    assert MOVES[move].targets == targets


def test_every_rule_states_its_guard_and_its_effect() -> None:
    assert [move for move, rule in MOVES.items() if not (rule.guard and rule.effect)] == []


def test_only_the_moves_of_a_lease_holder_settle() -> None:
    assert {"complete", "retry", "postpone", "dead_letter", "release", "hand_back"} == SETTLING
    assert {move for move in SETTLING if not MOVES[move].guard.startswith("same lease")} == set()


def test_the_constructors_cover_every_settling_move() -> None:
    settlements = [
        complete(LEASE, 1.0),
        retry(LEASE, DELAY, ERROR),
        postpone(LEASE, DELAY),
        dead_letter(LEASE, FailureReason.TIMEOUT, ERROR),
        release(LEASE),
        hand_back(LEASE),
    ]
    assert {settlement.move for settlement in settlements} == SETTLING
    assert {settlement.lease for settlement in settlements} == {LEASE}


@pytest.mark.parametrize(
    "settlement,fields",
    [
        (complete(LEASE, 12.5, '{"rows":7}'), {"duration_ms": 12.5, "result": '{"rows":7}'}),
        (complete(LEASE, 12.5, None, "too large"), {"duration_ms": 12.5, "result_note": "too large"}),
        (retry(LEASE, DELAY, ERROR), {"delay": DELAY, "error": ERROR}),
        (postpone(LEASE, DELAY), {"delay": DELAY}),
        (
            dead_letter(LEASE, FailureReason.TIMEOUT, ERROR, 900.0),
            {"reason": FailureReason.TIMEOUT, "error": ERROR, "duration_ms": 900.0},
        ),
        (release(LEASE), {}),
        (hand_back(LEASE), {}),
    ],
    ids=lambda value: value.move.value if isinstance(value, Settlement) else "",
)
def test_a_settlement_carries_what_its_move_needs_and_nothing_else(
    settlement: Settlement, fields: dict[str, object]
) -> None:
    empty = dict.fromkeys(["duration_ms", "delay", "reason", "error", "result", "result_note"])
    carried = {name: getattr(settlement, name) for name in empty}
    assert carried == {**empty, **fields}


def test_a_success_under_a_cancel_mark_stays_a_success() -> None:
    success = complete(LEASE, 12.5, "7")
    assert under_cancel_mark(success, "anna") is success


@pytest.mark.parametrize(
    "settlement",
    [
        retry(LEASE, DELAY, ERROR),
        dead_letter(LEASE, FailureReason.FATAL_ERROR, ERROR),
        dead_letter(LEASE, FailureReason.TIMEOUT, ERROR),
    ],
    ids=["retry", "fatal", "timeout"],
)
def test_a_failure_under_a_cancel_mark_ends_as_cancelled_and_keeps_its_error(settlement: Settlement) -> None:
    assert under_cancel_mark(settlement, "anna") == dead_letter(LEASE, FailureReason.CANCELLED, ERROR)


@pytest.mark.parametrize("settlement", [postpone(LEASE, DELAY), release(LEASE), hand_back(LEASE)])
@pytest.mark.parametrize("by,text", [("anna", "cancelled by anna"), (None, "cancelled")])
def test_a_job_given_back_under_a_cancel_mark_ends_as_cancelled(
    settlement: Settlement, by: str | None, text: str
) -> None:
    error = ErrorFacts("Cancelled", text, text)
    assert under_cancel_mark(settlement, by) == dead_letter(LEASE, FailureReason.CANCELLED, error)


def test_a_duration_survives_the_cancel_mark() -> None:
    timed_out = dead_letter(LEASE, FailureReason.TIMEOUT, ERROR, 900.0)
    assert under_cancel_mark(timed_out, "anna").duration_ms == 900.0


def test_a_job_that_already_ended_as_cancelled_is_left_alone() -> None:
    cancelled = dead_letter(LEASE, FailureReason.CANCELLED, ErrorFacts("Cancelled", "by host", "by host"))
    assert under_cancel_mark(cancelled, "anna") is cancelled
