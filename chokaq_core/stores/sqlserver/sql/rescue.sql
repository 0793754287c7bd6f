-- Rescue: find what workers left behind. Every read of held rows seeks or scans IX_JobsHot_Active, which holds them alone.

-- name: recover
-- only: sqlserver, because one batch is one round trip. Tables in order: JobsHot, Circuits. The write is the lock: what
-- still holds after it is moved.
-- takes: older_than ago, most int, has_circuits bit
-- include: tables_of_moves
DECLARE @found TABLE (Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY, LeaseNumber int NOT NULL);
DECLARE @moved TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    AttemptCount int NOT NULL,
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NULL
);
BEGIN TRANSACTION;
-- include: recover_found
UPDATE h SET LastUpdatedUtc = @now
FROM @found AS f INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = f.Id
WHERE h.WorkerId IS NOT NULL AND h.LeaseNumber = f.LeaseNumber AND h.Status = 1 AND h.LastUpdatedUtc < @older_than
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @move (Id, Queue, Move, IsCancelled)
SELECT h.Id, h.Queue, 'release', 0
FROM @found AS f INNER JOIN [chokaq].JobsHot AS h ON h.Id = f.Id
WHERE h.WorkerId IS NOT NULL AND h.LeaseNumber = f.LeaseNumber AND h.Status = 1;
INSERT INTO @moved (Id, Type, AttemptCount, WorkerId)
SELECT h.Id, h.Type, h.AttemptCount, h.WorkerId FROM @move AS m INNER JOIN [chokaq].JobsHot AS h ON h.Id = m.Id;
-- include: turn_release
-- include: circuits_release
COMMIT TRANSACTION;
SELECT d.Id, m.Queue, d.Type, d.AttemptCount, d.WorkerId FROM @moved AS d INNER JOIN @move AS m ON m.Id = d.Id;

-- name: recover_found
INSERT INTO @found (Id, LeaseNumber)
SELECT TOP (@most) h.Id, h.LeaseNumber
FROM [chokaq].JobsHot AS h WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
WHERE h.WorkerId IS NOT NULL AND h.Status = 1 AND h.LastUpdatedUtc < @older_than;

-- name: suspects
-- Processing rows whose heartbeat is older than their queue's zombie timeout, else the default.
-- takes: default_timeout ago, most int
SELECT @now AS Now;
SELECT TOP (@most)
    h.Id, h.LeaseNumber, h.WorkerId, h.HeartbeatUtc, h.Queue, h.Type, h.AttemptCount, h.LifetimeStartUtc
FROM [chokaq].JobsHot AS h LEFT JOIN [chokaq].Queues AS q ON q.Name = h.Queue
WHERE
    h.WorkerId IS NOT NULL AND h.Status = 2
    AND h.HeartbeatUtc < CASE
        WHEN q.ZombieTimeoutSeconds IS NULL THEN @default_timeout
        ELSE DATEADD(SECOND, -q.ZombieTimeoutSeconds, @now)
    END;

-- name: bury
-- only: sqlserver, because one batch is one round trip. Tables in order: JobsHot, JobsDLQ, StatsSummary, MetricBuckets,
-- Circuits. A job that is marked for cancellation ends as Cancelled (1) where it would have been retried.
-- takes: worker varchar(100), moves nvarchar(max), texts nvarchar(max), has_circuits bit
-- include: tables_of_moves
-- include: turn_given
BEGIN TRANSACTION;
-- include: bury_still
-- include: turn_dead_letter
-- include: turn_retry
-- include: turn_leave_hot
-- include: turn_stats
-- include: turn_bucket
-- include: circuits_release
COMMIT TRANSACTION;
SELECT m.Id FROM @move AS m;

-- name: bury_still
-- Suspects that are still as they were read. The write is the lock; a beat in between makes the burial stale.
UPDATE h SET LastUpdatedUtc = @now
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = g.Id
WHERE h.LeaseNumber = g.LeaseNumber AND h.HeartbeatUtc = g.HeartbeatUtc AND h.Status = 2
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @move (Id, Queue, Move, IsCancelled, Reason, DueAtUtc, ErrorType, Entry, Details)
SELECT
    g.Id, h.Queue, CASE WHEN h.CancelRequestedUtc IS NULL THEN g.Move ELSE 'dead_letter' END, 0,
    CASE WHEN g.Move = 'retry' THEN 1 ELSE g.Reason END, g.DueAtUtc, g.ErrorType, g.Entry, g.Details
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.Id = g.Id
WHERE h.LeaseNumber = g.LeaseNumber AND h.HeartbeatUtc = g.HeartbeatUtc AND h.Status = 2;

-- name: timer_started
-- takes: name nvarchar(100)
DECLARE @started datetime2(6), @succeeded datetime2(6), @outcome nvarchar(max);
BEGIN TRANSACTION;
-- include: timer_row
UPDATE [chokaq].Timers SET LastStartedUtc = @now WHERE Name = @name;
IF @@ROWCOUNT = 0
    INSERT INTO [chokaq].Timers (Name, LastStartedUtc) VALUES (@name, @now);
COMMIT TRANSACTION;
SELECT @now AS Now, @started AS LastStartedUtc, @succeeded AS LastSucceededUtc, @outcome AS LastOutcome;

-- name: timer_row
SELECT @started = t.LastStartedUtc, @succeeded = t.LastSucceededUtc, @outcome = t.LastOutcome
FROM [chokaq].Timers AS t WHERE t.Name = @name;

-- name: timer_finished
-- takes: name nvarchar(100), outcome nvarchar(max), has_succeeded bit
UPDATE [chokaq].Timers SET
    LastSucceededUtc = CASE WHEN @has_succeeded = 1 THEN @now ELSE LastSucceededUtc END,
    LastOutcome = @outcome
WHERE Name = @name;

-- name: timers
-- Without the row that remembers the last delayed wake, which never started.
-- takes: nothing
SELECT @now AS Now, t.Name, t.LastStartedUtc, t.LastSucceededUtc, t.LastOutcome
FROM [chokaq].Timers AS t WHERE t.LastStartedUtc IS NOT NULL;

-- name: demand
-- only: sqlserver, because one batch is one round trip, and nothing is locked.
-- takes: most int, has_circuits bit, reset_at ahead, probe_until ahead
DECLARE @waiting TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    MaxWorkers int NULL,
    Jobs int NOT NULL
);
DECLARE @circuit TABLE (Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY, IsHeld bit NOT NULL);
INSERT INTO @circuit (Type, IsHeld)
SELECT
    c.Type, CASE
        WHEN c.State = 1 AND c.ResetAtUtc > @now AND c.ResetAtUtc <= @reset_at THEN 1
        WHEN c.State = 2 AND c.ProbeUntilUtc > @now AND c.ProbeUntilUtc <= @probe_until THEN 1
        ELSE 0
    END
FROM [chokaq].Circuits AS c WHERE c.State <> 0 AND @has_circuits = 1;
-- include: demand_lanes
-- include: demand_due
SELECT
    @now AS Now,
    (
        SELECT COALESCE(SUM(CASE
            WHEN w.MaxWorkers IS NULL OR w.Jobs <= w.MaxWorkers - w.Busy THEN w.Jobs
            WHEN w.MaxWorkers > w.Busy THEN w.MaxWorkers - w.Busy
            ELSE 0
        END), 0)
        FROM (
            SELECT
                g.MaxWorkers, g.Jobs,
                CASE WHEN g.MaxWorkers IS NULL THEN 0 ELSE (
                    SELECT COUNT(*) FROM [chokaq].JobsHot AS b WHERE b.WorkerId IS NOT NULL AND b.Queue = g.Queue
                ) END AS Busy
            FROM (
                SELECT r.Queue, MAX(r.MaxWorkers) AS MaxWorkers, SUM(r.Jobs) AS Jobs FROM @waiting AS r GROUP BY r.Queue
            ) AS g
        ) AS w
    ) AS Claimable,
    (
        SELECT COUNT(*) FROM [chokaq].Workers AS k WHERE k.LookingUntilUtc > @now AND k.State = 'running'
    ) AS LookingWorkers;

-- name: demand_lanes
-- Ready rows of each lane that may be claimed from, counted no further than a bound: queues that are open, types that are
-- not held back by their circuits. Of a type that needs a probe one job may run.
INSERT INTO @waiting (Queue, MaxWorkers, Jobs)
SELECT l.Queue, q.MaxWorkers, n.Jobs
FROM [chokaq].Lanes AS l
INNER JOIN [chokaq].Queues AS q ON q.Name = l.Queue AND q.IsPaused = 0 AND q.IsActive = 1
LEFT JOIN @circuit AS c ON c.Type = l.Type
CROSS APPLY (
    SELECT COUNT(*) AS Jobs FROM (
        SELECT TOP (CASE WHEN c.Type IS NULL THEN @most ELSE 1 END) r.Id
        FROM [chokaq].JobsHot AS r
        WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
    ) AS f
) AS n
WHERE c.Type IS NULL OR c.IsHeld = 0;

-- name: demand_due
-- The same for rows whose due time has come since the last claim. Rows that may not be claimed do not use up the bound.
INSERT INTO @waiting (Queue, MaxWorkers, Jobs)
SELECT d.Queue, d.MaxWorkers, COUNT(*) - COUNT(d.Probing) + COUNT(DISTINCT d.Probing)
FROM (
    SELECT TOP (@most) h.Queue, q.MaxWorkers, c.Type AS Probing
    FROM [chokaq].JobsHot AS h
    INNER JOIN [chokaq].Queues AS q ON q.Name = h.Queue AND q.IsPaused = 0 AND q.IsActive = 1
    LEFT JOIN @circuit AS c ON c.Type = h.Type
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= @now AND (c.Type IS NULL OR c.IsHeld = 0)
) AS d
GROUP BY d.Queue, d.MaxWorkers;
