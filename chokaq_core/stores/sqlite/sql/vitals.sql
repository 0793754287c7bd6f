-- How things stand, for health checks and gauges. Flat in rows where it can be: what is due is found by seeks.

-- name: vitals_lags
-- The oldest ready job of each queue that is open: one seek for each lane and priority in use, none for each row. Types
-- held back by their circuits are left out.
WITH RECURSIVE head (Queue, Type, Priority, DueAtUtc) AS (
    SELECT l.Queue, l.Type, h.Priority, h.DueAtUtc
    FROM Lanes AS l INNER JOIN JobsHot AS h
        ON
            h.rowid = (
                SELECT r.rowid FROM JobsHot AS r
                WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
                ORDER BY r.Priority DESC, r.DueAtUtc, r.Id LIMIT 1
            )
    UNION ALL
    SELECT p.Queue, p.Type, h.Priority, h.DueAtUtc
    FROM head AS p INNER JOIN JobsHot AS h ON h.rowid = (
        SELECT r.rowid FROM JobsHot AS r
        WHERE r.IsReady = 1 AND r.Queue = p.Queue AND r.Type = p.Type AND r.Priority < p.Priority
        ORDER BY r.Priority DESC, r.DueAtUtc, r.Id LIMIT 1
    )
)

SELECT q.Name, min(e.DueAtUtc)
FROM head AS e
INNER JOIN Queues AS q ON e.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
LEFT JOIN Circuits AS c ON e.Type = c.Type AND c.State <> 0 AND :has_circuits
WHERE c.Type IS NULL
GROUP BY q.Name;

-- name: vitals_due
-- The same for jobs that came due since the last claim; the oldest thousand that may run tell the worst.
SELECT d.Queue, min(d.DueAtUtc) FROM (
    SELECT h.Queue, h.DueAtUtc FROM JobsHot AS h
    CROSS JOIN Queues AS q ON h.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
    LEFT JOIN Circuits AS c ON h.Type = c.Type AND c.State <> 0 AND :has_circuits
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now AND c.Type IS NULL
    ORDER BY h.DueAtUtc LIMIT 1000
) AS d
GROUP BY d.Queue;

-- name: vitals_oldest_heartbeat
SELECT min(HeartbeatUtc) FROM JobsHot WHERE WorkerId > '' AND Status = 2;

-- name: vitals_depths
-- Waiting and dead jobs of each queue, counted in full from indexes.
SELECT Queue, count(*) FROM JobsHot WHERE Status = 0 GROUP BY Queue;

-- name: vitals_dead
SELECT Queue, count(*) FROM JobsDLQ GROUP BY Queue;
