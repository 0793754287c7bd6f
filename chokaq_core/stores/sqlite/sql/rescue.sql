-- Rescue: find what workers left behind. `WorkerId > ''` is every held row, as a seek in IX_JobsHot_Active.

-- name: recover_found
SELECT Id, Queue, Type, AttemptCount, WorkerId, CancelRequestedUtc FROM JobsHot
WHERE WorkerId > '' AND Status = 1 AND LastUpdatedUtc < :older_than LIMIT :most;

-- name: suspects
-- Processing rows whose heartbeat is older than their queue's zombie timeout, else the default.
SELECT h.Id, h.LeaseNumber, h.WorkerId, h.HeartbeatUtc, h.Queue, h.Type, h.AttemptCount, h.LifetimeStartUtc
FROM JobsHot AS h LEFT JOIN Queues AS q ON h.Queue = q.Name
WHERE
    h.WorkerId > '' AND h.Status = 2
    AND h.HeartbeatUtc < :now - coalesce(q.ZombieTimeoutSeconds * 1000000, :default_timeout)
LIMIT :most;

-- name: bury_still
-- Whether a suspect is still as it was read.
SELECT CancelRequestedUtc, CancelRequestedBy FROM JobsHot
WHERE Id = :id AND LeaseNumber = :lease_number AND HeartbeatUtc = :heartbeat AND +Status = 2;

-- name: timer_row
SELECT LastStartedUtc, LastSucceededUtc, LastOutcome FROM Timers WHERE Name = :name;

-- name: timer_started
INSERT INTO Timers (Name, LastStartedUtc) VALUES (:name, :now)
ON CONFLICT (Name) DO UPDATE SET LastStartedUtc = excluded.LastStartedUtc;

-- name: timer_finished
UPDATE Timers SET
    LastSucceededUtc = CASE WHEN :has_succeeded THEN :now ELSE LastSucceededUtc END,
    LastOutcome = :outcome
WHERE Name = :name;

-- name: timers
-- Without the row that remembers the last delayed wake, which never started.
SELECT Name, LastStartedUtc, LastSucceededUtc, LastOutcome FROM Timers WHERE LastStartedUtc IS NOT NULL;

-- name: demand_lanes
-- Ready rows of each lane that may be claimed from, counted no further than a bound: queues that are open, types that are
-- not held back by their circuits. Of a type that needs a probe one job may run.
SELECT
    l.Queue, q.MaxWorkers,
    min(iif(l.Type IN (SELECT value FROM json_each(:probing)), 1, :most), (
        SELECT count(*) FROM (
            SELECT 1 FROM JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type LIMIT :most
        )
    ))
FROM Lanes AS l
INNER JOIN Queues AS q ON l.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
WHERE l.Type NOT IN (SELECT value FROM json_each(:held));

-- name: demand_due
-- The same for rows whose due time has come since the last claim. Rows that may not be claimed do not use up the bound.
SELECT d.Queue, d.MaxWorkers, count(*) - count(d.Probing) + count(DISTINCT d.Probing) FROM (
    SELECT h.Queue, q.MaxWorkers, iif(h.Type IN (SELECT value FROM json_each(:probing)), h.Type, NULL) AS Probing
    FROM JobsHot AS h
    CROSS JOIN Queues AS q ON h.Queue = q.Name AND q.IsPaused = 0 AND q.IsActive = 1
    WHERE
        h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now
        AND h.Type NOT IN (SELECT value FROM json_each(:held))
    LIMIT :most
) AS d
GROUP BY d.Queue;

-- name: demand_workers
-- Workers that have promised to look again: they have room, and are there.
SELECT count(*) FROM Workers WHERE LookingUntilUtc > :now AND State = 'running';
