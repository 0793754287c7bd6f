-- A worker's turn: settle, start, claim. One transaction, one round trip.
--
-- Tables in order: Turns, JobsHot (promotion: rows nobody waits for), Queues, JobsHot, JobsArchive, JobsDLQ, StatsSummary,
-- MetricBuckets, Circuits, JobsHot (claim: never waits, it skips what is locked), Circuits, Workers, Timers. Queues come before
-- the jobs that are settled, so that nobody who waits for a queue's row holds a job. Results are selected after COMMIT:
-- seeing them proves the commit. Rows of JobsHot are found by primary key; a guard that names an indexed column would
-- let the planner walk another index.

-- name: turn
-- only: sqlserver, because one batch is one round trip; SQLite's store runs the parts one by one.
-- takes: worker varchar(100), seq bigint, moves nvarchar(max), reports nvarchar(max), lanes nvarchar(max),
--   texts nvarchar(max), want int, prefetch int, after_queue varchar(255), looking_until ahead null, has_circuits bit,
--   failure_threshold int, oldest_failure ago, reset_at ahead, probe_until ahead, wake_horizon ahead
DECLARE @room int = @want + @prefetch, @is_fresh int, @stale varchar(max), @cancelled varchar(max), @is_full bit = 0;
DECLARE @last_queue varchar(255) = @after_queue, @next_due datetime2(6), @has_open_queue bit;
-- include: tables_of_moves
-- include: tables_of_claims
-- include: tables_of_circuits
-- include: tables_of_wakes
BEGIN TRANSACTION;
-- include: turn_mark
IF @is_fresh = 1
BEGIN
    -- include: turn_given
    IF @room > 0
    BEGIN
        -- include: claim_promote
        INSERT INTO @limit (Queue)
        SELECT q.Name FROM [chokaq].Queues AS q
        WHERE q.MaxWorkers IS NOT NULL AND q.IsPaused = 0 AND q.IsActive = 1;
        -- include: claim_limits
    END;
    IF EXISTS (SELECT 1 FROM @given)
    BEGIN
        -- include: turn_held
        SELECT @stale = STRING_AGG(CAST(g.Id AS varchar(max)), ' ') FROM @given AS g
        WHERE NOT EXISTS (SELECT 1 FROM @move AS m WHERE m.Id = g.Id);
        SELECT @cancelled = STRING_AGG(CAST(m.Id AS varchar(max)), ' ') FROM @move AS m WHERE m.IsCancelled = 1;
        -- include: turn_start
        -- include: turn_complete
        -- include: turn_dead_letter
        -- include: turn_retry
        -- include: turn_postpone
        -- include: turn_release
        -- include: turn_hand_back
        -- include: turn_leave_hot
        -- include: turn_stats
        -- include: turn_bucket
    END;
    -- include: claim_busy
    -- include: circuits_hear
    -- include: circuits_released
    IF @room > 0
    BEGIN
        -- include: claim_heads
        -- include: claim_filtered
        -- include: claim_probes
        -- include: claim_lane
        -- include: claim_slots
        -- include: claim
        -- include: claim_circuits
        SELECT @is_full = CASE WHEN COUNT(*) >= @room THEN 1 ELSE 0 END FROM @claimed;
        SELECT TOP (1) @last_queue = k.Queue FROM @claimed AS k ORDER BY k.Ord DESC;
    END;
    -- include: claim_has_open_queue
    -- include: turn_promise
    IF @is_full = 0 OR EXISTS (SELECT 1 FROM @move AS m WHERE m.Move IN ('retry', 'postpone'))
    BEGIN
        -- include: wake_closed
        -- include: wake_held
        SELECT @wake_at = MIN(CASE WHEN u.UntilUtc > m.DueAtUtc THEN u.UntilUtc ELSE m.DueAtUtc END)
        FROM @move AS m INNER JOIN [chokaq].JobsHot AS h ON h.Id = m.Id LEFT JOIN @held AS u ON u.Type = h.Type
        WHERE m.Move IN ('retry', 'postpone') AND NOT EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = m.Queue);
        -- include: wake_ask
    END;
    IF @is_full = 0
    BEGIN
        -- include: wake_next_due
        -- include: wake_next_open
        SET @next_due = @opens_at;
    END;
    -- include: turn_answer
END;
-- include: turn_lost
-- include: claim_again
COMMIT TRANSACTION;
-- include: turn_answered
-- include: circuits_notable

-- name: tables_of_moves
-- only: sqlserver, because a batch works on sets: what was given, and what of it holds and moves.
DECLARE @given TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    LeaseNumber int NULL,
    HeartbeatUtc datetime2(6) NULL,
    Move varchar(12) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Reason int NULL,
    DurationMs float NULL,
    DueAtUtc datetime2(6) NULL,
    ErrorType nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    Entry nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Details nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Result nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    ResultNote nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL
);
DECLARE @move TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Move varchar(12) COLLATE Latin1_General_100_BIN2 NOT NULL,
    IsCancelled bit NOT NULL,
    Reason int NULL,
    DurationMs float NULL,
    DueAtUtc datetime2(6) NULL,
    ErrorType nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    Entry nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Details nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Result nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    ResultNote nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    LastModifiedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL
);
DECLARE @second datetime2(6) = DATEADD(MICROSECOND, -DATEPART(MICROSECOND, @now), @now);
DECLARE @at varchar(30) = REPLACE(CONVERT(varchar(30), @now, 126), ' ', 'T') + 'Z';

-- name: turn_mark
-- only: sqlserver, because SQLite's store has the database to itself: it reads the marker first, `turn_look`, and writes it
-- last, with the answer.
-- The commit marker: one row changes for a new turn, none for a repeat. A repeat that overtakes its first try waits here.
UPDATE [chokaq].Turns SET Seq = @seq WHERE WorkerId = @worker AND Seq < @seq;
SET @is_fresh = @@ROWCOUNT;
IF @is_fresh = 0
BEGIN
    INSERT INTO [chokaq].Turns (WorkerId, Seq)
    SELECT @worker, @seq WHERE NOT EXISTS (SELECT 1 FROM [chokaq].Turns AS t WHERE t.WorkerId = @worker);
    SET @is_fresh = @@ROWCOUNT;
END;

-- name: turn_given
-- only: sqlserver, because the batch comes as one text: JSON of ids, names and numbers, which needs no unescaping, and all
-- other text in a second parameter, cut out by position. A due time past year 9999 is the last moment of it.
INSERT INTO @given (
    Id, LeaseNumber, HeartbeatUtc, Move, Reason, DurationMs, DueAtUtc, ErrorType, Entry, Details, Result, ResultNote
)
SELECT
    g.Id, g.LeaseNumber, g.HeartbeatUtc, g.Move, g.Reason, g.DurationMs,
    CASE
        WHEN g.DelayDays >= DATEDIFF(DAY, @now, '9999-12-31') THEN CAST('9999-12-31T23:59:59.999999' AS datetime2(6))
        ELSE DATEADD(DAY, g.DelayDays, DATEADD(SECOND, g.DelaySeconds, DATEADD(MICROSECOND, g.DelayMicros, @now)))
    END,
    LEFT(SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.TypeAt, g.TypeLength), 400),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.EntryAt, g.EntryLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.DetailsAt, g.DetailsLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.ResultAt, g.ResultLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.NoteAt, g.NoteLength)
FROM OPENJSON(@moves) WITH (
    Id varchar(50) '$.id',
    LeaseNumber int '$.lease',
    HeartbeatUtc datetime2(6) '$.beat',
    Move varchar(12) '$.move',
    Reason int '$.reason',
    DurationMs float '$.ms',
    DelayDays int '$.days',
    DelaySeconds int '$.seconds',
    DelayMicros int '$.micros',
    TypeAt int '$.type[0]',
    TypeLength int '$.type[1]',
    EntryAt int '$.entry[0]',
    EntryLength int '$.entry[1]',
    DetailsAt int '$.details[0]',
    DetailsLength int '$.details[1]',
    ResultAt int '$.result[0]',
    ResultLength int '$.result[1]',
    NoteAt int '$.note[0]',
    NoteLength int '$.note[1]'
) AS g;

-- name: turn_held
-- What this worker holds of the given jobs. The write is the lock: once it is done, the second statement finds exactly the
-- rows that it locked. Whatever the run of a job marked for cancellation came to but success, it ends as Cancelled (1).
UPDATE h SET LastUpdatedUtc = @now
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = g.Id
WHERE
    h.WorkerId = @worker AND h.LeaseNumber = g.LeaseNumber
    AND (
        (h.Status = 2 AND g.Move NOT IN ('release', 'start'))
        OR (h.Status = 1 AND g.Move IN ('release', 'start', 'postpone'))
    )
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @move (
    Id, Queue, Move, IsCancelled, Reason, DurationMs, DueAtUtc, ErrorType, Entry, Details, Result, ResultNote
)
SELECT
    x.Id, x.Queue,
    CASE WHEN x.IsCancelled = 1 THEN 'dead_letter' ELSE x.Move END,
    x.IsCancelled,
    CASE WHEN x.IsCancelled = 1 THEN 1 ELSE x.Reason END,
    x.DurationMs, x.DueAtUtc,
    CASE WHEN x.IsCancelled = 1 THEN COALESCE(x.ErrorType, N'Cancelled') ELSE x.ErrorType END,
    CASE
        WHEN x.IsCancelled = 1
            THEN COALESCE(x.Entry, N'"type": "Cancelled", "message": "' + REPLACE(REPLACE(REPLACE(
                x.CancelText, N'\', N'\\'), N'"', N'\"'), NCHAR(10), N'\n') + N'"}')
        ELSE x.Entry
    END,
    CASE WHEN x.IsCancelled = 1 THEN COALESCE(x.Details, x.CancelText) ELSE x.Details END,
    x.Result, x.ResultNote
FROM (
    SELECT
        g.*, h.Queue,
        CAST(CASE
            WHEN h.CancelRequestedUtc IS NULL OR g.Move IN ('complete', 'start') THEN 0
            WHEN g.Move = 'dead_letter' AND g.Reason = 1 THEN 0
            ELSE 1
        END AS bit) AS IsCancelled,
        N'cancelled' + COALESCE(N' by ' + NULLIF(h.CancelRequestedBy, N''), N'') AS CancelText
    FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.Id = g.Id
    WHERE
        h.WorkerId = @worker AND h.LeaseNumber = g.LeaseNumber
        AND (
            (h.Status = 2 AND g.Move NOT IN ('release', 'start'))
            OR (h.Status = 1 AND g.Move IN ('release', 'start', 'postpone'))
        )
) AS x;

-- name: turn_complete
-- Move complete: Processing → Archive. The rows were locked before.
INSERT INTO [chokaq].JobsArchive (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FinishedAtUtc, DurationMs, Result, ResultNote
)
SELECT
    h.Id, h.Queue, h.Type, h.Payload, h.Tags, h.IdempotencyKey, h.Priority, h.AttemptCount, h.LeaseNumber,
    h.Interruptions, h.WorkerId, h.DueAtUtc, h.CreatedAtUtc, h.StartedAtUtc, @now, h.LifetimeStartUtc, h.AttemptErrors,
    h.TraceParent, h.CreatedBy, h.LastModifiedBy, @now, m.DurationMs, m.Result, m.ResultNote
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h ON h.Id = m.Id
WHERE m.Move = 'complete';

-- name: turn_dead_letter
-- Move dead_letter (and cancel, and bury): → DLQ, the error appended to the attempts, of which the last ten are kept. Each
-- entry of AttemptErrors stands on a line of its own, so the first one ends at the first comma before a line break.
-- Whoever asked for the cancellation of a job that ends as Cancelled (reason 1) was the last to change it.
INSERT INTO [chokaq].JobsDLQ (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, AttemptCount, LeaseNumber, Interruptions, WorkerId,
    DueAtUtc, CreatedAtUtc, StartedAtUtc, LastUpdatedUtc, LifetimeStartUtc, AttemptErrors, TraceParent, CreatedBy,
    LastModifiedBy, FailureReason, ErrorType, ErrorDetails, FailedAtUtc
)
SELECT
    h.Id, h.Queue, h.Type, h.Payload, h.Tags, h.IdempotencyKey, h.Priority, h.AttemptCount, h.LeaseNumber,
    h.Interruptions, h.WorkerId, h.DueAtUtc, h.CreatedAtUtc, h.StartedAtUtc, @now, h.LifetimeStartUtc,
    CASE WHEN m.Entry IS NULL THEN h.AttemptErrors ELSE
        CASE
            WHEN h.AttemptErrors IS NULL THEN N'['
            WHEN LEN(h.AttemptErrors) - LEN(REPLACE(h.AttemptErrors, NCHAR(10), N'')) < 9
                THEN LEFT(h.AttemptErrors, LEN(h.AttemptErrors) - 1) + N',' + NCHAR(10)
            ELSE N'[' + SUBSTRING(
                LEFT(h.AttemptErrors, LEN(h.AttemptErrors) - 1),
                CHARINDEX(N',' + NCHAR(10), h.AttemptErrors) + 2, LEN(h.AttemptErrors)
            ) + N',' + NCHAR(10)
        END + N'{"attempt": ' + CAST(h.AttemptCount AS nvarchar(11)) + N', "at": "' + @at + N'", ' + m.Entry + N']'
    END,
    h.TraceParent, h.CreatedBy,
    COALESCE(m.LastModifiedBy, CASE WHEN m.Reason = 1 THEN h.CancelRequestedBy END, h.LastModifiedBy),
    m.Reason, m.ErrorType, m.Details, @now
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h ON h.Id = m.Id
WHERE m.Move = 'dead_letter';

-- name: turn_retry
-- Move retry (and bury of a job that re-runs after a loss): → Pending, due later, the error appended.
UPDATE h SET
    Status = 0, IsReady = CASE WHEN m.DueAtUtc <= @now THEN 1 ELSE 0 END, WorkerId = NULL, HeartbeatUtc = NULL,
    StartedAtUtc = NULL, DueAtUtc = m.DueAtUtc, LastUpdatedUtc = @now, Progress = NULL, ProgressNote = NULL,
    AttemptErrors = CASE
        WHEN h.AttemptErrors IS NULL THEN N'['
        WHEN LEN(h.AttemptErrors) - LEN(REPLACE(h.AttemptErrors, NCHAR(10), N'')) < 9
            THEN LEFT(h.AttemptErrors, LEN(h.AttemptErrors) - 1) + N',' + NCHAR(10)
        ELSE N'[' + SUBSTRING(
            LEFT(h.AttemptErrors, LEN(h.AttemptErrors) - 1),
            CHARINDEX(N',' + NCHAR(10), h.AttemptErrors) + 2, LEN(h.AttemptErrors)
        ) + N',' + NCHAR(10)
    END + N'{"attempt": ' + CAST(h.AttemptCount AS nvarchar(11)) + N', "at": "' + @at + N'", ' + m.Entry + N']'
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move = 'retry'
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_postpone
-- Move postpone: → Pending, due later; an attempt that had begun is not counted.
UPDATE h SET
    AttemptCount = h.AttemptCount - CASE WHEN h.Status = 2 THEN 1 ELSE 0 END, Status = 0,
    IsReady = CASE WHEN m.DueAtUtc <= @now THEN 1 ELSE 0 END, WorkerId = NULL, HeartbeatUtc = NULL, StartedAtUtc = NULL,
    DueAtUtc = m.DueAtUtc, LastUpdatedUtc = @now, Progress = NULL, ProgressNote = NULL
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move = 'postpone'
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_release
-- Moves release and recover: Fetched → Pending, claimable again in its old place.
UPDATE h SET Status = 0, IsReady = 1, WorkerId = NULL, HeartbeatUtc = NULL, LastUpdatedUtc = @now
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move = 'release'
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_hand_back
-- Move hand_back: Processing → Pending, due now, the interruption counted instead of the attempt.
UPDATE h SET
    AttemptCount = h.AttemptCount - 1, Interruptions = h.Interruptions + 1, Status = 0, IsReady = 1, WorkerId = NULL,
    HeartbeatUtc = NULL, StartedAtUtc = NULL, DueAtUtc = @now, LastUpdatedUtc = @now, Progress = NULL,
    ProgressNote = NULL
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move = 'hand_back'
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_leave_hot
DELETE h
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move IN ('complete', 'dead_letter')
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_start
-- Move start: Fetched → Processing.
UPDATE h SET
    Status = 2, AttemptCount = h.AttemptCount + 1, StartedAtUtc = @now, HeartbeatUtc = @now, LastUpdatedUtc = @now
FROM @move AS m INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = m.Id
WHERE m.Move = 'start'
OPTION (LOOP JOIN, FORCE ORDER);

-- name: turn_stats
-- This worker's own shard, so that workers never wait for each other's counters. Insert what is missing, then add: MERGE
-- races. Two who insert the same row of a shared shard meet at the primary key; the loser repeats its whole call.
INSERT INTO [chokaq].StatsSummary (Queue, Shard)
SELECT DISTINCT m.Queue, @worker FROM @move AS m
WHERE
    m.Move IN ('complete', 'dead_letter', 'retry')
    AND NOT EXISTS (SELECT 1 FROM [chokaq].StatsSummary AS s WHERE s.Queue = m.Queue AND s.Shard = @worker);
UPDATE s SET
    SucceededTotal = s.SucceededTotal + a.Succeeded, FailedTotal = s.FailedTotal + a.Failed,
    RetriedTotal = s.RetriedTotal + a.Retried, LastActivityUtc = @now
FROM [chokaq].StatsSummary AS s
INNER JOIN (
    SELECT
        m.Queue,
        SUM(CASE WHEN m.Move = 'complete' THEN 1 ELSE 0 END) AS Succeeded,
        SUM(CASE WHEN m.Move = 'dead_letter' THEN 1 ELSE 0 END) AS Failed,
        SUM(CASE WHEN m.Move = 'retry' THEN 1 ELSE 0 END) AS Retried
    FROM @move AS m WHERE m.Move IN ('complete', 'dead_letter', 'retry') GROUP BY m.Queue
) AS a ON s.Queue = a.Queue
WHERE s.Shard = @worker;

-- name: turn_bucket
-- Added to the bucket of the current second. The cast to datetime2(0) would round half of them up.
INSERT INTO [chokaq].MetricBuckets (BucketUtc, Queue, Outcome, Reason, Shard)
SELECT DISTINCT @second, b.Queue, b.Outcome, b.Reason, @worker
FROM (
    SELECT
        m.Queue, CASE WHEN m.Move = 'complete' THEN 0 ELSE 1 END AS Outcome,
        CASE WHEN m.Move = 'complete' THEN -1 ELSE COALESCE(m.Reason, 0) END AS Reason
    FROM @move AS m WHERE m.Move IN ('complete', 'dead_letter')
) AS b
WHERE NOT EXISTS (
    SELECT 1 FROM [chokaq].MetricBuckets AS k
    WHERE k.BucketUtc = @second AND k.Queue = b.Queue AND k.Outcome = b.Outcome AND k.Reason = b.Reason AND k.Shard = @worker
);
UPDATE k SET
    CompletedCount = k.CompletedCount + b.Completed, DurationCount = k.DurationCount + b.DurationCount,
    TotalDurationMs = k.TotalDurationMs + b.TotalMs,
    MaxDurationMs = CASE WHEN b.MaxMs > k.MaxDurationMs THEN b.MaxMs ELSE k.MaxDurationMs END
FROM [chokaq].MetricBuckets AS k
INNER JOIN (
    SELECT
        c.Queue, c.Outcome, c.Reason, COUNT(*) AS Completed, COUNT(c.DurationMs) AS DurationCount,
        COALESCE(SUM(c.DurationMs), 0) AS TotalMs, COALESCE(MAX(c.DurationMs), 0) AS MaxMs
    FROM (
        SELECT
            m.Queue, m.DurationMs, CASE WHEN m.Move = 'complete' THEN 0 ELSE 1 END AS Outcome,
            CASE WHEN m.Move = 'complete' THEN -1 ELSE COALESCE(m.Reason, 0) END AS Reason
        FROM @move AS m WHERE m.Move IN ('complete', 'dead_letter')
    ) AS c
    GROUP BY c.Queue, c.Outcome, c.Reason
) AS b ON k.Queue = b.Queue AND k.Outcome = b.Outcome AND k.Reason = b.Reason
WHERE k.BucketUtc = @second AND k.Shard = @worker;

-- name: turn_promise
-- What producers read to know whether a worker will look again by itself; one whose slots are all taken promises nothing.
UPDATE [chokaq].Workers SET LookingUntilUtc = CASE WHEN @is_full = 0 THEN @looking_until END, HeartbeatUtc = @now
WHERE WorkerId = @worker;

-- name: turn_answer
-- What a repeat says again, beside the commit marker.
UPDATE [chokaq].Turns SET
    Stale = @stale, Cancelled = @cancelled,
    Claimed = (
        SELECT STRING_AGG(CAST(k.Id AS varchar(max)) + ':' + CAST(k.LeaseNumber AS varchar(11)), ' ') WITHIN GROUP (ORDER BY k.Ord)
        FROM @claimed AS k
    ),
    IsFull = @is_full, NextDueUtc = @next_due, HasOpenQueue = @has_open_queue, LastQueue = @last_queue,
    CircuitEvents = (
        SELECT STRING_AGG(CAST(e.Type AS varchar(max)) + ' ' + CAST(e.State AS varchar(3)) + ' ' + e.Name, ' ')
            WITHIN GROUP (ORDER BY e.Ord)
        FROM @event AS e
    ),
    WakeInMicros = @wake_in
WHERE WorkerId = @worker;

-- name: turn_answered
-- Selected after COMMIT. The rows' order stands in Claimed.
SELECT
    @now AS Now, @is_fresh AS IsFresh, CONCAT(t.Stale, ' ', @stale) AS Stale, t.Cancelled, t.Claimed, t.IsFull, t.NextDueUtc,
    t.HasOpenQueue, t.LastQueue, t.CircuitEvents, t.WakeInMicros
FROM [chokaq].Turns AS t WHERE t.WorkerId = @worker;
SELECT
    h.Id, h.LeaseNumber, h.Queue, h.Type, h.Payload, h.Status, h.AttemptCount, h.Interruptions, h.DueAtUtc,
    h.LifetimeStartUtc, h.CreatedBy, h.TraceParent, h.CancelRequestedUtc, k.Generation, k.IsProbe
FROM @claimed AS k INNER JOIN [chokaq].JobsHot AS h ON h.Id = k.Id
WHERE h.WorkerId = @worker AND h.LeaseNumber = k.LeaseNumber;
