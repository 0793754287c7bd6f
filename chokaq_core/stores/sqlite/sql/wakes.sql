-- Wakes: from when on jobs could be claimed, and which delayed wakes are worth sending. Tables in order: JobsHot, Queues,
-- Lanes, Timers.

-- name: wake_closed
-- Queues that nobody claims from at the moment: closed ones, and those whose limit is reached.
SELECT q.Name FROM Queues AS q
WHERE
    q.IsPaused = 1 OR q.IsActive = 0
    OR iif(
        q.MaxWorkers IS NULL, 0,
        q.MaxWorkers <= (SELECT count(*) FROM JobsHot AS h WHERE h.WorkerId > '' AND h.Queue = q.Name)
    );

-- name: wake_next_due
-- The job that is due next.
SELECT DueAtUtc, Queue FROM JobsHot WHERE IsReady = 0 AND Status = 0 ORDER BY DueAtUtc LIMIT 1;

-- name: wake_next_open
-- Where queues are closed or types held back: from when on the first of the thousand jobs that are due next, or of those of
-- a type that is held back, could be claimed. Nobody knows when a closed queue opens.
WITH held AS (SELECT json_extract(value, '$[0]') AS Type, json_extract(value, '$[1]') AS UntilUtc FROM json_each(:held))

SELECT min(t.OpensUtc) FROM (
    SELECT max(a.DueAtUtc, coalesce(u.UntilUtc, 0)) AS OpensUtc
    FROM (
        SELECT h.Queue, h.Type, h.DueAtUtc FROM JobsHot AS h
        WHERE h.IsReady = 0 AND h.Status = 0
        ORDER BY h.DueAtUtc LIMIT 1000
    ) AS a
    LEFT JOIN held AS u ON a.Type = u.Type
    WHERE a.Queue NOT IN (SELECT value FROM json_each(:closed))
    UNION ALL
    SELECT u.UntilUtc FROM held AS u
    INNER JOIN Lanes AS l ON u.Type = l.Type
    WHERE
        l.Queue NOT IN (SELECT value FROM json_each(:closed))
        AND EXISTS (SELECT 1 FROM JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type)
) AS t;

-- name: wake_due
-- only: sqlite, because T-SQL looks and writes in one batch, `wake_ask`.
SELECT WakeDueUtc FROM Timers WHERE Name = 'wake';

-- name: wake_ask
INSERT INTO Timers (Name, WakeDueUtc) VALUES ('wake', :due)
ON CONFLICT (Name) DO UPDATE SET WakeDueUtc = excluded.WakeDueUtc;
