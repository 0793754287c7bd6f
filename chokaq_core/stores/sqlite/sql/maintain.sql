-- Maintenance: each query is a bounded batch in a transaction of its own.

-- name: expire_archive
DELETE FROM JobsArchive WHERE rowid IN (
    SELECT rowid FROM JobsArchive WHERE FinishedAtUtc <= :older_than ORDER BY FinishedAtUtc, Id LIMIT :most
);

-- name: expire_dlq
DELETE FROM JobsDLQ WHERE rowid IN (
    SELECT rowid FROM JobsDLQ WHERE FailedAtUtc <= :older_than ORDER BY FailedAtUtc, Id LIMIT :most
);

-- name: prune_log
DELETE FROM OperatorLog WHERE Number IN (
    SELECT Number FROM OperatorLog WHERE AtUtc <= :older_than ORDER BY AtUtc LIMIT :most
);

-- name: buckets_oldest
-- The table has no rowid, so the batch is cut by time: whole seconds, until there are enough of them.
SELECT max(BucketUtc) FROM (
    SELECT BucketUtc FROM MetricBuckets WHERE BucketUtc <= :older_than ORDER BY BucketUtc LIMIT :most
);

-- name: prune_buckets
DELETE FROM MetricBuckets WHERE BucketUtc <= :until;

-- name: lanes_asleep
-- How many jobs wait for their due time, counted no further than a bound.
SELECT count(*) FROM (SELECT 1 FROM JobsHot WHERE IsReady = 0 AND Status = 0 LIMIT :most);

-- name: lanes_mark
-- Notes since when a lane has had no job. Ready ones are found by their index; the others are few.
UPDATE Lanes SET EmptySinceUtc = CASE
    WHEN EXISTS (SELECT 1 FROM JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = Lanes.Queue AND r.Type = Lanes.Type) THEN NULL
    WHEN (Queue, Type) IN (
        SELECT s.Queue, s.Type FROM JobsHot AS s WHERE s.IsReady = 0 AND s.Status = 0
        UNION
        SELECT h.Queue, h.Type FROM JobsHot AS h WHERE h.WorkerId > ''
    ) THEN NULL
    ELSE coalesce(EmptySinceUtc, :now)
END;

-- name: lanes_prune
DELETE FROM Lanes WHERE EmptySinceUtc <= :older_than;

-- name: fold_found
SELECT BucketUtc, Queue, Outcome, Reason, Shard, CompletedCount, DurationCount, TotalDurationMs, MaxDurationMs
FROM MetricBuckets WHERE Shard <> '' AND BucketUtc <= :older_than ORDER BY BucketUtc LIMIT :most;

-- name: fold_leave
DELETE FROM MetricBuckets
WHERE BucketUtc = :bucket AND Queue = :queue AND Outcome = :outcome AND Reason = :reason AND Shard = :shard;

-- name: fold_stats_found
-- Totals in the shards of workers that are gone. One that comes back begins a new row.
SELECT s.Queue, s.Shard, s.SucceededTotal, s.FailedTotal, s.RetriedTotal, s.LastActivityUtc
FROM StatsSummary AS s
WHERE s.Shard <> '' AND NOT EXISTS (SELECT 1 FROM Workers AS w WHERE w.WorkerId = s.Shard)
LIMIT :most;

-- name: fold_stats
INSERT INTO StatsSummary (Queue, Shard, SucceededTotal, FailedTotal, RetriedTotal, LastActivityUtc)
VALUES (:queue, '', :succeeded, :failed, :retried, :active_at)
ON CONFLICT (Queue, Shard) DO UPDATE SET
    SucceededTotal = SucceededTotal + excluded.SucceededTotal, FailedTotal = FailedTotal + excluded.FailedTotal,
    RetriedTotal = RetriedTotal + excluded.RetriedTotal,
    LastActivityUtc = coalesce(max(LastActivityUtc, excluded.LastActivityUtc), LastActivityUtc, excluded.LastActivityUtc);

-- name: fold_stats_leave
DELETE FROM StatsSummary WHERE Queue = :queue AND Shard = :shard;
