-- Heartbeat of all running jobs of a worker. Tables in order: JobsHot, Workers, Circuits.

-- name: beat_all
-- only: sqlserver, because one batch is one round trip. The answer is one row that names every job held, and the few that are
-- marked: rows by the thousand would starve the heartbeat's thread beside handlers that spin.
-- takes: worker varchar(100), active int, abandoned int, capacity int, progress nvarchar(max), texts nvarchar(max),
--   probe_until ahead
BEGIN TRANSACTION;
-- include: beat
-- include: beat_progress
-- include: beat_worker
-- include: circuits_beat
COMMIT TRANSACTION;
-- include: beat_held

-- name: beat
-- Move beat: every Processing row in the worker's name. HeartbeatUtc stands in no index.
UPDATE h SET HeartbeatUtc = @now
FROM [chokaq].JobsHot AS h WITH (ROWLOCK)
WHERE h.WorkerId = @worker AND h.WorkerId IS NOT NULL AND h.Status = 2;

-- name: beat_progress
IF @progress <> N'[]'
    UPDATE h SET
        Progress = p.Percentage, ProgressNote = SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, p.NoteAt, p.NoteLength)
    FROM OPENJSON(@progress) WITH (
        Id varchar(50) '$.id',
        LeaseNumber int '$.lease',
        Percentage int '$.percent',
        NoteAt int '$.note[0]',
        NoteLength int '$.note[1]'
    ) AS p INNER JOIN [chokaq].JobsHot AS h WITH (ROWLOCK) ON h.Id = p.Id COLLATE Latin1_General_100_BIN2
    WHERE h.WorkerId = @worker AND h.LeaseNumber = p.LeaseNumber AND h.Status = 2
    OPTION (LOOP JOIN, FORCE ORDER);

-- name: beat_worker
UPDATE [chokaq].Workers SET HeartbeatUtc = @now, Active = @active, Abandoned = @abandoned, Capacity = @capacity
WHERE WorkerId = @worker;

-- name: beat_held
SELECT
    STRING_AGG(
        CAST(h.Id AS varchar(max)) + ':' + CAST(h.LeaseNumber AS varchar(11)) + ':' + CAST(h.Status AS varchar(3)), ' '
    ) AS Held
FROM [chokaq].JobsHot AS h WHERE h.WorkerId = @worker AND h.WorkerId IS NOT NULL;
SELECT h.Id, h.CancelRequestedBy
FROM [chokaq].JobsHot AS h
WHERE h.WorkerId = @worker AND h.WorkerId IS NOT NULL AND h.CancelRequestedUtc IS NOT NULL;
