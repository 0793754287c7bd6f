-- How things stand, for health checks and gauges. Flat in rows where it can be: what is due is found by seeks.

-- name: vitals
-- only: sqlserver, because one batch is one round trip. A schema that is not ready is told, and no table is touched.
-- takes: schema_name nvarchar(128), expected int, has_circuits bit
DECLARE @version int = 0;
-- include: table_of_heads
IF OBJECT_ID(N'[chokaq].SchemaMigrations', N'U') IS NOT NULL
BEGIN
    -- include: schema_version
    SET @version = COALESCE(@version, 0);
END;
SELECT @now AS Now, @version AS Version;
-- include: schema_tables
IF @version >= @expected AND (SELECT COUNT(*) FROM sys.tables AS t INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
    WHERE LOWER(s.name) = LOWER(@schema_name) AND LOWER(t.name) IN (
        'jobshot', 'queues', 'lanes', 'workers', 'timers', 'circuits'
    )) = 6
BEGIN
    -- include: workers
    -- include: demand_workers
    -- include: vitals_lags
    -- include: vitals_due
    -- include: timers
    -- include: vitals_oldest_heartbeat
    SET @depth = 0;
END;

-- name: demand_workers
-- Workers that have promised to look again: they have room, and are there.
SELECT COUNT(*) AS Looking FROM [chokaq].Workers AS w WHERE w.LookingUntilUtc > @now AND w.State = 'running';

-- name: table_of_heads
-- only: sqlserver, because SQLite walks the lanes within its query.
DECLARE @depth int = 0;
DECLARE @head TABLE (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Depth int NOT NULL,
    Priority int NOT NULL,
    DueAtUtc datetime2(6) NOT NULL,
    PRIMARY KEY (Depth, Queue, Type)
);

-- name: vitals_lags
-- The oldest ready job of each queue that is open: one seek for each lane and priority in use, none for each row. Types held
-- back by their circuits are left out.
INSERT INTO @head (Queue, Type, Depth, Priority, DueAtUtc)
SELECT l.Queue, l.Type, 0, x.Priority, x.DueAtUtc
FROM [chokaq].Lanes AS l CROSS APPLY (
    SELECT TOP (1) r.Priority, r.DueAtUtc FROM [chokaq].JobsHot AS r
    WHERE r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type
    ORDER BY r.Priority DESC, r.DueAtUtc, r.Id
) AS x;
WHILE @@ROWCOUNT > 0
BEGIN
    SET @depth = @depth + 1;
    INSERT INTO @head (Queue, Type, Depth, Priority, DueAtUtc)
    SELECT p.Queue, p.Type, @depth, x.Priority, x.DueAtUtc
    FROM @head AS p CROSS APPLY (
        SELECT TOP (1) r.Priority, r.DueAtUtc FROM [chokaq].JobsHot AS r
        WHERE r.IsReady = 1 AND r.Queue = p.Queue AND r.Type = p.Type AND r.Priority < p.Priority
        ORDER BY r.Priority DESC, r.DueAtUtc, r.Id
    ) AS x
    WHERE p.Depth = @depth - 1;
END;
SELECT q.Name, MIN(e.DueAtUtc) AS Oldest
FROM @head AS e
INNER JOIN [chokaq].Queues AS q ON q.Name = e.Queue AND q.IsPaused = 0 AND q.IsActive = 1
LEFT JOIN [chokaq].Circuits AS c ON c.Type = e.Type AND c.State <> 0 AND @has_circuits = 1
WHERE c.Type IS NULL
GROUP BY q.Name;

-- name: vitals_due
-- The same for jobs that came due since the last claim; the oldest thousand that may run tell the worst.
SELECT d.Queue, MIN(d.DueAtUtc) AS Oldest
FROM (
    SELECT TOP (1000) h.Queue, h.DueAtUtc
    FROM [chokaq].JobsHot AS h
    INNER JOIN [chokaq].Queues AS q ON q.Name = h.Queue AND q.IsPaused = 0 AND q.IsActive = 1
    LEFT JOIN [chokaq].Circuits AS c ON c.Type = h.Type AND c.State <> 0 AND @has_circuits = 1
    WHERE h.IsReady = 0 AND h.Status = 0 AND h.DueAtUtc <= @now AND c.Type IS NULL
    ORDER BY h.DueAtUtc
) AS d
GROUP BY d.Queue;

-- name: vitals_oldest_heartbeat
SELECT MIN(h.HeartbeatUtc) AS Oldest FROM [chokaq].JobsHot AS h WHERE h.WorkerId IS NOT NULL AND h.Status = 2;

-- name: census
-- only: sqlserver, because one batch is one round trip.
-- takes: nothing
-- include: vitals_depths
-- include: vitals_dead

-- name: vitals_depths
-- Waiting and dead jobs of each queue, counted in full.
SELECT h.Queue, COUNT(*) AS Jobs FROM [chokaq].JobsHot AS h WHERE h.Status = 0 GROUP BY h.Queue;

-- name: vitals_dead
SELECT d.Queue, COUNT(*) AS Jobs FROM [chokaq].JobsDLQ AS d GROUP BY d.Queue;
