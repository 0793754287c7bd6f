-- One job from whichever pillar holds it. Columns in the order of the row classes.

-- name: find_hot
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, Status, HeartbeatUtc, CancelRequestedUtc, CancelRequestedBy, Progress, ProgressNote, IsReady
FROM JobsHot WHERE Id = :id;

-- name: find_archived
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FinishedAtUtc, DurationMs, Result, ResultNote
FROM JobsArchive WHERE Id = :id;

-- name: find_dead
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FailureReason, ErrorType, ErrorDetails, FailedAtUtc
FROM JobsDLQ WHERE Id = :id;
