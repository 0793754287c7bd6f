"""
Idempotency claims in the embedded store.

The caller's transaction holds the write lock, so what was looked up is still true when it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.ports import ClaimAnswer, ClaimState
from chokaq_core.stores.sqlite.rows import span_micros

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.ports import Claim
    from chokaq_core.stores.sqlite.database import Transaction


def claim_key(transaction: Transaction, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
    """
    Claims the key, unless another job holds it or it is completed.
    """
    holder, is_completed, result = _found(transaction, claim)
    if is_completed:
        return ClaimAnswer(ClaimState.COMPLETED, result)
    if holder not in {None, claim.job_id}:
        return ClaimAnswer(ClaimState.IN_PROGRESS)
    _write(transaction, claim, None, lifetime, is_completed=False)
    return ClaimAnswer(ClaimState.CLAIMED)


def complete_key(transaction: Transaction, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
    """
    Notes that the work is done, unless another job holds or has completed the key.
    """
    holder, _, _ = _found(transaction, claim)
    if holder not in {None, claim.job_id}:
        return False
    _write(transaction, claim, result, lifetime, is_completed=True)
    return True


def release_key(transaction: Transaction, claim: Claim) -> bool:
    """
    Gives up the job's own claim.
    """
    values = {"type_key": claim.type_key, "claim_key": claim.key, "job_id": claim.job_id}
    return transaction.change("key_release", **values) > 0


def _found(transaction: Transaction, claim: Claim) -> tuple[str | None, bool, str | None]:
    row = transaction.row("key_found", type_key=claim.type_key, claim_key=claim.key)
    return (None, False, None) if row is None else (row[0], bool(row[1]), row[2])


def _write(
    transaction: Transaction, claim: Claim, result: str | None, lifetime: timedelta | None, *, is_completed: bool
) -> None:
    transaction.change(
        "key_write",
        type_key=claim.type_key,
        claim_key=claim.key,
        job_id=claim.job_id,
        is_completed=is_completed,
        result=result,
        expires_at=None if lifetime is None else transaction.now + span_micros(lifetime),
    )
