"""
Jobs and runs as a worker holds them, for tests of the engine's bookkeeping.
"""

from __future__ import annotations

from datetime import timedelta

from chokaq_core.domain.job import ClaimedJob, EnqueueResult, Lease, Status
from chokaq_core.engine.run import Run
from tests.support.clock import NOON


def claimed_job(job_id: str, *, number: int = 1, status: Status = Status.PROCESSING) -> ClaimedJob:
    """
    A job that is leased to `worker-1`.
    """
    return ClaimedJob(
        lease=Lease(job_id, "worker-1", number),
        queue="default",
        type_key="t",
        payload="{}",
        status=status,
        attempt=1,
        interruptions=0,
        due_at=NOON,
        lifetime_start_at=NOON,
        claimed_at=NOON,
        created_by=None,
        trace_parent=None,
    )


def run_of(job_id: str, *, number: int = 1, timeout: timedelta = timedelta(minutes=1)) -> Run:
    """
    A run of such a job, whose handler enqueues nothing.
    """
    job = claimed_job(job_id, number=number)
    return Run(job, None, timeout, lambda *_, **__: EnqueueResult("never"), attempt=1)
