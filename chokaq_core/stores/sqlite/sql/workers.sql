-- Worker rows.

-- name: register
INSERT INTO Workers (WorkerId, Host, StartedAtUtc, HeartbeatUtc, Capacity, State)
VALUES (:worker, :host, :now, :now, :capacity, :state)
ON CONFLICT (
    WorkerId) DO UPDATE SET HeartbeatUtc = excluded.HeartbeatUtc, Capacity = excluded.Capacity,
State = excluded.State;

-- name: retire
UPDATE Workers SET State = 'stopped', LookingUntilUtc = NULL, Active = 0, HeartbeatUtc = :now WHERE WorkerId = :worker;

-- name: workers
SELECT WorkerId, Host, Capacity, State, Active, Abandoned, StartedAtUtc, HeartbeatUtc FROM Workers
ORDER BY StartedAtUtc, WorkerId;

-- name: prune_workers
DELETE FROM Workers
WHERE
    HeartbeatUtc < :older_than
    AND NOT EXISTS (SELECT 1 FROM JobsHot AS h WHERE h.WorkerId = Workers.WorkerId);

-- name: prune_turns
DELETE FROM Turns WHERE NOT EXISTS (SELECT 1 FROM Workers AS w WHERE w.WorkerId = Turns.WorkerId);
