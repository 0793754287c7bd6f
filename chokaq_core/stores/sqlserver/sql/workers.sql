-- Worker rows. Tables in order: Turns, JobsHot, Workers, Timers.

-- name: register
-- takes: worker varchar(100), host nvarchar(255), capacity int, state varchar(20)
UPDATE [chokaq].Workers SET HeartbeatUtc = @now, Capacity = @capacity, State = @state WHERE WorkerId = @worker;
IF @@ROWCOUNT = 0
    INSERT INTO [chokaq].Workers (WorkerId, Host, StartedAtUtc, HeartbeatUtc, Capacity, State)
    VALUES (@worker, @host, @now, @now, @capacity, @state);

-- name: retire
-- The last worker out asks for a wake for the next due time: at once for a job that came due since the last look.
-- takes: worker varchar(100), has_circuits bit, reset_at ahead, probe_until ahead, wake_horizon ahead
DECLARE @is_worker_looking bit;
-- include: tables_of_wakes
BEGIN TRANSACTION;
UPDATE [chokaq].Workers SET State = 'stopped', LookingUntilUtc = NULL, Active = 0, HeartbeatUtc = @now
WHERE WorkerId = @worker;
-- include: enqueue_is_worker_looking
IF @is_worker_looking = 0
BEGIN
    -- include: wake_closed
    -- include: wake_held
    -- include: wake_next_due
    -- include: wake_next_open
    SET @wake_at = @opens_at;
    -- include: wake_ask
    IF @opens_at <= @now
        SET @wake_in = 0;
END;
COMMIT TRANSACTION;
SELECT @wake_in AS WakeInMicros;

-- name: workers
-- takes: nothing
SELECT w.WorkerId, w.Host, w.Capacity, w.State, w.Active, w.Abandoned, w.StartedAtUtc, w.HeartbeatUtc
FROM [chokaq].Workers AS w
ORDER BY w.StartedAtUtc, w.WorkerId;

-- name: prune_workers
-- What exceeds a thousand rows waits for the next time.
-- takes: older_than ago
DECLARE @gone int;
BEGIN TRANSACTION;
DELETE TOP (1000) w
FROM [chokaq].Workers AS w WITH (ROWLOCK)
WHERE
    w.HeartbeatUtc < @older_than
    AND NOT EXISTS (SELECT 1 FROM [chokaq].JobsHot AS h WHERE h.WorkerId = w.WorkerId AND h.WorkerId IS NOT NULL);
SET @gone = @@ROWCOUNT;
-- include: prune_turns
COMMIT TRANSACTION;
SELECT @gone AS Gone;

-- name: prune_turns
DELETE TOP (1000) t
FROM [chokaq].Turns AS t WITH (ROWLOCK)
WHERE NOT EXISTS (SELECT 1 FROM [chokaq].Workers AS w WHERE w.WorkerId = t.WorkerId);
