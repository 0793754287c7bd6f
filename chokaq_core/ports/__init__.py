"""
What the engine, the operators and the hosts ask of the outside: the store's contract, wakes, events.

Every store method is one transaction and one round trip. A move whose guard is false changes nothing and is reported as
*stale*, an ordinary value. An exception means "unknown": the caller repeats the same call, and every write is safe to
repeat. All times are the database's clock, in UTC.

Raised by every method:
    StoreUnavailableError: away or busy; repeat the call.
    StoreRefusedError: the schema, a permission or the disk needs a person.
"""

from __future__ import annotations

from chokaq_core.ports.claims import Claim, ClaimAnswer, ClaimState, ClaimStore
from chokaq_core.ports.commands import CancelOutcome, Edit, QueueChange, QueueRow, ResurrectOutcome
from chokaq_core.ports.job_store import JobStore
from chokaq_core.ports.jobs import MAX_BATCH, EnqueueAnswer, EnqueueItem, EnqueueOutcome, Turn, TurnAnswer
from chokaq_core.ports.maintenance import MaintenanceStore
from chokaq_core.ports.operator_store import OperatorStore
from chokaq_core.ports.readings import (
    MAX_LOOK,
    ErrorGroup,
    JobCount,
    JobPage,
    MetricBucket,
    PillarCounts,
    TopErrors,
    Totals,
)
from chokaq_core.ports.scans import Burial, Demand, MovedJob, Suspects, TimerRow
from chokaq_core.ports.store import Store
from chokaq_core.ports.telemetry import Events, Tracing
from chokaq_core.ports.vitals import Census, SchemaState, Vitals
from chokaq_core.ports.wakes import WAKE_HORIZON, WakeSender
from chokaq_core.ports.workers import Beat, BeatAnswer, HeldJob, Progress, WorkerFacts, WorkerState

__all__ = [
    "MAX_BATCH",
    "MAX_LOOK",
    "WAKE_HORIZON",
    "Beat",
    "BeatAnswer",
    "Burial",
    "CancelOutcome",
    "Census",
    "Claim",
    "ClaimAnswer",
    "ClaimState",
    "ClaimStore",
    "Demand",
    "Edit",
    "EnqueueAnswer",
    "EnqueueItem",
    "EnqueueOutcome",
    "ErrorGroup",
    "Events",
    "HeldJob",
    "JobCount",
    "JobPage",
    "JobStore",
    "MaintenanceStore",
    "MetricBucket",
    "MovedJob",
    "OperatorStore",
    "PillarCounts",
    "Progress",
    "QueueChange",
    "QueueRow",
    "ResurrectOutcome",
    "SchemaState",
    "Store",
    "Suspects",
    "TimerRow",
    "TopErrors",
    "Totals",
    "Tracing",
    "Turn",
    "TurnAnswer",
    "Vitals",
    "WakeSender",
    "WorkerFacts",
    "WorkerState",
]
