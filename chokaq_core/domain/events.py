"""
What happened, as named facts. Wording, levels, metrics and spans are made from these in `telemetry`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value, field

if TYPE_CHECKING:
    from collections.abc import Mapping


class EventName(Enum):
    """
    Stable id and name of every event. Ids are never reused or renamed; new ones are appended inside their area.

    1000 worker, 2000 job, 2100 transitions, 3000 enqueue, 4000 rescue, 5000 storage, 6000 operator, 7000 hosting.

    Attributes:
        id: the stable number.
        title: the stable name.
    """

    id: int
    title: str

    WORKER_STARTED = (1000, "WorkerStarted")
    WORKER_STOPPED = (1001, "WorkerStopped")
    WORKER_LOOP_CRASHED = (1002, "WorkerLoopCrashed")
    WORKER_LOOP_STOPPED_UNEXPECTEDLY = (1003, "WorkerLoopStoppedUnexpectedly")
    WORKER_CAPACITY_CHANGED = (1004, "WorkerCapacityChanged")
    WORKER_LOOP_RECOVERED = (1005, "WorkerLoopRecovered")
    WORKER_ALL_SLOTS_ABANDONED = (1006, "WorkerAllSlotsAbandoned")
    PREFETCHED_JOB_RELEASED = (1010, "PrefetchedJobReleased")
    PREFETCHED_JOB_RELEASE_FAILED = (1011, "PrefetchedJobReleaseFailed")
    PROCESSING_TASK_DRAIN_STARTED = (1012, "ProcessingTaskDrainStarted")
    PROCESSING_TASK_SHUTDOWN_OBSERVED = (1013, "ProcessingTaskShutdownObserved")
    PROCESSING_TASK_WRAPPER_FAILED = (1014, "ProcessingTaskWrapperFailed")
    WORKER_SHUTDOWN_TIMED_OUT = (1015, "WorkerShutdownTimedOut")
    PROCESSING_TASK_DRAIN_TIMED_OUT = (1016, "ProcessingTaskDrainTimedOut")
    JOB_CANCELLATION_REQUESTED = (2000, "JobCancellationRequested")
    CIRCUIT_BREAKER_REJECTED = (2001, "CircuitBreakerRejected")
    JOB_EXECUTION_LEASE_REJECTED = (2002, "JobExecutionLeaseRejected")
    JOB_SUCCEEDED_ARCHIVED = (2003, "JobSucceededArchived")
    JOB_SHUTDOWN_RESCHEDULED = (2004, "JobShutdownRescheduled")
    JOB_TIMED_OUT_OR_CANCELLED = (2005, "JobTimedOutOrCancelled")
    JOB_HEARTBEAT_WRITE_FAILED = (2006, "JobHeartbeatWriteFailed")
    JOB_HEARTBEAT_THRESHOLD_REACHED = (2007, "JobHeartbeatThresholdReached")
    JOB_HEARTBEAT_DEGRADED = (2008, "JobHeartbeatDegraded")
    JOB_POSTPONED = (2009, "JobPostponed")
    JOB_ABANDONED = (2010, "JobAbandoned")
    JOB_STARTED = (2011, "JobStarted")
    JOB_FATAL_ERROR_DLQ = (2020, "JobFatalErrorDlq")
    JOB_THROTTLED_RETRY_SCHEDULED = (2021, "JobThrottledRetryScheduled")
    JOB_TRANSIENT_RETRY_SCHEDULED = (2022, "JobTransientRetryScheduled")
    JOB_RETRIES_EXHAUSTED_DLQ = (2023, "JobRetriesExhaustedDlq")
    CIRCUIT_CHANGED = (2030, "CircuitChanged")
    IDEMPOTENCY_CLAIM_ANSWERED = (2040, "IdempotencyClaimAnswered")
    STATE_TRANSITION_NOT_APPLIED = (2100, "StateTransitionNotApplied")
    NOTIFICATION_FAILED = (2110, "NotificationFailed")
    ENQUEUE_DUPLICATE_SKIPPED = (3000, "EnqueueDuplicateSkipped")
    ENQUEUE_NOTIFICATION_FAILED = (3001, "EnqueueNotificationFailed")
    JOB_ENQUEUED = (3002, "JobEnqueued")
    ZOMBIE_RESCUE_STARTED = (4000, "ZombieRescueStarted")
    ABANDONED_JOBS_RECOVERED = (4001, "AbandonedJobsRecovered")
    ZOMBIE_JOBS_ARCHIVED = (4002, "ZombieJobsArchived")
    ZOMBIE_RESCUE_CYCLE_FAILED = (4003, "ZombieRescueCycleFailed")
    ZOMBIE_RESCUE_ARMED = (4004, "ZombieRescueArmed")
    SQL_INITIALIZATION_STARTED = (5000, "SqlInitializationStarted")
    SQL_INITIALIZATION_COMPLETED = (5001, "SqlInitializationCompleted")
    SQL_INITIALIZATION_FAILED = (5002, "SqlInitializationFailed")
    SQL_SCRIPT_EXECUTION_FAILED = (5003, "SqlScriptExecutionFailed")
    ADMIN_COMMAND_REJECTED = (6000, "AdminCommandRejected")
    ADMIN_COMMAND_COMPLETED = (6001, "AdminCommandCompleted")
    CONFIGURATION_INVALID = (7000, "ConfigurationInvalid")
    STORE_CHOSEN = (7001, "StoreChosen")
    WAKE_MALFORMED = (7002, "WakeMalformed")
    INVOCATION_SKIPPED = (7003, "InvocationSkipped")
    CONFIGURATION_LOADED = (7004, "ConfigurationLoaded")

    def __init__(self, number: int, title: str) -> None:
        self.id = number
        self.title = title

    # By identity, as they are compared: an enumeration's own hash is Python code, and each event is looked up often.
    __hash__ = object.__hash__


class JobRef(Value):
    """
    Which job an event is about; tags of metrics come from here and never from a payload.
    """

    id: str
    type_key: str
    queue: str
    attempt: int | None = None
    worker_id: str | None = None


class Event(Value):
    """
    One thing that happened. `facts` hold JSON-able values and never a payload or a secret.
    """

    name: EventName
    job: JobRef | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    error: BaseException | None = None
