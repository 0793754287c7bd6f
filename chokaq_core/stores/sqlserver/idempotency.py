"""
Idempotency claims: each call is one write that decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.ports import MAX_BATCH, ClaimAnswer, ClaimState

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.ports import Claim
    from chokaq_core.stores.sqlserver.database import Database, Values

_STOP = "|"
"""Ends every stored key: `=` pads with blanks, and keys that differ in blanks at the end are different keys."""


def claim_key(database: Database, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
    """
    Claims the key, unless another job holds it or it is completed.
    """
    ((is_claimed,),), found = database.run("key_claim", {**_values(claim), "expires_at": lifetime})
    if is_claimed:
        return ClaimAnswer(ClaimState.CLAIMED)
    is_completed, result = (found[0][1], found[0][2]) if found else (False, None)
    return ClaimAnswer(ClaimState.COMPLETED, result) if is_completed else ClaimAnswer(ClaimState.IN_PROGRESS)


def complete_key(database: Database, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
    """
    Notes that the work is done, unless another job holds or has completed the key.
    """
    values: Values = {"has_result": result is not None, "result": result or "", "expires_at": lifetime}
    (((is_written,),),) = database.run("key_write", {**_values(claim), **values})
    return bool(is_written)


def release_key(database: Database, claim: Claim) -> bool:
    """
    Gives up the job's own claim.
    """
    (((gone,),),) = database.run("key_release", _values(claim))
    return bool(gone)


def prune_keys(database: Database, limit: int) -> int:
    """
    Deletes expired claims.
    """
    (((gone,),),) = database.run("keys_prune", {"most": min(limit, MAX_BATCH)})
    return int(gone)


def _values(claim: Claim) -> Values:
    return {"type_key": claim.type_key, "claim_key": claim.key + _STOP, "job_id": claim.job_id}
