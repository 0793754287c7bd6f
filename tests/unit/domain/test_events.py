from __future__ import annotations

import pytest

from chokaq_core.domain.events import EventName


def test_no_number_and_no_name_is_used_twice() -> None:
    assert len({event.id for event in EventName}) == len(EventName)
    assert len({event.title for event in EventName}) == len(EventName)


@pytest.mark.parametrize(
    "number,title",
    [
        (1000, "WorkerStarted"),
        (1001, "WorkerStopped"),
        (1002, "WorkerLoopCrashed"),
        (1003, "WorkerLoopStoppedUnexpectedly"),
        (1004, "WorkerCapacityChanged"),
        (1010, "PrefetchedJobReleased"),
        (1011, "PrefetchedJobReleaseFailed"),
        (1012, "ProcessingTaskDrainStarted"),
        (1013, "ProcessingTaskShutdownObserved"),
        (1014, "ProcessingTaskWrapperFailed"),
        (1015, "WorkerShutdownTimedOut"),
        (1016, "ProcessingTaskDrainTimedOut"),
        (2000, "JobCancellationRequested"),
        (2001, "CircuitBreakerRejected"),
        (2002, "JobExecutionLeaseRejected"),
        (2003, "JobSucceededArchived"),
        (2004, "JobShutdownRescheduled"),
        (2005, "JobTimedOutOrCancelled"),
        (2006, "JobHeartbeatWriteFailed"),
        (2007, "JobHeartbeatThresholdReached"),
        (2008, "JobHeartbeatDegraded"),
        (2020, "JobFatalErrorDlq"),
        (2021, "JobThrottledRetryScheduled"),
        (2022, "JobTransientRetryScheduled"),
        (2023, "JobRetriesExhaustedDlq"),
        (2100, "StateTransitionNotApplied"),
        (2110, "NotificationFailed"),
        (3000, "EnqueueDuplicateSkipped"),
        (3001, "EnqueueNotificationFailed"),
        (4000, "ZombieRescueStarted"),
        (4001, "AbandonedJobsRecovered"),
        (4002, "ZombieJobsArchived"),
        (4003, "ZombieRescueCycleFailed"),
        (5000, "SqlInitializationStarted"),
        (5001, "SqlInitializationCompleted"),
        (5002, "SqlInitializationFailed"),
        (5003, "SqlScriptExecutionFailed"),
        (6000, "AdminCommandRejected"),
        (6001, "AdminCommandCompleted"),
    ],
)
def test_an_event_is_found_by_its_public_number_and_name(number: int, title: str) -> None:
    assert [event.title for event in EventName if event.id == number] == [title]


@pytest.mark.parametrize("event", EventName, ids=lambda event: event.name)
def test_an_event_is_named_in_code_as_in_public(event: EventName) -> None:
    assert event.title == "".join(word.capitalize() for word in event.name.split("_"))
    assert event.id // 1000 in range(1, 8)
