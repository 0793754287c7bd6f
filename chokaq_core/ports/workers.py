"""
What a worker says of itself and of the jobs that it holds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from chokaq_core.domain.job import Lease


class Progress(Value):
    """
    How far a running job is, for the next heartbeat.
    """

    lease: Lease
    percent: int
    note: str | None


class Beat(Value):
    """
    One heartbeat for all running jobs of a worker.
    """

    worker_id: str
    progress: tuple[Progress, ...] = ()
    active: int = 0
    abandoned: int = 0
    capacity: int = 0


class HeldJob(Value):
    """
    A job held in a worker's name, as a heartbeat finds it.
    """

    lease_number: int
    is_running: bool
    is_cancel_requested: bool
    cancel_requested_by: str | None = None


class BeatAnswer(Value):
    """
    Every job held in the worker's name, by id. What is missing was lost.
    """

    held: Mapping[str, HeldJob]


class WorkerState(StrEnum):
    """
    What a worker says of itself.
    """

    RUNNING = "running"
    DRAINING = "draining"
    STOPPED = "stopped"


class WorkerFacts(Value):
    """
    A worker's row.
    """

    worker_id: str
    host: str
    capacity: int
    state: WorkerState = WorkerState.RUNNING
    active: int = 0
    abandoned: int = 0
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None
