-- What people do to jobs and queues. Every command says what became of each job given, in order, and writes one entry of the
-- operator log in its own transaction where a note came with it.

-- name: tables_of_commands
-- only: sqlserver, because the ids come as one text. A job named twice stands in @given once, and @named keeps the order;
-- an id that no job can bear is NULL.
DECLARE @named TABLE (
    Ord int NOT NULL PRIMARY KEY,
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NULL,
    IsFirst bit NOT NULL
);
DECLARE @outcome TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    Outcome varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Again varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL
);
DECLARE @said TABLE (Ord int NOT NULL PRIMARY KEY, Outcome varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL);
INSERT INTO @named (Ord, Id, IsFirst)
SELECT i.Ord, i.Id, i.IsFirst
FROM OPENJSON(@ids) WITH (Ord int '$.ord', Id varchar(50) '$.id', IsFirst bit '$.first') AS i;
INSERT INTO @given (Id, Move, LeaseNumber)
SELECT n.Id, 'given', n.Ord FROM @named AS n WHERE n.IsFirst = 1 AND n.Id IS NOT NULL;

-- name: command_outcomes
-- only: sqlserver, because SQLite's store keeps outcomes in Python. @outcome holds what a job's first naming came to, and
-- what a further one comes to.
INSERT INTO @said (Ord, Outcome)
SELECT n.Ord, COALESCE(CASE WHEN n.IsFirst = 1 THEN o.Outcome ELSE o.Again END, 'stale')
FROM @named AS n LEFT JOIN @outcome AS o ON o.Id = n.Id;
-- include: log_note

-- name: log_note
-- The outcomes by how often each came, among equals the one that came first.
IF @command <> N''
    INSERT INTO [chokaq].OperatorLog (AtUtc, Actor, Command, Target, Affected, Outcome)
    SELECT
        @now, @note_actor, @command, @target,
        (SELECT COUNT(*) FROM @said AS s WHERE s.Outcome NOT IN ('stale', 'key_held')),
        COALESCE((
            SELECT
                STRING_AGG(CAST(t.Jobs AS varchar(11)) + ' ' + t.Outcome, ', ') WITHIN GROUP (ORDER BY t.Jobs DESC, t.Place)
            FROM (
                SELECT s.Outcome, COUNT(*) AS Jobs, MIN(s.Ord) AS Place FROM @said AS s GROUP BY s.Outcome
            ) AS t
        ), 'nothing');

-- name: cancel
-- only: sqlserver, because one batch is one round trip. Tables in order: JobsHot, JobsDLQ, StatsSummary, MetricBuckets,
-- Circuits, OperatorLog.
-- takes: worker varchar(100), ids nvarchar(max), actor nvarchar(100), has_circuits bit, note_actor nvarchar(100),
--   command nvarchar(50), target nvarchar(max)
-- include: tables_of_moves
-- include: tables_of_commands
BEGIN TRANSACTION;
-- include: cancel_mark
-- include: cancel_found
-- include: turn_dead_letter
-- include: turn_leave_hot
-- include: turn_stats
-- include: turn_bucket
-- include: circuits_release
-- include: command_outcomes
COMMIT TRANSACTION;
SELECT s.Outcome FROM @said AS s ORDER BY s.Ord;

-- name: cancel_mark
-- Move cancel of a running job: a mark that its worker finds with the next heartbeat. The first mark stays. The write is also
-- the lock on those that wait and are taken out next.
UPDATE h SET
    CancelRequestedUtc = COALESCE(h.CancelRequestedUtc, @now), CancelRequestedBy = COALESCE(h.CancelRequestedBy, @actor)
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = g.Id
OPTION (LOOP JOIN, FORCE ORDER);

-- name: cancel_found
INSERT INTO @move (Id, Queue, Move, IsCancelled, Reason, Details, LastModifiedBy)
SELECT h.Id, h.Queue, 'dead_letter', 0, 1, N'cancelled by ' + @actor, @actor
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.Id = g.Id WHERE h.Status <> 2;
INSERT INTO @outcome (Id, Outcome, Again)
SELECT
    h.Id, CASE WHEN h.Status = 2 THEN 'marked' ELSE 'dead_lettered' END,
    CASE WHEN h.Status = 2 THEN 'marked' ELSE 'stale' END
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.Id = g.Id;

-- name: resurrect_all
-- only: sqlserver, because one batch is one round trip. Tables in order: Queues, Lanes, JobsHot, JobsDLQ, OperatorLog. Of dead
-- jobs with one key the first given comes back. Two who resurrect one job meet at its primary key; the loser repeats and
-- finds none.
-- takes: ids nvarchar(max), actor nvarchar(100), has_payload bit, payload nvarchar(max), has_tags bit, tags nvarchar(1000),
--   priority int null, note_actor nvarchar(100), command nvarchar(50), target nvarchar(max)
-- include: tables_of_moves
-- include: tables_of_commands
DECLARE @back TABLE (Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);
DECLARE @held TABLE (Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);
BEGIN TRANSACTION;
-- include: resurrect_found
-- include: resurrect_key_held
INSERT INTO [chokaq].Queues (Name, LastUpdatedUtc)
SELECT DISTINCT d.Queue, @now FROM @back AS b INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = b.Id
WHERE NOT EXISTS (SELECT 1 FROM [chokaq].Queues AS q WHERE q.Name = d.Queue);
UPDATE l SET EmptySinceUtc = NULL
FROM [chokaq].Lanes AS l WITH (ROWLOCK)
WHERE l.EmptySinceUtc IS NOT NULL AND EXISTS (
    SELECT 1 FROM @back AS b INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = b.Id WHERE d.Queue = l.Queue AND d.Type = l.Type
);
INSERT INTO [chokaq].Lanes (Queue, Type)
SELECT DISTINCT d.Queue, d.Type FROM @back AS b INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = b.Id
WHERE NOT EXISTS (SELECT 1 FROM [chokaq].Lanes AS l WHERE l.Queue = d.Queue AND l.Type = d.Type);
-- include: resurrect
DELETE d FROM @back AS b INNER JOIN [chokaq].JobsDLQ AS d WITH (ROWLOCK) ON d.Id = b.Id
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @outcome (Id, Outcome, Again)
SELECT b.Id, 'resurrected', 'stale' FROM @back AS b
UNION ALL
SELECT h.Id, 'key_held', 'key_held' FROM @held AS h;
-- include: command_outcomes
COMMIT TRANSACTION;
SELECT s.Outcome FROM @said AS s ORDER BY s.Ord;

-- name: resurrect_found
INSERT INTO @back (Id) SELECT d.Id FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = g.Id;

-- name: resurrect_key_held
INSERT INTO @held (Id)
SELECT w.Id
FROM (
    SELECT
        d.Id, d.IdempotencyKey,
        ROW_NUMBER() OVER (PARTITION BY d.IdempotencyKey ORDER BY g.LeaseNumber) AS Place
    FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = g.Id
    WHERE d.IdempotencyKey IS NOT NULL
) AS w
WHERE
    w.Place > 1
    OR EXISTS (
        SELECT 1 FROM [chokaq].JobsHot AS h
        WHERE h.IdempotencyKey = w.IdempotencyKey AND h.IdempotencyKey IS NOT NULL
    );
DELETE b FROM @back AS b WHERE b.Id IN (SELECT h.Id FROM @held AS h);

-- name: resurrect
-- Move resurrect: DLQ → Pending with a fresh count of attempts and a fresh lifetime, edited if so asked; the lease number goes
-- on.
INSERT INTO [chokaq].JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, LeaseNumber, Interruptions, DueAtUtc, CreatedAtUtc,
    LastUpdatedUtc, LifetimeStartUtc, IsReady, AttemptErrors, TraceParent, CreatedBy, LastModifiedBy
)
SELECT
    d.Id, d.Queue, d.Type, CASE WHEN @has_payload = 1 THEN @payload ELSE d.Payload END,
    CASE WHEN @has_tags = 1 THEN @tags ELSE d.Tags END, d.IdempotencyKey, COALESCE(@priority, d.Priority), d.LeaseNumber,
    d.Interruptions, @now, d.CreatedAtUtc, @now, @now, 1, d.AttemptErrors, d.TraceParent, d.CreatedBy, @actor
FROM @back AS b INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = b.Id;

-- name: purge
-- only: sqlserver, because one batch is one round trip. Tables in order: JobsArchive, JobsDLQ, OperatorLog.
-- takes: ids nvarchar(max), note_actor nvarchar(100), command nvarchar(50), target nvarchar(max)
-- include: tables_of_moves
-- include: tables_of_commands
BEGIN TRANSACTION;
-- include: leave_archive
-- include: leave_dlq
-- include: command_outcomes
COMMIT TRANSACTION;
SELECT s.Outcome FROM @said AS s ORDER BY s.Ord;

-- name: leave_archive
-- The write is the lock: of two who purge one job, the second finds none.
UPDATE a SET LastUpdatedUtc = @now
FROM @given AS g INNER JOIN [chokaq].JobsArchive AS a WITH (ROWLOCK) ON a.Id = g.Id
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @outcome (Id, Outcome, Again)
SELECT a.Id, 'purged', 'stale' FROM @given AS g INNER JOIN [chokaq].JobsArchive AS a ON a.Id = g.Id;
DELETE a FROM @outcome AS o INNER JOIN [chokaq].JobsArchive AS a WITH (ROWLOCK) ON a.Id = o.Id
OPTION (LOOP JOIN, FORCE ORDER);

-- name: leave_dlq
UPDATE d SET LastUpdatedUtc = @now
FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d WITH (ROWLOCK) ON d.Id = g.Id
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @outcome (Id, Outcome, Again)
SELECT d.Id, 'purged', 'stale' FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = g.Id;
DELETE d FROM @outcome AS o INNER JOIN [chokaq].JobsDLQ AS d WITH (ROWLOCK) ON d.Id = o.Id
OPTION (LOOP JOIN, FORCE ORDER);

-- name: edit
-- only: sqlserver, because one batch is one round trip. Tables in order: JobsHot, JobsDLQ, OperatorLog.
-- takes: ids nvarchar(max), actor nvarchar(100), has_payload bit, payload nvarchar(max), has_tags bit, tags nvarchar(1000),
--   priority int null, note_actor nvarchar(100), command nvarchar(50), target nvarchar(max)
-- include: tables_of_moves
-- include: tables_of_commands
BEGIN TRANSACTION;
-- include: edit_hot
-- include: edit_dlq
-- include: command_outcomes
COMMIT TRANSACTION;
SELECT s.Outcome FROM @said AS s ORDER BY s.Ord;

-- name: edit_hot
-- The first write is the lock; the jobs that are pending then are edited.
UPDATE h SET Interruptions = h.Interruptions
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = g.Id
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @outcome (Id, Outcome, Again)
SELECT h.Id, 'edited', 'edited' FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.Id = g.Id WHERE h.Status = 0;
UPDATE h SET
    Payload = CASE WHEN @has_payload = 1 THEN @payload ELSE h.Payload END,
    Tags = CASE WHEN @has_tags = 1 THEN @tags ELSE h.Tags END,
    Priority = COALESCE(@priority, h.Priority), LastModifiedBy = @actor, LastUpdatedUtc = @now
FROM @outcome AS o INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = o.Id
OPTION (LOOP JOIN, FORCE ORDER);

-- name: edit_dlq
UPDATE d SET
    Payload = CASE WHEN @has_payload = 1 THEN @payload ELSE d.Payload END,
    Tags = CASE WHEN @has_tags = 1 THEN @tags ELSE d.Tags END,
    Priority = COALESCE(@priority, d.Priority), LastModifiedBy = @actor, LastUpdatedUtc = @now
FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d WITH (ROWLOCK) ON d.Id = g.Id
OPTION (LOOP JOIN, FORCE ORDER);
INSERT INTO @outcome (Id, Outcome, Again)
SELECT d.Id, 'edited', 'edited' FROM @given AS g INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = g.Id;

-- name: queues_all
-- only: sqlserver, because one batch is one round trip.
-- takes: look int, most int, has_circuits bit
-- include: queues_looked_at

-- name: queues_looked_at
-- only: sqlserver, because a change answers with the same.
-- include: table_of_heads
-- include: queues
-- include: vitals_lags
-- include: queues_due

-- name: queues
-- Controls with what waits and runs. However deep the queues are, about @look ready rows are counted in all: each queue
-- has an even share of them, whole hundreds of rows, and one row more tells that there are others.
DECLARE @share int = (SELECT @look / NULLIF(COUNT(*), 0) / 100 * 100 FROM [chokaq].Queues);
IF COALESCE(@share, 0) < 100 SET @share = 100;
SELECT
    @now AS Now, q.Name, q.IsPaused, q.IsActive, q.MaxWorkers, q.ZombieTimeoutSeconds, COALESCE(a.Jobs, 0) AS Running,
    @share AS Share, r.Jobs AS Ready
FROM [chokaq].Queues AS q
CROSS APPLY (
    SELECT COUNT(*) AS Jobs FROM (
        SELECT TOP (@share + 1) h.Id FROM [chokaq].JobsHot AS h WHERE h.IsReady = 1 AND h.Queue = q.Name
    ) AS e
) AS r
LEFT JOIN (
    SELECT h.Queue, COUNT(*) AS Jobs FROM [chokaq].JobsHot AS h WHERE h.WorkerId IS NOT NULL GROUP BY h.Queue
) AS a ON a.Queue = q.Name
ORDER BY q.Name;

-- name: queues_due
-- Rows that came due since the last claim are not ready yet and wait all the same. They are few, since each claim makes
-- a thousand of them ready; more than that many are not counted.
SELECT d.Queue, COUNT(*) AS Jobs, MIN(CASE WHEN c.Type IS NULL THEN d.DueAtUtc END) AS Oldest
FROM (
    SELECT TOP (@most) h.Queue, h.Type, h.DueAtUtc
    FROM [chokaq].JobsHot AS h
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= @now
    ORDER BY h.DueAtUtc
) AS d
LEFT JOIN [chokaq].Circuits AS c ON c.Type = d.Type AND c.State <> 0 AND @has_circuits = 1
GROUP BY d.Queue;

-- name: change_queue
-- A queue that is closed by it gives its fetched jobs back, a thousand by a thousand. Tables in order: Queues, JobsHot,
-- Circuits, OperatorLog.
-- takes: name varchar(255), is_paused int null, is_active int null, max_workers int null, clear_max_workers bit,
--   zombie_timeout int null, clear_zombie_timeout bit, has_circuits bit, look int, most int, note_actor nvarchar(100),
--   command nvarchar(50), target nvarchar(max)
-- include: tables_of_moves
DECLARE @said TABLE (Ord int NOT NULL PRIMARY KEY, Outcome varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL);
DECLARE @found TABLE (Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY, LeaseNumber int NOT NULL);
DECLARE @is_closed bit, @last int = 1000;
BEGIN TRANSACTION;
UPDATE [chokaq].Queues SET
    IsPaused = COALESCE(@is_paused, IsPaused), IsActive = COALESCE(@is_active, IsActive),
    MaxWorkers = CASE WHEN @clear_max_workers = 1 THEN NULL ELSE COALESCE(@max_workers, MaxWorkers) END,
    ZombieTimeoutSeconds = CASE
        WHEN @clear_zombie_timeout = 1 THEN NULL ELSE COALESCE(@zombie_timeout, ZombieTimeoutSeconds)
    END,
    LastUpdatedUtc = @now
WHERE Name = @name;
IF @@ROWCOUNT = 0
    INSERT INTO [chokaq].Queues (Name, IsPaused, IsActive, MaxWorkers, ZombieTimeoutSeconds, LastUpdatedUtc)
    VALUES (
        @name, COALESCE(@is_paused, 0), COALESCE(@is_active, 1), CASE WHEN @clear_max_workers = 0 THEN @max_workers END,
        CASE WHEN @clear_zombie_timeout = 0 THEN @zombie_timeout END, @now
    );
SELECT @is_closed = CASE WHEN q.IsPaused = 1 OR q.IsActive = 0 THEN 1 ELSE 0 END
FROM [chokaq].Queues AS q WHERE q.Name = @name;
WHILE @is_closed = 1 AND @last = 1000
BEGIN
    DELETE f FROM @found AS f;
    DELETE m FROM @move AS m;
    -- include: change_queue_fetched
    SET @last = @@ROWCOUNT;
    UPDATE h SET LastUpdatedUtc = @now
    FROM @found AS f INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = f.Id
    WHERE h.WorkerId IS NOT NULL AND h.LeaseNumber = f.LeaseNumber AND h.Status = 1
    OPTION (LOOP JOIN, FORCE ORDER);
    INSERT INTO @move (Id, Queue, Move, IsCancelled)
    SELECT h.Id, h.Queue, 'release', 0
    FROM @found AS f INNER JOIN [chokaq].JobsHot AS h ON h.Id = f.Id
    WHERE h.WorkerId IS NOT NULL AND h.LeaseNumber = f.LeaseNumber AND h.Status = 1;
    -- include: turn_release
    -- include: circuits_release
END;
INSERT INTO @said (Ord, Outcome) VALUES (0, 'changed');
-- include: log_note
COMMIT TRANSACTION;
-- include: queues_looked_at

-- name: change_queue_fetched
-- Jobs that were fetched from a queue which is being closed. UPDLOCK waits for claims under way, row versioning or not.
INSERT INTO @found (Id, LeaseNumber)
SELECT TOP (1000) h.Id, h.LeaseNumber
FROM [chokaq].JobsHot AS h WITH (ROWLOCK, UPDLOCK)
WHERE h.WorkerId IS NOT NULL AND h.Queue = @name AND h.Status = 1;

-- name: totals
-- takes: nothing
SELECT
    s.Queue, SUM(s.SucceededTotal) AS Succeeded, SUM(s.FailedTotal) AS Failed, SUM(s.RetriedTotal) AS Retried
FROM [chokaq].StatsSummary AS s GROUP BY s.Queue ORDER BY s.Queue;

-- name: buckets
-- takes: since datetime2(6)
SELECT
    b.BucketUtc, b.Queue, b.Outcome, b.Reason, SUM(b.CompletedCount) AS Completed, SUM(b.DurationCount) AS DurationCount,
    SUM(b.TotalDurationMs) AS TotalMs, MAX(b.MaxDurationMs) AS MaxMs
FROM [chokaq].MetricBuckets AS b WHERE b.BucketUtc >= @since
GROUP BY b.BucketUtc, b.Queue, b.Outcome, b.Reason ORDER BY b.BucketUtc, b.Queue, b.Outcome, b.Reason;

-- name: counts
-- takes: nothing
SELECT
    (SELECT COUNT(*) FROM [chokaq].JobsHot) AS Hot, (SELECT COUNT(*) FROM [chokaq].JobsArchive) AS Archived,
    (SELECT COUNT(*) FROM [chokaq].JobsDLQ) AS Dead;
