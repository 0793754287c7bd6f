-- Enqueue. Tables in order: JobsHot, JobsArchive, JobsDLQ (read), Queues, Lanes, JobsHot, Workers (read), Timers; before
-- Timers a look at queues and circuits that waits for nobody. Nothing is held while it waits for a queue's row.

-- name: enqueue_batch
-- only: sqlserver, because SQLite's store judges the jobs in Python. Jobs of one batch that share an id or a key stand in
-- different waves, so that each wave is judged against those before it, as if the jobs had come one by one. Two callers
-- with one key meet at its unique index: the loser repeats its whole call and finds the winner's job.
-- takes: jobs nvarchar(max), texts nvarchar(max), last_wave int, has_circuits bit, reset_at ahead, probe_until ahead,
--   wake_horizon ahead
DECLARE @wave int = 0, @is_worker_looking bit, @is_claimable bit;
-- include: tables_of_wakes
DECLARE @given TABLE (
    Ord int NOT NULL PRIMARY KEY,
    Wave int NOT NULL,
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Payload nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tags nvarchar(1000) COLLATE Latin1_General_100_BIN2 NULL,
    IdempotencyKey nvarchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Priority int NOT NULL,
    DueAtUtc datetime2(6) NOT NULL,
    TraceParent varchar(55) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL
);
DECLARE @outcome TABLE (
    Ord int NOT NULL PRIMARY KEY,
    Outcome varchar(12) COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobId varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL
);
-- include: enqueue_given
BEGIN TRANSACTION;
WHILE @wave <= @last_wave
BEGIN
    -- include: enqueue_existing
    -- include: enqueue_key_holders
    -- include: enqueue_queue
    -- include: enqueue_lane
    -- include: enqueue
    SET @wave = @wave + 1;
END;
-- include: enqueue_is_worker_looking
-- include: wake_closed
-- include: wake_held
SET @is_claimable = CASE
    WHEN EXISTS (
        SELECT 1 FROM @given AS g LEFT JOIN @outcome AS o ON o.Ord = g.Ord
        WHERE
            g.DueAtUtc <= @now AND (o.Ord IS NULL OR o.Outcome = 'created')
            AND NOT EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = g.Queue)
            AND NOT EXISTS (SELECT 1 FROM @held AS u WHERE u.Type = g.Type)
    ) THEN 1
    ELSE 0
END;
SELECT @wake_at = MIN(CASE WHEN u.UntilUtc > g.DueAtUtc THEN u.UntilUtc ELSE g.DueAtUtc END)
FROM @given AS g LEFT JOIN @held AS u ON u.Type = g.Type
WHERE
    NOT EXISTS (SELECT 1 FROM @outcome AS o WHERE o.Ord = g.Ord)
    AND NOT EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = g.Queue);
-- include: wake_ask
COMMIT TRANSACTION;
SELECT @is_claimable AS IsClaimable, @is_worker_looking AS IsWorkerLooking, @wake_in AS WakeInMicros;
SELECT o.Ord, o.Outcome, o.JobId FROM @outcome AS o;

-- name: enqueue_given
-- only: sqlserver, because the batch comes as one text, as that of a turn does. A due time in the past counts as now.
INSERT INTO @given (
    Ord, Wave, Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, DueAtUtc, TraceParent, CreatedBy
)
SELECT
    g.Ord, g.Wave, g.Id, g.Queue,
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.TypeAt, g.TypeLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.PayloadAt, g.PayloadLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.TagsAt, g.TagsLength),
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.KeyAt, g.KeyLength),
    g.Priority,
    CASE
        WHEN g.DueAtUtc > @now THEN g.DueAtUtc
        WHEN g.DelayDays >= DATEDIFF(DAY, @now, '9999-12-31') THEN CAST('9999-12-31T23:59:59.999999' AS datetime2(6))
        ELSE DATEADD(DAY, g.DelayDays, DATEADD(SECOND, g.DelaySeconds, DATEADD(MICROSECOND, g.DelayMicros, @now)))
    END,
    g.TraceParent,
    SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, g.CreatedByAt, g.CreatedByLength)
FROM OPENJSON(@jobs) WITH (
    Ord int '$.ord',
    Wave int '$.wave',
    Id varchar(50) '$.id',
    Queue varchar(255) '$.queue',
    TypeAt int '$.type[0]',
    TypeLength int '$.type[1]',
    PayloadAt int '$.payload[0]',
    PayloadLength int '$.payload[1]',
    TagsAt int '$.tags[0]',
    TagsLength int '$.tags[1]',
    KeyAt int '$.key[0]',
    KeyLength int '$.key[1]',
    Priority int '$.priority',
    DueAtUtc datetime2(6) '$.due',
    DelayDays int '$.days',
    DelaySeconds int '$.seconds',
    DelayMicros int '$.micros',
    TraceParent varchar(55) '$.trace',
    CreatedByAt int '$.by[0]',
    CreatedByLength int '$.by[1]'
) AS g;

-- name: enqueue_existing
-- Jobs of any pillar that bear one of the ids, to tell a repeated call from a taken id. `=` pads with blanks, so the length
-- is compared too.
INSERT INTO @outcome (Ord, Outcome, JobId)
SELECT
    g.Ord,
    CASE
        WHEN e.Type = g.Type AND e.Payload = g.Payload AND DATALENGTH(e.Payload) = DATALENGTH(g.Payload) THEN 'created'
        ELSE 'id_taken'
    END,
    g.Id
FROM @given AS g INNER JOIN (
    SELECT h.Id, h.Type, h.Payload FROM [chokaq].JobsHot AS h
    UNION ALL
    SELECT a.Id, a.Type, a.Payload FROM [chokaq].JobsArchive AS a
    UNION ALL
    SELECT d.Id, d.Type, d.Payload FROM [chokaq].JobsDLQ AS d
) AS e ON e.Id = g.Id
WHERE g.Wave = @wave
OPTION (LOOP JOIN, FORCE ORDER);

-- name: enqueue_key_holders
-- Active jobs that hold one of the keys.
INSERT INTO @outcome (Ord, Outcome, JobId)
SELECT
    g.Ord,
    CASE
        WHEN h.Type = g.Type AND h.Payload = g.Payload AND DATALENGTH(h.Payload) = DATALENGTH(g.Payload) THEN 'duplicate'
        ELSE 'key_conflict'
    END,
    h.Id
FROM @given AS g INNER JOIN [chokaq].JobsHot AS h ON h.IdempotencyKey = g.IdempotencyKey
WHERE
    g.Wave = @wave AND g.IdempotencyKey IS NOT NULL AND h.IdempotencyKey IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM @outcome AS o WHERE o.Ord = g.Ord)
OPTION (LOOP JOIN, FORCE ORDER);

-- name: enqueue
-- Move enqueue: absent → Pending; ready at once when due.
INSERT INTO [chokaq].JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc,
    LifetimeStartUtc, IsReady, TraceParent, CreatedBy
)
SELECT
    g.Id, g.Queue, g.Type, g.Payload, g.Tags, g.IdempotencyKey, g.Priority, g.DueAtUtc, @now, @now,
    g.DueAtUtc, CASE WHEN g.DueAtUtc <= @now THEN 1 ELSE 0 END, g.TraceParent, g.CreatedBy
FROM @given AS g
WHERE g.Wave = @wave AND NOT EXISTS (SELECT 1 FROM @outcome AS o WHERE o.Ord = g.Ord);

-- name: enqueue_queue
INSERT INTO [chokaq].Queues (Name, LastUpdatedUtc)
SELECT DISTINCT g.Queue, @now FROM @given AS g
WHERE
    g.Wave = @wave AND NOT EXISTS (SELECT 1 FROM @outcome AS o WHERE o.Ord = g.Ord)
    AND NOT EXISTS (SELECT 1 FROM [chokaq].Queues AS q WHERE q.Name = g.Queue);

-- name: enqueue_lane
-- A lane that maintenance has found empty is about to go: the write waits for it, or stops it. Then what is missing is made.
IF EXISTS (
    SELECT 1 FROM @given AS g INNER JOIN [chokaq].Lanes AS l ON l.Queue = g.Queue AND l.Type = g.Type
    WHERE l.EmptySinceUtc IS NOT NULL
)
    UPDATE l SET EmptySinceUtc = NULL
    FROM [chokaq].Lanes AS l WITH (ROWLOCK)
    WHERE l.EmptySinceUtc IS NOT NULL AND EXISTS (SELECT 1 FROM @given AS g WHERE g.Queue = l.Queue AND g.Type = l.Type);
INSERT INTO [chokaq].Lanes (Queue, Type)
SELECT DISTINCT g.Queue, g.Type FROM @given AS g
WHERE
    g.Wave = @wave AND NOT EXISTS (SELECT 1 FROM @outcome AS o WHERE o.Ord = g.Ord)
    AND NOT EXISTS (SELECT 1 FROM [chokaq].Lanes AS l WHERE l.Queue = g.Queue AND l.Type = g.Type);

-- name: enqueue_is_worker_looking
SET @is_worker_looking = CASE
    WHEN EXISTS (SELECT 1 FROM [chokaq].Workers AS w WHERE w.LookingUntilUtc > @now AND w.State = 'running') THEN 1
    ELSE 0
END;

-- name: key_holders
-- only: sqlserver, because the keys come as one text.
-- takes: keys nvarchar(max), texts nvarchar(max)
SELECT h.IdempotencyKey, h.Id
FROM OPENJSON(@keys) WITH (KeyAt int '$.key[0]', KeyLength int '$.key[1]') AS k
INNER JOIN [chokaq].JobsHot AS h
    ON h.IdempotencyKey = CAST(
        SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, k.KeyAt, k.KeyLength) AS nvarchar(255)
    ) COLLATE Latin1_General_100_BIN2
WHERE h.IdempotencyKey IS NOT NULL
OPTION (LOOP JOIN, FORCE ORDER);
