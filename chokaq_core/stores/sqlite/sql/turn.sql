-- A worker's turn: settle, start, claim. Tables in order: Turns, Queues, JobsHot, JobsArchive, JobsDLQ, StatsSummary,
-- MetricBuckets, Workers. Rows of JobsHot are found by primary key, or where they are stored once that is known; `+` keeps
-- a guard from choosing another index.

-- name: turn_look
-- only: sqlite, because a T-SQL batch looks at each of these where it needs it.
-- The worker's last turn, and what most turns need to know to leave out the rest: whether any type has a circuit and any
-- queue is open, and when the first job is due that waits for its due time.
-- 1 worker.
SELECT
    (SELECT Seq FROM Turns WHERE WorkerId = ?1),
    EXISTS(SELECT 1 FROM Circuits),
    EXISTS(SELECT 1 FROM Queues WHERE IsPaused = 0 AND IsActive = 1),
    (SELECT min(DueAtUtc) FROM JobsHot WHERE IsReady = 0 AND Status = 0);

-- name: turn_answer
-- The commit marker, with what a repeat of the turn has to say again.
INSERT INTO Turns (WorkerId, Seq, Stale, Answer) VALUES (:worker, :seq, :stale, :answer)
ON CONFLICT (WorkerId) DO UPDATE SET Seq = excluded.Seq, Stale = excluded.Stale, Answer = excluded.Answer;

-- name: turn_answered
SELECT Stale, Answer FROM Turns WHERE WorkerId = :worker;

-- name: turn_held
-- What this worker holds of the given jobs, with what the guards of its moves need: as one row, like `beat_held`.
SELECT json_group_array(
    json_array(
        h.Id, h.rowid, h.LeaseNumber, h.Status, h.Queue, h.Type, h.CancelRequestedUtc IS NOT NULL, h.CancelRequestedBy
    )
) FROM json_each(:ids) AS i CROSS JOIN JobsHot AS h ON h.Id = i.value
WHERE +h.WorkerId = :worker;

-- name: turn_complete
-- Move complete: Processing → Archive, for a whole batch. The rows were found held under the same write lock. `:endings`
-- maps places in the table to durations, or to [duration, result, note] where there is a result or a note.
INSERT INTO JobsArchive (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FinishedAtUtc, DurationMs, Result, ResultNote
)
SELECT
    h.Id, h.Queue, h.Type, h.Payload, h.Tags, h.IdempotencyKey, h.Priority, h.AttemptCount, h.LeaseNumber,
    h.Interruptions, h.WorkerId, h.DueAtUtc, h.CreatedAtUtc, h.StartedAtUtc, :now, h.LifetimeStartUtc, h.AttemptErrors,
    h.TraceParent, h.CreatedBy, h.LastModifiedBy, :now,
    iif(e.type = 'array', json_extract(e.value, '$[0]'), e.atom),
    iif(e.type = 'array', json_extract(e.value, '$[1]'), NULL),
    iif(e.type = 'array', json_extract(e.value, '$[2]'), NULL)
FROM json_each(:endings) AS e CROSS JOIN JobsHot AS h ON h.rowid = e.key;

-- name: turn_result
-- only: sqlite, because all text of a T-SQL batch comes beside its JSON, whatever its length.
-- Texts that are long, or that JSON in SQLite would cut short.
UPDATE JobsArchive SET Result = :result, ResultNote = :result_note WHERE Id = :id;

-- name: turn_leave_completed
-- only: sqlite, because one statement takes all jobs out of JobsHot in T-SQL, `turn_leave_hot`.
DELETE FROM JobsHot WHERE rowid IN (SELECT key FROM json_each(:endings));

-- name: turn_dead_letter
-- Move dead_letter (and cancel, and bury): → DLQ, the error appended to the attempts, of which the last ten are kept.
-- Whoever asked for the cancellation of a job that ends as Cancelled (reason 1) was the last to change it.
INSERT INTO JobsDLQ (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FailureReason, ErrorType, ErrorDetails, FailedAtUtc
)
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, :now, LifetimeStartUtc,
    iif(:error_type IS NULL, AttemptErrors, json_insert(
        iif(json_array_length(AttemptErrors) >= 10, json_remove(AttemptErrors, '$[0]'), coalesce(AttemptErrors, '[]')),
        '$[#]', json_object('attempt', AttemptCount, 'at', :now, 'type', :error_type, 'message', :message)
    )),
    TraceParent, CreatedBy, coalesce(:actor, iif(:reason = 1, CancelRequestedBy, NULL), LastModifiedBy),
    :reason, :error_type, :details, :now
FROM JobsHot
WHERE Id = :id;

-- name: turn_retry
-- Move retry (and bury of a job that re-runs after a loss): → Pending, due later, the error appended.
UPDATE JobsHot SET
    Status = 0, IsReady = :delay <= 0, WorkerId = NULL, HeartbeatUtc = NULL, StartedAtUtc = NULL,
    DueAtUtc = min(:now + :delay, 253402300799999999), LastUpdatedUtc = :now, Progress = NULL, ProgressNote = NULL,
    AttemptErrors = json_insert(
        iif(json_array_length(AttemptErrors) >= 10, json_remove(AttemptErrors, '$[0]'), coalesce(AttemptErrors, '[]')),
        '$[#]', json_object('attempt', AttemptCount, 'at', :now, 'type', :error_type, 'message', :message)
    )
WHERE Id = :id;

-- name: turn_postpone
-- Move postpone: → Pending, due later; an attempt that had begun is not counted.
UPDATE JobsHot SET
    AttemptCount = AttemptCount - (Status = 2), Status = 0, IsReady = :delay <= 0, WorkerId = NULL, HeartbeatUtc = NULL,
    StartedAtUtc = NULL, DueAtUtc = min(:now + :delay, 253402300799999999), LastUpdatedUtc = :now,
    Progress = NULL, ProgressNote = NULL
WHERE Id = :id;

-- name: turn_release
-- Moves release and recover: Fetched → Pending, claimable again in its old place.
UPDATE JobsHot SET Status = 0, IsReady = 1, WorkerId = NULL, HeartbeatUtc = NULL, LastUpdatedUtc = :now
WHERE Id = :id;

-- name: turn_hand_back
-- Move hand_back: Processing → Pending, due now, the interruption counted instead of the attempt.
UPDATE JobsHot SET
    AttemptCount = AttemptCount - 1, Interruptions = Interruptions + 1, Status = 0, IsReady = 1, WorkerId = NULL,
    HeartbeatUtc = NULL, StartedAtUtc = NULL, DueAtUtc = :now, LastUpdatedUtc = :now, Progress = NULL,
    ProgressNote = NULL
WHERE Id = :id;

-- name: turn_leave_hot
DELETE FROM JobsHot WHERE Id = :id;

-- name: turn_start
-- Move start: Fetched → Processing, for a whole batch. `:leases` maps ids to lease numbers.
UPDATE JobsHot SET
    Status = 2, AttemptCount = AttemptCount + 1, StartedAtUtc = :now, HeartbeatUtc = :now, LastUpdatedUtc = :now
FROM json_each(:leases) AS l
WHERE JobsHot.Id = l.key AND +LeaseNumber = l.atom AND +WorkerId = :worker AND +Status = 1;

-- name: turn_stats
-- This worker's own shard, so that workers never wait for each other's counters.
INSERT INTO StatsSummary (Queue, Shard, SucceededTotal, FailedTotal, RetriedTotal, LastActivityUtc)
VALUES (:queue, :shard, :succeeded, :failed, :retried, :now)
ON CONFLICT (Queue, Shard) DO UPDATE SET
    SucceededTotal = SucceededTotal + excluded.SucceededTotal, FailedTotal = FailedTotal + excluded.FailedTotal,
    RetriedTotal = RetriedTotal + excluded.RetriedTotal, LastActivityUtc = excluded.LastActivityUtc;

-- name: turn_bucket
INSERT INTO MetricBuckets (
    BucketUtc, Queue, Outcome, Reason, Shard, CompletedCount, DurationCount, TotalDurationMs, MaxDurationMs
)
VALUES (:bucket, :queue, :outcome, :reason, :shard, :completed, :duration_count, :total_ms, :max_ms)
ON CONFLICT (BucketUtc, Queue, Outcome, Reason, Shard) DO UPDATE SET
    CompletedCount = CompletedCount + excluded.CompletedCount, DurationCount = DurationCount + excluded.DurationCount,
    TotalDurationMs = TotalDurationMs + excluded.TotalDurationMs,
    MaxDurationMs = max(MaxDurationMs, excluded.MaxDurationMs);

-- name: turn_promise
-- What producers read to know whether a worker will look again by itself. A turn is a sign of life like a heartbeat: a
-- worker of short jobs takes many turns and hardly ever has a job that lives until a heartbeat.
UPDATE Workers SET LookingUntilUtc = :looking_until, HeartbeatUtc = :now WHERE WorkerId = :worker;
