-- What people do to jobs and queues.

-- name: cancel_found
SELECT Queue, Status FROM JobsHot WHERE Id = :id;

-- name: cancel_mark
-- Move cancel of a running job: a mark that its worker finds with the next heartbeat. The first mark stays.
UPDATE JobsHot SET
    CancelRequestedUtc = coalesce(CancelRequestedUtc, :now),
    CancelRequestedBy = coalesce(CancelRequestedBy, :actor)
WHERE Id = :id;

-- name: resurrect_found
SELECT IdempotencyKey, Queue, Type FROM JobsDLQ WHERE Id = :id;

-- name: resurrect_key_held
SELECT EXISTS(SELECT 1 FROM JobsHot WHERE IdempotencyKey = :held_key);

-- name: resurrect
-- Move resurrect: DLQ → Pending with a fresh count of attempts and a fresh lifetime; the lease number goes on.
INSERT INTO JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, LeaseNumber, Interruptions, DueAtUtc, CreatedAtUtc,
    LastUpdatedUtc, LifetimeStartUtc, IsReady, AttemptErrors, TraceParent, CreatedBy, LastModifiedBy
)
SELECT
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, LeaseNumber, Interruptions, :now, CreatedAtUtc,
    :now, :now, 1, AttemptErrors, TraceParent, CreatedBy, :actor
FROM JobsDLQ
WHERE Id = :id;

-- name: leave_dlq
DELETE FROM JobsDLQ WHERE Id = :id;

-- name: leave_archive
DELETE FROM JobsArchive WHERE Id = :id;

-- name: edit_hot
UPDATE JobsHot SET
    Payload = coalesce(:payload, Payload), Tags = coalesce(:tags, Tags),
    Priority = coalesce(:priority, Priority), LastModifiedBy = :actor, LastUpdatedUtc = :now
WHERE Id = :id AND +Status = 0;

-- name: edit_dlq
UPDATE JobsDLQ SET
    Payload = coalesce(:payload, Payload), Tags = coalesce(:tags, Tags),
    Priority = coalesce(:priority, Priority), LastModifiedBy = :actor, LastUpdatedUtc = :now
WHERE Id = :id;

-- name: queues
-- Controls with what waits and runs. However deep the queues are, about :look ready rows are counted in all: each queue
-- has an even share of them, whole hundreds of rows, and one row more tells that there are others.
WITH share (Jobs) AS (SELECT max(100, :look / max(1, count(*)) / 100 * 100) FROM Queues)

SELECT
    q.Name, q.IsPaused, q.IsActive, q.MaxWorkers, q.ZombieTimeoutSeconds, coalesce(a.Jobs, 0), s.Jobs,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM JobsHot AS r
            WHERE r.IsReady = 1 AND r.Queue = q.Name LIMIT (SELECT e.Jobs + 1 FROM share AS e)
        )
    )
FROM Queues AS q
CROSS JOIN share AS s
LEFT JOIN (SELECT Queue, count(*) AS Jobs FROM JobsHot WHERE WorkerId > '' GROUP BY Queue) AS a ON q.Name = a.Queue
ORDER BY q.Name;

-- name: queues_due
-- Rows that came due since the last claim are not ready yet and wait all the same. They are few, since each claim makes
-- a thousand of them ready; more than that many are not counted.
SELECT d.Queue, count(*), min(iif(c.Type IS NULL, d.DueAtUtc, NULL))
FROM (
    SELECT h.Queue, h.Type, h.DueAtUtc FROM JobsHot AS h
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now
    ORDER BY h.DueAtUtc LIMIT :most
) AS d
LEFT JOIN Circuits AS c ON d.Type = c.Type AND c.State <> 0 AND :has_circuits
GROUP BY d.Queue;

-- name: queue_controls
-- only: sqlite, because SQL Server changes them in one statement.
SELECT Name, IsPaused, IsActive, MaxWorkers, ZombieTimeoutSeconds FROM Queues WHERE Name = :name;

-- name: change_queue
UPDATE Queues SET
    IsPaused = :is_paused, IsActive = :is_active, MaxWorkers = :max_workers,
    ZombieTimeoutSeconds = :zombie_timeout, LastUpdatedUtc = :now
WHERE Name = :name;

-- name: change_queue_fetched
-- Jobs that were fetched from a queue which is being closed.
SELECT Id FROM JobsHot WHERE WorkerId > '' AND Queue = :name AND Status = 1;

-- name: totals
SELECT Queue, sum(SucceededTotal), sum(FailedTotal), sum(RetriedTotal) FROM StatsSummary GROUP BY Queue ORDER BY Queue;

-- name: buckets
SELECT
    BucketUtc, Queue, Outcome, Reason, sum(CompletedCount), sum(DurationCount), sum(TotalDurationMs),
    max(MaxDurationMs)
FROM MetricBuckets WHERE BucketUtc >= :since
GROUP BY BucketUtc, Queue, Outcome, Reason ORDER BY BucketUtc, Queue, Outcome, Reason;

-- name: counts
SELECT (SELECT count(*) FROM JobsHot), (SELECT count(*) FROM JobsArchive), (SELECT count(*) FROM JobsDLQ);
