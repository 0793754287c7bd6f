-- One job from whichever pillar holds it. Columns in the order of the row classes.

-- name: find
-- only: sqlserver, because one batch is one round trip. Read in the order in which jobs move; Hot once more at the end, for a
-- job that was resurrected meanwhile.
-- takes: id varchar(50)
-- include: find_hot
-- include: find_archived
-- include: find_dead
-- include: find_hot

-- name: find_hot
SELECT
    h.Id, h.Queue, h.Type, h.Payload, h.Tags, h.IdempotencyKey, h.Priority, h.AttemptCount, h.LeaseNumber,
    h.Interruptions, h.WorkerId, h.DueAtUtc, h.CreatedAtUtc, h.StartedAtUtc, h.LastUpdatedUtc, h.LifetimeStartUtc,
    h.AttemptErrors, h.TraceParent, h.CreatedBy, h.LastModifiedBy, h.Status, h.HeartbeatUtc, h.CancelRequestedUtc,
    h.CancelRequestedBy, h.Progress, h.ProgressNote, h.IsReady
FROM [chokaq].JobsHot AS h WHERE h.Id = @id;

-- name: find_archived
SELECT
    a.Id, a.Queue, a.Type, a.Payload, a.Tags, a.IdempotencyKey, a.Priority, a.AttemptCount, a.LeaseNumber,
    a.Interruptions, a.WorkerId, a.DueAtUtc, a.CreatedAtUtc, a.StartedAtUtc, a.LastUpdatedUtc, a.LifetimeStartUtc,
    a.AttemptErrors, a.TraceParent, a.CreatedBy, a.LastModifiedBy, a.FinishedAtUtc, a.DurationMs, a.Result, a.ResultNote
FROM [chokaq].JobsArchive AS a WHERE a.Id = @id;

-- name: find_dead
SELECT
    d.Id, d.Queue, d.Type, d.Payload, d.Tags, d.IdempotencyKey, d.Priority, d.AttemptCount, d.LeaseNumber,
    d.Interruptions, d.WorkerId, d.DueAtUtc, d.CreatedAtUtc, d.StartedAtUtc, d.LastUpdatedUtc, d.LifetimeStartUtc,
    d.AttemptErrors, d.TraceParent, d.CreatedBy, d.LastModifiedBy, d.FailureReason, d.ErrorType, d.ErrorDetails,
    d.FailedAtUtc
FROM [chokaq].JobsDLQ AS d WHERE d.Id = @id;
