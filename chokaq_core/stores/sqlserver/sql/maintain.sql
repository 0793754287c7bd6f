-- Maintenance: bounded batches in short transactions. No statement deletes more than 1000 rows: lock escalation starts near
-- 5000 locks, and a row takes one in each of its indexes. READPAST leaves to a rival what it has in hand.

-- name: expire_archive
-- takes: older_than ago, most int
DELETE a
FROM (
    SELECT TOP (@most) x.Id
    FROM [chokaq].JobsArchive AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsArchive_Finished))
    WHERE x.FinishedAtUtc <= @older_than
    ORDER BY x.FinishedAtUtc, x.Id
) AS d INNER JOIN [chokaq].JobsArchive AS a WITH (ROWLOCK) ON a.Id = d.Id
OPTION (LOOP JOIN, FORCE ORDER);
SELECT @@ROWCOUNT AS Gone;

-- name: expire_dlq
-- A job that was resurrected and died again meanwhile has another time.
-- takes: older_than ago, most int
DELETE a
FROM (
    SELECT TOP (@most) x.Id
    FROM [chokaq].JobsDLQ AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsDLQ_Failed))
    WHERE x.FailedAtUtc <= @older_than
    ORDER BY x.FailedAtUtc, x.Id
) AS d INNER JOIN [chokaq].JobsDLQ AS a WITH (ROWLOCK) ON a.Id = d.Id
WHERE a.FailedAtUtc <= @older_than
OPTION (LOOP JOIN, FORCE ORDER);
SELECT @@ROWCOUNT AS Gone;

-- name: prune_log
-- takes: older_than ago, most int
DELETE l
FROM (
    SELECT TOP (@most) x.Number
    FROM [chokaq].OperatorLog AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE x.AtUtc <= @older_than
    ORDER BY x.AtUtc
) AS d INNER JOIN [chokaq].OperatorLog AS l WITH (ROWLOCK) ON l.Number = d.Number
OPTION (LOOP JOIN, FORCE ORDER);
SELECT @@ROWCOUNT AS Gone;

-- name: prune_buckets
-- Whole seconds, until there are enough of them; the last one may hold any number of rows.
-- takes: older_than ago, most int
DECLARE @until datetime2(6), @last int = 1000, @gone int = 0;
-- include: buckets_oldest
WHILE @last = 1000
BEGIN
    DELETE TOP (1000) b FROM [chokaq].MetricBuckets AS b WITH (ROWLOCK) WHERE b.BucketUtc <= @until;
    SET @last = @@ROWCOUNT;
    SET @gone = @gone + @last;
END;
SELECT @gone AS Gone;

-- name: buckets_oldest
SELECT @until = MAX(f.BucketUtc)
FROM (
    SELECT TOP (@most) b.BucketUtc FROM [chokaq].MetricBuckets AS b
    WHERE b.BucketUtc <= @older_than
    ORDER BY b.BucketUtc
) AS f;

-- name: prune_lanes
-- only: sqlserver, because one batch is one round trip. With more than 10,000 jobs that wait for their due time, lanes are
-- not looked at. Enqueue and resurrection write a lane that is marked, so they wait here, or this waits for them.
-- takes: older_than ago
DECLARE @asleep int, @gone int = 0;
DECLARE @busy TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    PRIMARY KEY (Queue, Type)
);
-- include: lanes_asleep
IF @asleep < 10000
BEGIN
    INSERT INTO @busy (Queue, Type)
    SELECT s.Queue, s.Type FROM [chokaq].JobsHot AS s WHERE s.IsReady = 0 AND s.Status = 0
    UNION
    SELECT h.Queue, h.Type FROM [chokaq].JobsHot AS h WHERE h.WorkerId IS NOT NULL
    UNION
    SELECT l.Queue, l.Type FROM [chokaq].Lanes AS l
    WHERE EXISTS (SELECT 1 FROM [chokaq].JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type);
    BEGIN TRANSACTION;
    -- include: lanes_mark
    -- include: lanes_prune
    COMMIT TRANSACTION;
END;
SELECT @gone AS Gone;

-- name: lanes_asleep
SELECT @asleep = COUNT(*) FROM (
    SELECT TOP (10000) s.Id FROM [chokaq].JobsHot AS s WHERE s.IsReady = 0 AND s.Status = 0
) AS f;

-- name: lanes_mark
-- Notes since when a lane has had no job. What exceeds a thousand rows waits for the next time.
UPDATE TOP (1000) l SET EmptySinceUtc = NULL
FROM [chokaq].Lanes AS l WITH (ROWLOCK)
WHERE l.EmptySinceUtc IS NOT NULL AND EXISTS (SELECT 1 FROM @busy AS b WHERE b.Queue = l.Queue AND b.Type = l.Type);
UPDATE TOP (1000) l SET EmptySinceUtc = @now
FROM [chokaq].Lanes AS l WITH (ROWLOCK)
WHERE l.EmptySinceUtc IS NULL AND NOT EXISTS (SELECT 1 FROM @busy AS b WHERE b.Queue = l.Queue AND b.Type = l.Type);

-- name: lanes_prune
DELETE TOP (1000) l
FROM [chokaq].Lanes AS l WITH (ROWLOCK)
WHERE
    l.EmptySinceUtc <= @older_than
    AND NOT EXISTS (SELECT 1 FROM @busy AS b WHERE b.Queue = l.Queue AND b.Type = l.Type);
SET @gone = @@ROWCOUNT;

-- name: fold_counters
-- only: sqlserver, because one batch is one round trip. Tables in order: StatsSummary, MetricBuckets. Of two at once the
-- second waits for the rows that the first deletes and finds them gone: only what a deletion itself gives is added.
-- takes: older_than ago, most int
DECLARE @gone int = 0;
DECLARE @old_bucket TABLE (
    BucketUtc datetime2(6) NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Outcome int NOT NULL,
    Reason int NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    PRIMARY KEY (BucketUtc, Queue, Outcome, Reason, Shard)
);
DECLARE @old_total TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    PRIMARY KEY (Queue, Shard)
);
DECLARE @bucket TABLE (
    BucketUtc datetime2(6) NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Outcome int NOT NULL,
    Reason int NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CompletedCount int NOT NULL,
    DurationCount int NOT NULL,
    TotalDurationMs float NOT NULL,
    MaxDurationMs float NOT NULL,
    PRIMARY KEY (BucketUtc, Queue, Outcome, Reason, Shard)
);
DECLARE @total TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    SucceededTotal bigint NOT NULL,
    FailedTotal bigint NOT NULL,
    RetriedTotal bigint NOT NULL,
    LastActivityUtc datetime2(6) NULL,
    PRIMARY KEY (Queue, Shard)
);
BEGIN TRANSACTION;
-- include: fold_stats_found
-- include: fold_stats_leave
SET @gone = @gone + @@ROWCOUNT;
-- include: fold_stats
-- include: fold_found
-- include: fold_leave
SET @gone = @gone + @@ROWCOUNT;
-- include: fold_buckets
COMMIT TRANSACTION;
SELECT @gone AS Gone;

-- name: fold_stats_found
-- Totals in the shards of workers that are gone. One that comes back begins a new row.
INSERT INTO @old_total (Queue, Shard)
SELECT TOP (@most) s.Queue, s.Shard
FROM [chokaq].StatsSummary AS s
WHERE s.Shard <> '' AND NOT EXISTS (SELECT 1 FROM [chokaq].Workers AS w WHERE w.WorkerId = s.Shard);

-- name: fold_stats_leave
DELETE s
OUTPUT
    deleted.Queue, deleted.Shard, deleted.SucceededTotal, deleted.FailedTotal, deleted.RetriedTotal, deleted.LastActivityUtc
INTO @total (Queue, Shard, SucceededTotal, FailedTotal, RetriedTotal, LastActivityUtc)
FROM @old_total AS t INNER JOIN [chokaq].StatsSummary AS s WITH (ROWLOCK) ON s.Queue = t.Queue AND s.Shard = t.Shard
OPTION (LOOP JOIN, FORCE ORDER);

-- name: fold_stats
INSERT INTO [chokaq].StatsSummary (Queue, Shard)
SELECT DISTINCT t.Queue, '' FROM @total AS t
WHERE NOT EXISTS (SELECT 1 FROM [chokaq].StatsSummary AS s WHERE s.Queue = t.Queue AND s.Shard = '');
UPDATE s SET
    SucceededTotal = s.SucceededTotal + f.Succeeded, FailedTotal = s.FailedTotal + f.Failed,
    RetriedTotal = s.RetriedTotal + f.Retried,
    LastActivityUtc = CASE WHEN s.LastActivityUtc > f.ActiveAt THEN s.LastActivityUtc ELSE COALESCE(f.ActiveAt, s.LastActivityUtc) END
FROM [chokaq].StatsSummary AS s
INNER JOIN (
    SELECT
        t.Queue, SUM(t.SucceededTotal) AS Succeeded, SUM(t.FailedTotal) AS Failed, SUM(t.RetriedTotal) AS Retried,
        MAX(t.LastActivityUtc) AS ActiveAt
    FROM @total AS t GROUP BY t.Queue
) AS f ON f.Queue = s.Queue
WHERE s.Shard = '';

-- name: fold_found
INSERT INTO @old_bucket (BucketUtc, Queue, Outcome, Reason, Shard)
SELECT TOP (@most) b.BucketUtc, b.Queue, b.Outcome, b.Reason, b.Shard
FROM [chokaq].MetricBuckets AS b
WHERE b.Shard <> '' AND b.BucketUtc <= @older_than
ORDER BY b.BucketUtc;

-- name: fold_leave
DELETE b
OUTPUT
    deleted.BucketUtc, deleted.Queue, deleted.Outcome, deleted.Reason, deleted.Shard, deleted.CompletedCount,
    deleted.DurationCount, deleted.TotalDurationMs, deleted.MaxDurationMs
INTO @bucket (
    BucketUtc, Queue, Outcome, Reason, Shard, CompletedCount, DurationCount, TotalDurationMs, MaxDurationMs
)
FROM @old_bucket AS t INNER JOIN [chokaq].MetricBuckets AS b WITH (ROWLOCK)
    ON b.BucketUtc = t.BucketUtc AND b.Queue = t.Queue AND b.Outcome = t.Outcome AND b.Reason = t.Reason AND b.Shard = t.Shard
OPTION (LOOP JOIN, FORCE ORDER);

-- name: fold_buckets
-- only: sqlserver, because SQLite's store adds them by the upsert of a turn.
INSERT INTO [chokaq].MetricBuckets (BucketUtc, Queue, Outcome, Reason, Shard)
SELECT DISTINCT t.BucketUtc, t.Queue, t.Outcome, t.Reason, '' FROM @bucket AS t
WHERE NOT EXISTS (
    SELECT 1 FROM [chokaq].MetricBuckets AS b
    WHERE b.BucketUtc = t.BucketUtc AND b.Queue = t.Queue AND b.Outcome = t.Outcome AND b.Reason = t.Reason AND b.Shard = ''
);
UPDATE b SET
    CompletedCount = b.CompletedCount + f.Completed, DurationCount = b.DurationCount + f.DurationCount,
    TotalDurationMs = b.TotalDurationMs + f.TotalMs,
    MaxDurationMs = CASE WHEN f.MaxMs > b.MaxDurationMs THEN f.MaxMs ELSE b.MaxDurationMs END
FROM [chokaq].MetricBuckets AS b
INNER JOIN (
    SELECT
        t.BucketUtc, t.Queue, t.Outcome, t.Reason, SUM(t.CompletedCount) AS Completed,
        SUM(t.DurationCount) AS DurationCount, SUM(t.TotalDurationMs) AS TotalMs, MAX(t.MaxDurationMs) AS MaxMs
    FROM @bucket AS t GROUP BY t.BucketUtc, t.Queue, t.Outcome, t.Reason
) AS f ON f.BucketUtc = b.BucketUtc AND f.Queue = b.Queue AND f.Outcome = b.Outcome AND f.Reason = b.Reason
WHERE b.Shard = '';
