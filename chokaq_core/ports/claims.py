"""
Claims on idempotency keys, and the part of a store that keeps them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from datetime import timedelta


class Claim(Value):
    """
    One job's claim on an idempotency key. Keys of different types have nothing to do with each other.
    """

    type_key: str
    key: str
    job_id: str


class ClaimState(StrEnum):
    """
    How a claim was answered: this job may run, another job runs, or the work is done.
    """

    CLAIMED = "claimed"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class ClaimAnswer(Value):
    """
    The answer to a claim, with the result that was kept when the work is done.
    """

    state: ClaimState
    result: str | None = None


class ClaimStore(Protocol):
    """
    Who runs, or ran, the work behind an idempotency key. Each method is atomic; lifetimes are of the store's own clock.

    What has expired is as if it had never been. Keys are compared character by character.
    """

    def claim_key(self, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
        """
        Claims the key for a while: unless another job holds it, or any job has completed it, the job holds it now.

        A job that holds the key already claims it afresh.
        """

    def complete_key(self, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
        """
        Notes that the work is done, with its result as JSON text; None keeps it for ever.

        False, and nothing noted, when another job holds or has completed the key: the claim had expired meanwhile.
        Repeated by the job that completed it, it is true again.
        """

    def release_key(self, claim: Claim) -> bool:
        """
        Gives up the job's own claim on work that is not done; False when it held none.
        """

    def prune_keys(self, limit: int) -> int:
        """
        Deletes up to so many expired claims; says how many.
        """
