"""
What operators look at: lists, counts, groups of errors, counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from datetime import datetime

    from chokaq_core.domain.failures import FailureReason
    from chokaq_core.domain.listing import JobSummary, Position

MAX_LOOK = 10_000
"""No call that lists or counts jobs looks at more rows than this; it answers where to go on, or that there are more."""


class Totals(Value):
    """
    Counters of one queue over all workers and times.
    """

    succeeded: int = 0
    failed: int = 0
    retried: int = 0


class MetricBucket(Value):
    """
    What ended in one second: of one queue, outcome and reason, summed over workers.
    """

    at: datetime
    queue: str
    outcome: int
    reason: int
    completed: int
    duration_count: int
    total_duration_ms: float
    max_duration_ms: float


class JobPage(Value):
    """
    A part of a list.

    Attributes:
        further: where to go on. There may be one although the page is not full, even empty: one look went no further.
            None means that the list ends here.
    """

    now: datetime
    jobs: tuple[JobSummary, ...]
    further: Position | None = None


class JobCount(Value):
    """
    How many jobs match among the rows looked at; not complete when there are others.
    """

    count: int
    is_complete: bool


class ErrorGroup(Value):
    """
    Dead jobs of one type that ended by one type of error, for one reason.

    Attributes:
        error_type: None where no attempt failed, such as for a job that was cancelled while it waited.
        error_line: the last line of its newest job's error.
    """

    type_key: str
    error_type: str | None
    reason: FailureReason
    jobs: int
    first_failed_at: datetime
    last_failed_at: datetime
    newest_job_id: str
    error_line: str | None = None


class TopErrors(Value):
    """
    Groups of the newest dead jobs, largest first; not complete when there are older ones that were not looked at.
    """

    groups: tuple[ErrorGroup, ...]
    is_complete: bool


class PillarCounts(Value):
    """
    Rows in each pillar.
    """

    hot: int
    archive: int
    dlq: int
