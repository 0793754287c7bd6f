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
-- Controls with what waits and runs. Rows that came due since the last claim are not ready yet and wait all the same;
-- the lag leaves out types that their circuits hold back.
SELECT
    q.Name, q.IsPaused, q.IsActive, q.MaxWorkers, q.ZombieTimeoutSeconds,
    coalesce(r.Jobs, 0) + coalesce(d.Jobs, 0), coalesce(a.Jobs, 0),
    coalesce(min(r.Oldest, d.Oldest), r.Oldest, d.Oldest)
FROM Queues AS q
LEFT JOIN (
    SELECT h.Queue, count(*) AS Jobs, min(iif(c.Type IS NULL, h.DueAtUtc, NULL)) AS Oldest
    FROM JobsHot AS h LEFT JOIN Circuits AS c ON h.Type = c.Type AND c.State <> 0 AND :has_circuits
    WHERE h.IsReady = 1 GROUP BY h.Queue
) AS r ON q.Name = r.Queue
LEFT JOIN (
    SELECT h.Queue, count(*) AS Jobs, min(iif(c.Type IS NULL, h.DueAtUtc, NULL)) AS Oldest
    FROM JobsHot AS h LEFT JOIN Circuits AS c ON h.Type = c.Type AND c.State <> 0 AND :has_circuits
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now GROUP BY h.Queue
) AS d ON q.Name = d.Queue
LEFT JOIN (SELECT Queue, count(*) AS Jobs FROM JobsHot WHERE WorkerId > '' GROUP BY Queue) AS a ON q.Name = a.Queue
ORDER BY q.Name;

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
