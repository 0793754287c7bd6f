-- Claim, inside a worker's turn. Cost: flat in rows, linear in lanes. Three steps: read the head of every lane, allot the
-- room among the lanes without locking, then lock exactly the allotment. Hints: READPAST skips what another claim has in
-- hand; under row versioning it needs READCOMMITTEDLOCK beside it; INDEX and FORCESEEK pin the one index that holds only
-- claimable rows in claim order, whatever the statistics say.

-- name: tables_of_claims
-- only: sqlserver, because what SQLite's store keeps in Python between its queries stands in table variables here.
DECLARE @limit TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    Room int NOT NULL DEFAULT 0
);
DECLARE @lane TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Room int NOT NULL,
    IsProbe bit NOT NULL,
    Priority int NOT NULL,
    DueAtUtc datetime2(6) NOT NULL,
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL
);
DECLARE @probe TABLE (
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    State int NOT NULL
);
DECLARE @lane_filter TABLE (
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    IsOpen int NOT NULL
);
DECLARE @candidate TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority int NOT NULL,
    Round int NOT NULL,
    InQueue int NOT NULL
);
DECLARE @slot TABLE (
    Ord int NOT NULL PRIMARY KEY,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    InQueue int NOT NULL
);
DECLARE @pick TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    LeaseNumber int NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority int NOT NULL,
    DueAtUtc datetime2(6) NOT NULL
);
DECLARE @claimed TABLE (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    LeaseNumber int NULL,
    Ord int NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Generation int NOT NULL DEFAULT 0,
    IsProbe bit NOT NULL DEFAULT 0
);
DECLARE @taken int = 0, @level int, @later datetime2(6), @waited int;

-- name: claim_promote
-- Turns a fact on in bulk: rows whose due time has come become ready, earliest first, at most 1000.
UPDATE h SET IsReady = 1
FROM (
    SELECT TOP (1000) a.Id
    FROM [chokaq].JobsHot AS a WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsHot_Asleep))
    WHERE a.IsReady = 0 AND a.Status = 0 AND a.DueAtUtc <= @now
    ORDER BY a.DueAtUtc
) AS d INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = d.Id
WHERE h.WorkerId IS NULL AND h.DueAtUtc <= @now
OPTION (LOOP JOIN, FORCE ORDER);

-- name: claim_limits
-- only: sqlserver, because a limit is exact only if it is locked by a write and counted in a later statement: under row
-- versioning a statement sees what was committed when it began. The rows of limited queues are written before any job is,
-- in the order of their names, and only where something is claimable or given back, and where the running jobs, less those
-- that this turn settles, may leave room. Unlimited queues never pay for it.
DELETE l
FROM @limit AS l INNER JOIN [chokaq].Queues AS q ON q.Name = l.Queue
WHERE
    q.MaxWorkers <= (
        SELECT COUNT(*) FROM [chokaq].JobsHot AS b WITH (READPAST, READCOMMITTEDLOCK)
        WHERE b.WorkerId IS NOT NULL AND b.Queue = l.Queue AND NOT EXISTS (
            SELECT 1 FROM @given AS g WHERE g.Id = b.Id AND b.WorkerId = @worker AND g.Move <> 'start'
        )
    )
    OR (
        NOT EXISTS (
            SELECT 1 FROM [chokaq].JobsHot AS r WITH (READPAST, READCOMMITTEDLOCK)
            WHERE r.IsReady = 1 AND r.Queue = l.Queue
        )
        AND NOT EXISTS (
            SELECT 1 FROM @given AS g INNER JOIN [chokaq].JobsHot AS o WITH (READPAST, READCOMMITTEDLOCK) ON o.Id = g.Id
            WHERE o.Queue = l.Queue AND g.Move IN ('retry', 'postpone', 'release', 'hand_back')
        )
    );
UPDATE q SET ClaimSeq = q.ClaimSeq + 1
FROM @limit AS l INNER JOIN [chokaq].Queues AS q WITH (ROWLOCK) ON q.Name = l.Queue
OPTION (LOOP JOIN, FORCE ORDER);

-- name: claim_busy
-- Counts the held jobs of the queues that were locked, exactly: without READPAST, since a job whose row is locked runs too,
-- and before any circuit is locked, since without row versioning the count waits for turns that are under way.
UPDATE l SET Room = CASE
    WHEN q.MaxWorkers IS NULL THEN @room
    ELSE q.MaxWorkers - (
        SELECT COUNT(*) FROM [chokaq].JobsHot AS b WHERE b.WorkerId IS NOT NULL AND b.Queue = l.Queue
    )
END
FROM @limit AS l INNER JOIN [chokaq].Queues AS q ON q.Name = l.Queue;

-- name: claim_heads
-- The best claimable row of each lane whose queue is open and whose circuit lets jobs through: one seek a lane. A time further
-- off than the rules of circuits put it was written before the clock was set back; nobody waits for it.
INSERT INTO @lane (Queue, Type, Room, IsProbe, Priority, DueAtUtc, Id)
SELECT
    a.Queue, a.Type, CASE WHEN q.MaxWorkers IS NULL THEN @room ELSE l.Room END,
    CASE WHEN c.Type IS NULL THEN 0 ELSE 1 END, x.Priority, x.DueAtUtc, x.Id
FROM [chokaq].Lanes AS a
INNER JOIN [chokaq].Queues AS q ON q.Name = a.Queue
LEFT JOIN @limit AS l ON l.Queue = a.Queue
LEFT JOIN [chokaq].Circuits AS c ON c.Type = a.Type AND c.State <> 0 AND @has_circuits = 1
CROSS APPLY (
    SELECT TOP (1) h.Priority, h.DueAtUtc, h.Id
    FROM [chokaq].JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsHot_Ready), FORCESEEK)
    WHERE h.IsReady = 1 AND h.Queue = a.Queue AND h.Type = a.Type
    ORDER BY h.Priority DESC, h.DueAtUtc, h.Id
) AS x
WHERE
    q.IsPaused = 0 AND q.IsActive = 1 AND (q.MaxWorkers IS NULL OR l.Room > 0)
    AND (
        c.Type IS NULL
        OR (c.State = 1 AND (COALESCE(c.ResetAtUtc, @now) <= @now OR c.ResetAtUtc > @reset_at))
        OR (c.State = 2 AND (COALESCE(c.ProbeUntilUtc, @now) <= @now OR c.ProbeUntilUtc > @probe_until))
    );

-- name: claim_filtered
-- only: sqlserver, because SQLite's store does this in Python: lanes that the turn does not ask for are left out, by type where
-- that is named, else by queue where that is, else by what holds for all others.
IF @lanes <> N'[]'
BEGIN
    INSERT INTO @lane_filter (Type, Queue, IsOpen)
    SELECT SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, f.TypeAt, f.TypeLength), f.Queue, f.IsOpen
    FROM OPENJSON(@lanes) WITH (
        TypeAt int '$.type[0]',
        TypeLength int '$.type[1]',
        Queue varchar(255) '$.queue',
        IsOpen int '$.open'
    ) AS f;
    DELETE n FROM @lane AS n
    WHERE COALESCE(
        (SELECT MAX(t.IsOpen) FROM @lane_filter AS t WHERE t.Type = n.Type),
        (SELECT MAX(q.IsOpen) FROM @lane_filter AS q WHERE q.Queue = n.Queue),
        (SELECT MAX(o.IsOpen) FROM @lane_filter AS o WHERE o.Type IS NULL AND o.Queue IS NULL)
    ) = 0;
END;

-- name: claim_probes
-- only: sqlserver, because one probe a store needs a lock here: the circuit's row is written, then looked at again, at the
-- time it has become meanwhile: a claim that began later may have gone first, and by the time at which this one began its
-- probe would be from the future. Of a type that needs a probe one lane of one job stays: its best in all queues.
IF EXISTS (SELECT 1 FROM @lane AS n WHERE n.IsProbe = 1)
BEGIN
    DELETE n
    FROM @lane AS n INNER JOIN (
        SELECT
            p.Queue, p.Type, ROW_NUMBER() OVER (PARTITION BY p.Type ORDER BY p.Priority DESC, p.DueAtUtc, p.Id) AS Place
        FROM @lane AS p WHERE p.IsProbe = 1
    ) AS w ON w.Queue = n.Queue AND w.Type = n.Type
    WHERE w.Place > 1;
    UPDATE c SET Generation = c.Generation
    FROM [chokaq].Circuits AS c WITH (ROWLOCK)
    WHERE c.Type IN (SELECT n.Type FROM @lane AS n WHERE n.IsProbe = 1);
    SET @later = COALESCE(@told_now, SYSUTCDATETIME());
    SET @waited = CASE WHEN @told_now IS NULL THEN DATEDIFF(MILLISECOND, @now, @later) + 1 ELSE 0 END;
    INSERT INTO @probe (Type, State)
    SELECT c.Type, c.State FROM [chokaq].Circuits AS c
    WHERE
        c.Type IN (SELECT n.Type FROM @lane AS n WHERE n.IsProbe = 1)
        AND (
            (c.State = 1 AND (
                COALESCE(c.ResetAtUtc, @later) <= @later OR c.ResetAtUtc > DATEADD(MILLISECOND, @waited, @reset_at)
            ))
            OR (c.State = 2 AND (
                COALESCE(c.ProbeUntilUtc, @later) <= @later OR c.ProbeUntilUtc > DATEADD(MILLISECOND, @waited, @probe_until)
            ))
        );
    DELETE n FROM @lane AS n WHERE n.IsProbe = 1 AND n.Type NOT IN (SELECT p.Type FROM @probe AS p);
END;

-- name: claim_lane
-- The first rows of the lanes that can matter, from the index alone. Lanes are ranked within their queue and priority before
-- they are cut, with ties: else, for one or two slots, one queue would take every turn.
INSERT INTO @candidate (Queue, Type, Priority, Round, InQueue)
SELECT y.Queue, y.Type, y.Priority, y.Round, y.InQueue
FROM (
    SELECT
        z.Queue, z.Type, z.Room, x.Priority,
        ROW_NUMBER() OVER (PARTITION BY z.Queue, x.Priority ORDER BY x.DueAtUtc, x.Id) AS Round,
        ROW_NUMBER() OVER (PARTITION BY z.Queue ORDER BY x.Priority DESC, x.DueAtUtc, x.Id) AS InQueue
    FROM (
        SELECT r.*, RANK() OVER (ORDER BY r.Priority DESC, r.InPriority) AS Place
        FROM (
            SELECT
                n.*,
                ROW_NUMBER() OVER (PARTITION BY n.Queue, n.Priority ORDER BY n.DueAtUtc, n.Id) AS InPriority,
                ROW_NUMBER() OVER (PARTITION BY n.Queue ORDER BY n.Priority DESC, n.DueAtUtc, n.Id) AS InQueue
            FROM @lane AS n
        ) AS r
        WHERE r.InQueue <= r.Room
    ) AS z
    CROSS APPLY (
        SELECT TOP (CASE WHEN z.IsProbe = 1 THEN 1 WHEN z.Room < @room THEN z.Room ELSE @room END)
            h.Priority, h.DueAtUtc, h.Id
        FROM [chokaq].JobsHot AS h WITH (READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsHot_Ready), FORCESEEK)
        WHERE h.IsReady = 1 AND h.Queue = z.Queue AND h.Type = z.Type
        ORDER BY h.Priority DESC, h.DueAtUtc, h.Id
    ) AS x
    WHERE z.Place <= @room
) AS y
WHERE y.InQueue <= y.Room;

-- name: claim_slots
-- only: sqlserver, because SQLite's store does this in Python: one round for each priority, queues in turn from the last one
-- that was served.
SELECT @level = MAX(c.Priority) FROM @candidate AS c;
WHILE @level IS NOT NULL AND @taken < @room
BEGIN
    INSERT INTO @slot (Ord, Queue, Type, InQueue)
    SELECT @taken + w.Place, w.Queue, w.Type, w.InQueue
    FROM (
        SELECT
            c.Queue, c.Type, c.InQueue,
            ROW_NUMBER() OVER (
                ORDER BY c.Round, CASE WHEN c.Queue > @last_queue THEN 0 ELSE 1 END, c.Queue
            ) AS Place
        FROM @candidate AS c WHERE c.Priority = @level
    ) AS w
    WHERE @taken + w.Place <= @room;
    SELECT @taken = COALESCE(MAX(s.Ord), 0) FROM @slot AS s;
    SELECT @last_queue = s.Queue FROM @slot AS s WHERE s.Ord = @taken;
    SELECT @level = MAX(c.Priority) FROM @candidate AS c WHERE c.Priority < @level;
END;
SET @last_queue = @after_queue;

-- name: claim
-- Move claim: Pending → Processing for the first @want, → Fetched for the others. The allotment is locked lane by lane, then
-- each row takes its slot. Where hints are ignored (Babelfish) a row may be gone by now: the guard finds it, the last
-- statement forgets it.
INSERT INTO @pick (Id, LeaseNumber, Queue, Type, Priority, DueAtUtc)
SELECT x.Id, x.LeaseNumber, t.Queue, t.Type, x.Priority, x.DueAtUtc
FROM (SELECT s.Queue, s.Type, COUNT(*) AS Take FROM @slot AS s GROUP BY s.Queue, s.Type) AS t
CROSS APPLY (
    SELECT TOP (t.Take) h.Id, h.LeaseNumber, h.Priority, h.DueAtUtc
    FROM [chokaq].JobsHot AS h WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK, INDEX (IX_JobsHot_Ready), FORCESEEK)
    WHERE h.IsReady = 1 AND h.Queue = t.Queue AND h.Type = t.Type
    ORDER BY h.Priority DESC, h.DueAtUtc, h.Id
) AS x;
INSERT INTO @claimed (Id, LeaseNumber, Ord, Queue, Type)
SELECT p.Id, p.LeaseNumber + 1, ROW_NUMBER() OVER (ORDER BY s.Ord), p.Queue, p.Type
FROM (
    SELECT k.*, ROW_NUMBER() OVER (PARTITION BY k.Queue ORDER BY k.Priority DESC, k.DueAtUtc, k.Id) AS InQueue
    FROM @pick AS k
) AS p INNER JOIN @slot AS s ON s.Queue = p.Queue AND s.InQueue = p.InQueue;
UPDATE h SET
    Status = CASE WHEN k.Ord <= @want THEN 2 ELSE 1 END,
    AttemptCount = h.AttemptCount + CASE WHEN k.Ord <= @want THEN 1 ELSE 0 END,
    StartedAtUtc = CASE WHEN k.Ord <= @want THEN @now END,
    IsReady = 0, WorkerId = @worker, LeaseNumber = k.LeaseNumber, HeartbeatUtc = @now, LastUpdatedUtc = @now
FROM @claimed AS k INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = k.Id
WHERE h.WorkerId IS NULL AND h.LeaseNumber = k.LeaseNumber - 1
OPTION (LOOP JOIN, FORCE ORDER);
DELETE k FROM @claimed AS k
WHERE NOT EXISTS (
    SELECT 1 FROM [chokaq].JobsHot AS h WHERE h.Id = k.Id AND h.WorkerId = @worker AND h.LeaseNumber = k.LeaseNumber
);

-- name: claim_circuits
-- only: sqlserver, because SQLite's store asks the policy in Python: the job claimed of a type that needs a probe is it.
IF @has_circuits = 1
BEGIN
    UPDATE c SET
        State = 2, Generation = c.Generation + 1, ProbeJobId = k.Id, ProbeWorkerId = @worker, ProbeUntilUtc = @probe_until
    FROM [chokaq].Circuits AS c INNER JOIN @claimed AS k ON k.Type = c.Type INNER JOIN @probe AS p ON p.Type = c.Type;
    INSERT INTO @event (Type, State, Name)
    SELECT w.Type, 2, w.Name
    FROM (
        SELECT k.Ord, p.Type, 0 AS Place, CASE WHEN p.State = 2 THEN 'probe_expired' ELSE 'half_opened' END AS Name
        FROM @claimed AS k INNER JOIN @probe AS p ON p.Type = k.Type
        UNION ALL
        SELECT k.Ord, p.Type, 1, 'probe_acquired' FROM @claimed AS k INNER JOIN @probe AS p ON p.Type = k.Type
    ) AS w
    ORDER BY w.Ord, w.Place;
    UPDATE k SET
        Generation = c.Generation, IsProbe = CASE WHEN p.Type IS NULL THEN 0 ELSE 1 END
    FROM @claimed AS k INNER JOIN [chokaq].Circuits AS c ON c.Type = k.Type LEFT JOIN @probe AS p ON p.Type = k.Type;
END;

-- name: claim_again
-- only: sqlserver, because SQLite's store looks with a claim's own query, `claim_held`.
-- The rows of an earlier claim, for the repeat of a turn; those that this worker no longer holds fall out at the end.
IF @is_fresh = 0
BEGIN
    INSERT INTO @claimed (Id, LeaseNumber, Ord, Queue, Type, Generation, IsProbe)
    SELECT
        h.Id, h.LeaseNumber, 0, h.Queue, h.Type, COALESCE(c.Generation, 0),
        CASE WHEN c.ProbeJobId = h.Id THEN 1 ELSE 0 END
    FROM [chokaq].Turns AS t CROSS APPLY STRING_SPLIT(t.Claimed, ' ') AS v
    INNER JOIN [chokaq].JobsHot AS h ON h.Id = CAST(LEFT(v.value, CHARINDEX(':', v.value) - 1) AS varchar(50))
    LEFT JOIN [chokaq].Circuits AS c ON c.Type = h.Type AND @has_circuits = 1
    WHERE
        t.WorkerId = @worker AND h.WorkerId = @worker
        AND v.value = CAST(h.Id AS varchar(max)) + ':' + CAST(h.LeaseNumber AS varchar(11));
END;

-- name: turn_lost
-- only: sqlserver, because SQLite's store looks with the query of the guards, `turn_held`.
-- Jobs that the first try started and that this worker does not hold any more: in a repeat they are stale too.
IF @is_fresh = 0
BEGIN
    -- include: turn_given
    SELECT @stale = STRING_AGG(CAST(g.Id AS varchar(max)), ' ') FROM @given AS g
    WHERE
        g.Move = 'start'
        AND NOT EXISTS (
            SELECT 1 FROM [chokaq].JobsHot AS h
            WHERE h.Id = g.Id AND h.WorkerId = @worker AND h.LeaseNumber = g.LeaseNumber AND h.Status = 2
        );
END;

-- name: claim_has_open_queue
-- only: sqlserver, because SQLite's store asks at the beginning of its turn, in `turn_look`.
SET @has_open_queue = CASE
    WHEN EXISTS (SELECT 1 FROM @claimed) THEN 1
    WHEN EXISTS (SELECT 1 FROM [chokaq].Queues AS q WHERE q.IsPaused = 0 AND q.IsActive = 1) THEN 1
    ELSE 0
END;
