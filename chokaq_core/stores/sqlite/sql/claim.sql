-- Claim, inside a worker's turn. Cost: flat in rows, linear in lanes. Tables in order: JobsHot (promotion), Lanes, Queues,
-- JobsHot.

-- name: claim_promote
-- Turns a fact on in bulk: rows whose due time has come become ready, earliest first.
UPDATE JobsHot SET IsReady = 1
WHERE Id IN (
    SELECT Id FROM JobsHot WHERE IsReady = 0 AND Status = 0 AND DueAtUtc <= :now ORDER BY DueAtUtc LIMIT :promote
);

-- name: claim_heads
-- The best claimable row of each lane whose queue is open, and whether another is behind it: as one row, like
-- `beat_held`. Two seeks a lane.
SELECT
    json_group_array(
        json_array(
            l.Queue, l.Type, q.MaxWorkers, -h.Priority, h.DueAtUtc, h.Id, h.rowid,
            (SELECT 1 FROM JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type LIMIT 1 OFFSET 1)
        )
    )
FROM Lanes AS l
INNER JOIN Queues AS q ON l.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
INNER JOIN JobsHot AS h ON h.rowid = (
    SELECT r.rowid FROM JobsHot AS r
    WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
    ORDER BY r.Priority DESC, r.DueAtUtc, r.Id LIMIT 1
);

-- name: claim_lane
-- A lane's claimable rows in claim order, from the index alone: as one row, like `beat_held`.
SELECT json_group_array(json_array(-Priority, DueAtUtc, Id, Place)) FROM (
    SELECT Priority, DueAtUtc, Id, rowid AS Place FROM JobsHot
    WHERE IsReady = 1 AND Queue = :queue AND Type = :type_key
    ORDER BY Priority DESC, DueAtUtc, Id LIMIT :most
);

-- name: claim_lane_rows
-- only: sqlite, because T-SQL ranks the rows of all lanes in one statement.
-- Where a lane's claimable rows are stored, in claim order: all that a claim has to know where no other lane has any.
-- 1 queue, 2 type, 3 how many at most.
SELECT json_group_array(Place) FROM (
    SELECT rowid AS Place FROM JobsHot
    WHERE IsReady = 1 AND Queue = ?1 AND Type = ?2
    ORDER BY Priority DESC, DueAtUtc, Id LIMIT ?3
);

-- name: claim_busy
-- Rows held in each queue that has a limit; counted after the write lock was taken, so the limit is exact.
SELECT Queue, count(*) FROM JobsHot WHERE WorkerId > '' GROUP BY Queue;

-- name: claim
-- Move claim: Pending → Processing for the first `:want` of the picked rows, → Fetched for the others.
UPDATE JobsHot SET
    Status = iif(p.key < :want, 2, 1), AttemptCount = AttemptCount + (p.key < :want),
    StartedAtUtc = iif(p.key < :want, :now, NULL), IsReady = 0, WorkerId = :worker, LeaseNumber = LeaseNumber + 1,
    HeartbeatUtc = :now, LastUpdatedUtc = :now
FROM json_each(:picked) AS p
WHERE JobsHot.rowid = p.atom AND +WorkerId IS NULL;

-- name: claim_one
-- only: sqlite, because an UPDATE that reads JSON costs twice as much for one row; it is one plan for all in T-SQL.
-- Move claim for one picked row.
UPDATE JobsHot SET
    Status = iif(:want > 0, 2, 1), AttemptCount = AttemptCount + (:want > 0),
    StartedAtUtc = iif(:want > 0, :now, NULL), IsReady = 0, WorkerId = :worker, LeaseNumber = LeaseNumber + 1,
    HeartbeatUtc = :now, LastUpdatedUtc = :now
WHERE rowid = :place AND +WorkerId IS NULL;

-- name: claim_held
-- only: sqlite, because a T-SQL batch selects the claimed rows with the rest of its answer, `turn_answered`.
-- What this worker holds of the picked rows, each with its place among them: as one row, like `beat_held`. Long payloads
-- are read one by one, since a row of SQLite holds a thousand million bytes at most.
-- 1 where the rows are stored, 2 worker, 3 from how many characters on a payload is long.
SELECT json_group_array(json_array(
    p.key, h.Id, h.LeaseNumber, h.Queue, h.Type, iif(length(h.Payload) > ?3, NULL, h.Payload), h.Status, h.AttemptCount,
    h.Interruptions, h.DueAtUtc, h.LifetimeStartUtc, h.CreatedBy, h.TraceParent, h.CancelRequestedUtc
)) FROM json_each(?1) AS p CROSS JOIN JobsHot AS h ON h.rowid = p.atom
WHERE +h.WorkerId = ?2;

-- name: claim_rows
-- only: sqlite, because T-SQL finds those rows by primary key, in `claim_again`.
-- Where the jobs of an earlier claim are stored, for the repeat of a turn.
SELECT h.rowid FROM json_each(:ids) AS i CROSS JOIN JobsHot AS h ON h.Id = i.value;

-- name: claim_payload
-- only: sqlite, because SQL Server selects each job as a row of its own, however long its payload is.
SELECT Payload FROM JobsHot WHERE Id = :id;
