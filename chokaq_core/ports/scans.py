"""
What the timers' scans find and decide, and what is remembered of the timers themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from datetime import datetime

    from chokaq_core.domain.failures import ErrorFacts
    from chokaq_core.policy.after_failure import Verdict
    from chokaq_core.policy.rescue import Suspect


class MovedJob(Value):
    """
    A job that a scan moved.
    """

    job_id: str
    queue: str
    type_key: str
    attempt: int
    worker_id: str | None


class Suspects(Value):
    """
    Jobs whose heartbeat is too old, with the clock they were measured by.
    """

    now: datetime
    jobs: tuple[Suspect, ...]


class Burial(Value):
    """
    A verdict on one suspect, as it was read, with what to remember.
    """

    suspect: Suspect
    verdict: Verdict
    error: ErrorFacts


class TimerRow(Value):
    """
    What is known of a timer.
    """

    now: datetime
    last_started_at: datetime | None
    last_succeeded_at: datetime | None
    last_outcome: str | None = None


class Demand(Value):
    """
    How much work waits and who is there for it.

    Attributes:
        claimable: due jobs that may be claimed now, counted up to a bound: not those of closed queues, beyond a
            queue's limit, or of types held back by their circuits.
        looking_workers: workers that have room and have promised to look again.
    """

    now: datetime
    claimable: int
    looking_workers: int
