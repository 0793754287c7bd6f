-- Claim, inside a worker's turn. Cost: flat in rows, linear in lanes. Tables in order: JobsHot (promotion), Lanes, Queues,
-- JobsHot.

-- name: claim_promote
-- Turns a fact on in bulk: rows whose due time has come become ready, earliest first.
UPDATE JobsHot SET IsReady = 1
WHERE Id IN (
    SELECT Id FROM JobsHot WHERE IsReady = 0 AND Status = 0 AND DueAtUtc <= :now ORDER BY DueAtUtc LIMIT :promote
);

-- name: claim_heads
-- The best claimable row of each lane whose queue is open. One seek a lane.
SELECT l.Queue, l.Type, q.MaxWorkers, h.Priority, h.DueAtUtc, h.Id
FROM Lanes AS l
INNER JOIN Queues AS q ON l.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
INNER JOIN JobsHot AS h ON h.rowid = (
    SELECT r.rowid FROM JobsHot AS r
    WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
    ORDER BY r.Priority DESC, r.DueAtUtc, r.Id LIMIT 1
);

-- name: claim_lane
-- A lane's claimable rows in claim order, from the index alone.
SELECT Priority, DueAtUtc, Id FROM JobsHot
WHERE IsReady = 1 AND Queue = :queue AND Type = :type_key
ORDER BY Priority DESC, DueAtUtc, Id LIMIT :most;

-- name: claim_busy
-- Rows held in each queue that has a limit; counted after the write lock was taken, so the limit is exact.
SELECT Queue, count(*) FROM JobsHot WHERE WorkerId > '' GROUP BY Queue;

-- name: claim
-- Move claim: Pending → Processing for ids in :running, → Fetched for the others. No `IS NOT NULL` behind RETURNING:
-- SQLite 3.40 answers 1 there for every column of a table whose first one is NOT NULL.
UPDATE JobsHot SET
    Status = CASE WHEN Id IN (SELECT value FROM json_each(:running)) THEN 2 ELSE 1 END,
    AttemptCount = AttemptCount + (Id IN (SELECT value FROM json_each(:running))),
    StartedAtUtc = CASE WHEN Id IN (SELECT value FROM json_each(:running)) THEN :now END,
    IsReady = 0, WorkerId = :worker, LeaseNumber = LeaseNumber + 1, HeartbeatUtc = :now, LastUpdatedUtc = :now
WHERE Id IN (SELECT value FROM json_each(:ids)) AND WorkerId IS NULL
RETURNING
    Id, LeaseNumber, Queue, Type, Payload, Status, AttemptCount, Interruptions, DueAtUtc, LifetimeStartUtc,
    CreatedBy, TraceParent, CancelRequestedUtc;

-- name: claim_again
-- The rows of an earlier claim that this worker still holds, for the repeat of a turn.
SELECT
    h.Id, h.LeaseNumber, h.Queue, h.Type, h.Payload, h.Status, h.AttemptCount, h.Interruptions, h.DueAtUtc,
    h.LifetimeStartUtc, h.CreatedBy, h.TraceParent, h.CancelRequestedUtc
FROM json_each(:ids) AS i CROSS JOIN JobsHot AS h ON h.Id = i.value
WHERE +h.WorkerId = :worker;

-- name: claim_has_open_queue
SELECT EXISTS(SELECT 1 FROM Queues WHERE IsPaused = 0 AND IsActive = 1);
