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
SELECT Name, LastStartedUtc, LastSucceededUtc, LastOutcome FROM Timers;

-- name: demand_limited
-- What may be claimed from open queues that have a limit: what waits in each, as far as the limit leaves room. Due rows
-- that are not ready yet are looked at once for all queues.
WITH due AS MATERIALIZED (
    SELECT h.Queue FROM JobsHot AS h INNER JOIN Queues AS q ON h.Queue = q.Name
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now AND q.MaxWorkers IS NOT NULL
    LIMIT :most
)

SELECT coalesce(sum(min(w.Room, w.Ready + w.Due)), 0) FROM (
    SELECT
        max(0, q.MaxWorkers - (SELECT count(*) FROM JobsHot AS h WHERE h.WorkerId > '' AND h.Queue = q.Name)) AS Room,
        (SELECT count(*) FROM (SELECT 1 FROM JobsHot AS r WHERE r.IsReady = 1 AND r.Queue = q.Name LIMIT :most)) AS Ready,
        (SELECT count(*) FROM due WHERE due.Queue = q.Name) AS Due
    FROM Queues AS q WHERE q.IsPaused = 0 AND q.IsActive = 1 AND q.MaxWorkers IS NOT NULL
) AS w;

-- name: demand_ready
-- Claimable rows of open queues without a limit, counted up to a bound: ready ones, and ones whose due time has come.
SELECT count(*) FROM (
    SELECT 1 FROM Queues AS q INNER JOIN JobsHot AS h ON q.Name = h.Queue
    WHERE q.IsPaused = 0 AND q.IsActive = 1 AND q.MaxWorkers IS NULL AND h.IsReady = 1
    LIMIT :most
);

-- name: demand_due
SELECT count(*) FROM (
    SELECT 1 FROM JobsHot AS h INNER JOIN Queues AS q ON h.Queue = q.Name
    WHERE
        h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= :now
        AND q.IsPaused = 0 AND q.IsActive = 1 AND q.MaxWorkers IS NULL
    LIMIT :most
);

-- name: demand_workers
SELECT count(*) FROM Workers
WHERE State = 'running' AND max(HeartbeatUtc, coalesce(LookingUntilUtc, 0)) >= :since AND Active + Abandoned < Capacity;
