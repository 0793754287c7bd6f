-- What people did, and what fails most.

-- name: log_entries
-- takes: below bigint null, most int
SELECT TOP (@most) l.Number, l.AtUtc, l.Actor, l.Command, l.Target, l.Affected, l.Outcome
FROM [chokaq].OperatorLog AS l
WHERE @below IS NULL OR l.Number < @below
ORDER BY l.Number DESC;

-- name: look_up
-- only: sqlserver, because one batch is one round trip.
-- takes: ids nvarchar(max)
DECLARE @wanted TABLE (Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);
INSERT INTO @wanted (Id) SELECT i.Id FROM OPENJSON(@ids) WITH (Id varchar(50) '$.id') AS i;
-- include: look_up_hot
-- include: look_up_archive
-- include: look_up_dlq

-- name: top_errors
-- The newest dead jobs by type, error and reason, the most frequent first, each with its newest job; and how many there are
-- to look at, counted one further than the look goes.
-- takes: look int, most int
SELECT COUNT(*) AS Jobs FROM (SELECT TOP (@look + 1) d.Id FROM [chokaq].JobsDLQ AS d) AS f;
WITH newest AS (
    SELECT TOP (@look) d.Id, d.Type, d.ErrorType, d.FailureReason, d.FailedAtUtc FROM [chokaq].JobsDLQ AS d
    ORDER BY d.FailedAtUtc DESC, d.Id DESC
),

ranked AS (
    SELECT
        n.Id, n.Type, n.ErrorType, n.FailureReason, n.FailedAtUtc,
        COUNT(*) OVER (PARTITION BY n.Type, n.ErrorType, n.FailureReason) AS Jobs,
        MIN(n.FailedAtUtc) OVER (PARTITION BY n.Type, n.ErrorType, n.FailureReason) AS FirstUtc,
        ROW_NUMBER() OVER (
            PARTITION BY n.Type, n.ErrorType, n.FailureReason ORDER BY n.FailedAtUtc DESC, n.Id DESC
        ) AS Nth
    FROM newest AS n
)

SELECT TOP (@most)
    r.Type, r.ErrorType, r.FailureReason, r.Jobs, r.FirstUtc, r.FailedAtUtc, r.Id, RIGHT(j.ErrorDetails, 400) AS ErrorTail
FROM ranked AS r INNER JOIN [chokaq].JobsDLQ AS j ON j.Id = r.Id
WHERE r.Nth = 1
ORDER BY r.Jobs DESC, r.FailedAtUtc DESC, r.Id;
