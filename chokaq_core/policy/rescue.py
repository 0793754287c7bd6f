"""
What becomes of jobs whose worker fell silent.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.failures import ErrorFacts, Failed, FailureKind, FailureReason
from chokaq_core.domain.moves import Move
from chokaq_core.domain.value import Value
from chokaq_core.policy.after_failure import AttemptFacts, Verdict, decide
from chokaq_core.policy.error_text import text_facts

if TYPE_CHECKING:
    from chokaq_core.policy.backoff import RetryRules

GAP_IN_SCANS = 3
"""A scan that finds no successful scan within this many intervals only records itself."""


class RescueRules(Value):
    """
    The settings of section `Recovery`.
    """

    fetched_job_timeout: timedelta = timedelta(minutes=10)
    processing_zombie_timeout: timedelta = timedelta(minutes=10)
    scan_interval: timedelta = timedelta(minutes=1)


class Suspect(Value):
    """
    A processing job whose heartbeat is older than its zombie timeout, as it was read.
    """

    job_id: str
    lease_number: int
    worker_id: str
    heartbeat_at: datetime
    queue: str
    type_key: str
    attempt: int
    lifetime_start_at: datetime


def may_bury(rules: RescueRules, *, now: datetime, last_succeeded_at: datetime | None) -> bool:
    """
    Whether this scan may bury: only if scans went on without a gap, so that living workers had a chance to beat.
    """
    return last_succeeded_at is not None and now - last_succeeded_at <= GAP_IN_SCANS * rules.scan_interval


def verdict_on(
    suspect: Suspect, rules: RetryRules, *, rerun_after_loss: bool, max_attempts: int, now: datetime, roll: float
) -> Verdict:
    """
    Bury as Zombie, or, where the handler was registered as safe to re-run, go by the rule for a failed attempt.
    """
    if not rerun_after_loss:
        return Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
    facts = AttemptFacts(suspect.attempt, max_attempts, suspect.lifetime_start_at, now)
    verdict = decide(Failed(FailureKind.TRANSIENT, loss_error(suspect)), facts, rules, roll)
    if verdict.move is Move.DEAD_LETTER:
        return Verdict(Move.DEAD_LETTER, reason=FailureReason.ZOMBIE)
    return verdict


def loss_error(suspect: Suspect) -> ErrorFacts:
    """
    What the job remembers of the loss.
    """
    return text_facts(
        "WorkerLost",
        f"worker {suspect.worker_id} fell silent during attempt {suspect.attempt}; "
        f"last heartbeat {suspect.heartbeat_at:%Y-%m-%dT%H:%M:%S.%fZ}",
    )
