"""
Idempotency claims in this process's memory: for tests, and for one process that may forget them when it ends.
"""

from __future__ import annotations

import heapq
import threading
import time
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.domain.value import Value
from chokaq_core.ports import ClaimAnswer, ClaimState

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from chokaq_core.ports import Claim

MAX_CLAIMS = 100_000
CLEANED_IN_PASSING = 16
"""Expired claims that each call removes, so that they go without a timer and no call waits for many."""

_Key = tuple[str, str]


class _Entry(Value):
    job_id: str
    is_completed: bool
    result: str | None
    expires_at: float


class MemoryClaims:
    """
    A claim store for one process. Safe to use from any thread.

    Args:
        capacity: claims that are kept at most; the completion that expires first makes room, running work never does.
        monotonic: the clock of all lifetimes, in seconds.
    """

    def __init__(self, capacity: int = MAX_CLAIMS, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._capacity = capacity
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._entries: dict[_Key, _Entry] = {}
        self._expiring: list[tuple[float, _Key]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def claim_key(self, claim: Claim, lifetime: timedelta) -> ClaimAnswer:
        """
        Claims the key for a while.

        Raises:
            StoreUnavailableError: the store is full of running work.
        """
        with self._lock:
            self._clean(CLEANED_IN_PASSING)
            entry = self._living(claim)
            if entry is not None and entry.is_completed:
                return ClaimAnswer(ClaimState.COMPLETED, entry.result)
            if entry is not None and entry.job_id != claim.job_id:
                return ClaimAnswer(ClaimState.IN_PROGRESS)
            self._keep(claim, _Entry(claim.job_id, False, None, self._ends(lifetime)))  # noqa: FBT003 - a column
            return ClaimAnswer(ClaimState.CLAIMED)

    def complete_key(self, claim: Claim, result: str | None, lifetime: timedelta | None) -> bool:
        """
        Notes that the work is done.
        """
        with self._lock:
            self._clean(CLEANED_IN_PASSING)
            entry = self._living(claim)
            if entry is not None and entry.job_id != claim.job_id:
                return False
            self._keep(claim, _Entry(claim.job_id, True, result, self._ends(lifetime)))  # noqa: FBT003
            return True

    def release_key(self, claim: Claim) -> bool:
        """
        Gives up the job's own claim.
        """
        with self._lock:
            self._clean(CLEANED_IN_PASSING)
            entry = self._living(claim)
            if entry is None or entry.is_completed or entry.job_id != claim.job_id:
                return False
            del self._entries[_key(claim)]
            return True

    def prune_keys(self, limit: int) -> int:
        """
        Deletes expired claims.
        """
        with self._lock:
            return self._clean(limit)

    def _living(self, claim: Claim) -> _Entry | None:
        entry = self._entries.get(_key(claim))
        return entry if entry is not None and entry.expires_at > self._monotonic() else None

    def _ends(self, lifetime: timedelta | None) -> float:
        return float("inf") if lifetime is None else self._monotonic() + lifetime.total_seconds()

    def _keep(self, claim: Claim, entry: _Entry) -> None:
        key = _key(claim)
        if key not in self._entries and len(self._entries) >= self._capacity:
            self._make_room()
        self._entries[key] = entry
        if entry.expires_at != float("inf"):
            heapq.heappush(self._expiring, (entry.expires_at, key))
        if len(self._expiring) > 2 * len(self._entries) + CLEANED_IN_PASSING:
            self._expiring = sorted((e.expires_at, k) for k, e in self._entries.items() if e.expires_at != float("inf"))

    def _make_room(self) -> None:
        now = self._monotonic()
        over = ((e.expires_at, key) for key, e in self._entries.items() if e.is_completed or e.expires_at <= now)
        nearest = min(over, default=None)
        if nearest is None:
            raise StoreUnavailableError(f"all {self._capacity} claims in memory are of running jobs")
        del self._entries[nearest[1]]

    def _clean(self, limit: int) -> int:
        """
        Removes up to so many expired entries. One that was replaced leaves a place in the order that means nothing.
        """
        now = self._monotonic()
        removed = 0
        while removed < limit and self._expiring and self._expiring[0][0] <= now:
            expires_at, key = heapq.heappop(self._expiring)
            entry = self._entries.get(key)
            if entry is not None and entry.expires_at == expires_at:
                del self._entries[key]
                removed += 1
        return removed


def _key(claim: Claim) -> _Key:
    return claim.type_key, claim.key
