-- Wakes: from when on jobs could be claimed, and which delayed wakes are worth sending. Tables in order: JobsHot, Queues,
-- Circuits, Lanes, Timers. What another transaction has in hand is skipped: a wake too many does no harm, one too few is the
-- poll's, and waiting here, with all the rows of a turn in hand, could end in a deadlock.

-- name: tables_of_wakes
-- only: sqlserver, because what SQLite's store keeps in Python between its queries stands in table variables here.
DECLARE @closed TABLE (Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);
DECLARE @held TABLE (
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    UntilUtc datetime2(6) NOT NULL
);
DECLARE @opens_at datetime2(6), @next_queue varchar(255), @wake_at datetime2(6), @wake_in int;

-- name: wake_closed
-- Queues that nobody claims from at the moment: closed ones, and those whose limit is reached.
INSERT INTO @closed (Queue)
SELECT q.Name FROM [chokaq].Queues AS q WITH (READPAST, READCOMMITTEDLOCK)
WHERE
    q.IsPaused = 1 OR q.IsActive = 0
    OR q.MaxWorkers <= CASE
        WHEN q.MaxWorkers IS NULL THEN 0
        ELSE (
            SELECT COUNT(*) FROM [chokaq].JobsHot AS b WITH (READPAST, READCOMMITTEDLOCK)
            WHERE b.WorkerId IS NOT NULL AND b.Queue = q.Name
        )
    END;

-- name: wake_held
-- only: sqlserver, because SQLite's store asks the policy in Python: types that claims skip, each with the time until which
-- they do. A time further off than the rules put it was written before the clock was set back; nobody waits for it.
INSERT INTO @held (Type, UntilUtc)
SELECT c.Type, CASE c.State WHEN 1 THEN c.ResetAtUtc ELSE c.ProbeUntilUtc END
FROM [chokaq].Circuits AS c WITH (READPAST, READCOMMITTEDLOCK)
WHERE
    @has_circuits = 1
    AND (
        (c.State = 1 AND c.ResetAtUtc > @now AND c.ResetAtUtc <= @reset_at)
        OR (c.State = 2 AND c.ProbeUntilUtc > @now AND c.ProbeUntilUtc <= @probe_until)
    );

-- name: wake_next_due
-- The job that is due next.
SELECT TOP (1) @opens_at = h.DueAtUtc, @next_queue = h.Queue
FROM [chokaq].JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK)
WHERE h.IsReady = 0 AND h.Status = 0
ORDER BY h.DueAtUtc;

-- name: wake_next_open
-- Where queues are closed or types held back: from when on the first of the thousand jobs that are due next, or of those of
-- a type that is held back, could be claimed. Nobody knows when a closed queue opens.
IF EXISTS (SELECT 1 FROM @held) OR EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = @next_queue)
    SELECT @opens_at = MIN(t.OpensUtc) FROM (
        SELECT CASE WHEN u.UntilUtc > a.DueAtUtc THEN u.UntilUtc ELSE a.DueAtUtc END AS OpensUtc
        FROM (
            SELECT TOP (1000) h.Queue, h.Type, h.DueAtUtc
            FROM [chokaq].JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK)
            WHERE h.IsReady = 0 AND h.Status = 0
            ORDER BY h.DueAtUtc
        ) AS a
        LEFT JOIN @held AS u ON u.Type = a.Type
        WHERE NOT EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = a.Queue)
        UNION ALL
        SELECT u.UntilUtc FROM @held AS u
        INNER JOIN [chokaq].Lanes AS l WITH (READPAST, READCOMMITTEDLOCK) ON l.Type = u.Type
        WHERE
            NOT EXISTS (SELECT 1 FROM @closed AS k WHERE k.Queue = l.Queue)
            AND EXISTS (
                SELECT 1 FROM [chokaq].JobsHot AS r WITH (READPAST, READCOMMITTEDLOCK)
                WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
            )
    ) AS t;

-- name: wake_ask
-- Which delayed wakes are worth sending: only one for a time earlier than the one already under way. A time that has passed
-- is forgotten, so a lost wake blocks nothing. The first look spares the row its lock.
IF @wake_at > @now AND @wake_at <= @wake_horizon AND NOT EXISTS (
    SELECT 1 FROM [chokaq].Timers AS t WHERE t.Name = N'wake' AND t.WakeDueUtc > @now AND t.WakeDueUtc <= @wake_at
)
BEGIN
    UPDATE [chokaq].Timers SET WakeDueUtc = @wake_at
    WHERE Name = N'wake' AND (WakeDueUtc IS NULL OR WakeDueUtc <= @now OR WakeDueUtc > @wake_at);
    SET @wake_in = CASE WHEN @@ROWCOUNT = 1 THEN DATEDIFF(MICROSECOND, @now, @wake_at) END;
    IF @wake_in IS NULL AND NOT EXISTS (SELECT 1 FROM [chokaq].Timers AS t WHERE t.Name = N'wake')
    BEGIN
        INSERT INTO [chokaq].Timers (Name, WakeDueUtc) VALUES (N'wake', @wake_at);
        SET @wake_in = DATEDIFF(MICROSECOND, @now, @wake_at);
    END;
END;
