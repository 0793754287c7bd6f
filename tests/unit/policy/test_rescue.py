from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.domain.failures import FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.policy.after_failure import Verdict
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.rescue import RescueRules, Suspect, loss_error, may_bury, verdict_on

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BURIED = Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)


def suspect(attempt: int = 1, age: timedelta = timedelta(hours=1)) -> Suspect:
    return Suspect(
        job_id="job-1",
        lease_number=4,
        worker_id="worker-7",
        heartbeat_at=datetime(2026, 3, 1, 11, 48, 30, 250_000, tzinfo=UTC),
        queue="default",
        type_key="pdf.merge.v1",
        attempt=attempt,
        lifetime_start_at=NOW - age,
    )


def verdict(about: Suspect, *, rerun_after_loss: bool, max_attempts: int = 3) -> Verdict:
    rules = RetryRules()
    return verdict_on(about, rules, rerun_after_loss=rerun_after_loss, max_attempts=max_attempts, now=NOW, roll=0.0)


@pytest.mark.parametrize(
    "last_succeeded_at,may",
    [
        (None, False),
        (NOW, True),
        (NOW - timedelta(minutes=1), True),
        (NOW - timedelta(minutes=3), True),
        (NOW - timedelta(minutes=3, microseconds=1), False),
        (NOW - timedelta(days=2), False),
    ],
)
def test_a_scan_buries_only_while_scans_go_on_without_a_gap(last_succeeded_at: datetime | None, may: bool) -> None:
    rules = RescueRules(scan_interval=timedelta(minutes=1))
    assert may_bury(rules, now=NOW, last_succeeded_at=last_succeeded_at) is may


@pytest.mark.case("C-004")
@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_job_that_lost_its_worker_is_buried_though_attempts_are_left(attempt: int) -> None:
    assert verdict(suspect(attempt), rerun_after_loss=False) == BURIED


@pytest.mark.parametrize("attempt,delay", [(1, 3), (2, 6)])
def test_a_job_that_is_safe_to_rerun_is_retried_by_the_backoff(attempt: int, delay: int) -> None:
    assert verdict(suspect(attempt), rerun_after_loss=True) == Verdict(Move.RETRY, delay=timedelta(seconds=delay))


@pytest.mark.case("C-004")
def test_a_job_that_is_safe_to_rerun_is_buried_after_its_last_attempt() -> None:
    assert verdict(suspect(attempt=3), rerun_after_loss=True) == BURIED
    assert verdict(suspect(attempt=1), rerun_after_loss=True, max_attempts=1) == BURIED


def test_a_job_that_is_safe_to_rerun_is_buried_at_the_end_of_its_lifetime() -> None:
    assert verdict(suspect(age=timedelta(days=1)), rerun_after_loss=True) == BURIED


def test_the_loss_is_told_with_worker_attempt_and_last_heartbeat() -> None:
    error = loss_error(suspect(attempt=2))
    assert error.type == "WorkerLost"
    assert error.message == ("worker worker-7 fell silent during attempt 2; last heartbeat 2026-03-01T11:48:30.250000Z")
    assert error.details == f"WorkerLost: {error.message}"
