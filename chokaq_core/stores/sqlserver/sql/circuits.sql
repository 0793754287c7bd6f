-- Circuits: read in every claim, written when a run has something to tell. The rules are those of the policy of circuits.

-- name: tables_of_circuits
-- only: sqlserver, because what happened is gathered in a table variable, to be told in the turn's answer.
DECLARE @event TABLE (
    Ord int IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    State int NOT NULL,
    Name varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL
);
DECLARE @report TABLE (
    Ord int NOT NULL PRIMARY KEY,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobId varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Generation int NOT NULL,
    Signal varchar(10) COLLATE Latin1_General_100_BIN2 NOT NULL
);
DECLARE @ord int, @type varchar(255), @job_id varchar(50), @generation int, @signal varchar(10), @state int;
DECLARE @probe_job_id varchar(50), @times varchar(max), @kept varchar(max), @one datetime2(6), @event_name varchar(20);
DECLARE @moment varchar(26) = LEFT(REPLACE(CONVERT(varchar(30), @now, 126), ' ', 'T'), 19) + '.'
    + RIGHT('00000' + CAST(DATEPART(MICROSECOND, @now) AS varchar(6)), 6);

-- name: circuits_hear
-- only: sqlserver, because SQLite's store asks the policy in Python. Reports in their order, those of stale settlements left
-- out: a failure of a closed circuit is noted, and opens it when the window holds enough (one from the future was noted
-- before the clock was set back, and counts as one of now); a success clears them; a probe's
-- answer closes or opens its circuit, and a probe without an answer gives its permit back. What another generation says
-- is ignored. The first statements lock the circuits by writing them.
IF @has_circuits = 1 AND @reports <> N'[]'
BEGIN
    INSERT INTO @report (Ord, Type, JobId, Generation, Signal)
    SELECT
        r.Ord, SUBSTRING(@texts COLLATE Latin1_General_100_BIN2, r.TypeAt, r.TypeLength), r.JobId, r.Generation, r.Signal
    FROM OPENJSON(@reports) WITH (
        Ord int '$.ord',
        TypeAt int '$.type[0]',
        TypeLength int '$.type[1]',
        JobId varchar(50) '$.job',
        Generation int '$.generation',
        Signal varchar(10) '$.signal'
    ) AS r
    WHERE NOT EXISTS (SELECT 1 FROM @given AS g WHERE g.Id = r.JobId)
        OR EXISTS (SELECT 1 FROM @move AS m WHERE m.Id = r.JobId);
    UPDATE c SET Generation = c.Generation
    FROM [chokaq].Circuits AS c WITH (ROWLOCK) WHERE c.Type IN (SELECT r.Type FROM @report AS r);
    INSERT INTO [chokaq].Circuits (Type)
    SELECT DISTINCT r.Type FROM @report AS r
    WHERE
        r.Signal = 'failure' AND r.Generation = 0
        AND NOT EXISTS (SELECT 1 FROM [chokaq].Circuits AS c WHERE c.Type = r.Type);
    SELECT @ord = MIN(r.Ord) FROM @report AS r;
    WHILE @ord IS NOT NULL
    BEGIN
        SELECT @type = r.Type, @job_id = r.JobId, @generation = r.Generation, @signal = r.Signal
        FROM @report AS r WHERE r.Ord = @ord;
        SET @state = NULL;
        SELECT @state = c.State, @probe_job_id = c.ProbeJobId, @times = COALESCE(c.FailureTimes, '')
        FROM [chokaq].Circuits AS c WHERE c.Type = @type AND c.Generation = @generation;
        SET @event_name = NULL;
        IF @state = 0 AND @signal = 'failure'
        BEGIN
            SET @kept = '';
            WHILE LEN(@times) > 0
            BEGIN
                SET @one = CAST(LEFT(@times, 26) AS datetime2(6));
                IF @one >= @oldest_failure
                    SET @kept = @kept + CASE WHEN @one > @now THEN @moment ELSE LEFT(@times, 26) END + ' ';
                SET @times = SUBSTRING(@times, 28, LEN(@times));
            END;
            SET @kept = @kept + @moment + ' ';
            IF DATALENGTH(@kept) < 27 * @failure_threshold
                UPDATE [chokaq].Circuits SET FailureTimes = @kept WHERE Type = @type;
            ELSE
                SET @event_name = 'opened';
        END;
        IF @state = 0 AND @signal = 'success'
            UPDATE [chokaq].Circuits SET FailureTimes = NULL WHERE Type = @type AND FailureTimes IS NOT NULL;
        IF @state = 2 AND @probe_job_id = @job_id
            SET @event_name = CASE @signal WHEN 'success' THEN 'closed' WHEN 'failure' THEN 'opened' ELSE 'permit_released' END;
        IF @event_name IS NOT NULL
        BEGIN
            -- include: circuits_write
            INSERT INTO @event (Type, State, Name)
            VALUES (@type, CASE WHEN @event_name = 'closed' THEN 0 ELSE 1 END, @event_name);
        END;
        SELECT @ord = MIN(r.Ord) FROM @report AS r WHERE r.Ord > @ord;
    END;
END;

-- name: circuits_write
-- Opened: held back until the break is over. Closed: nothing is remembered. Permit released: the next claim may probe.
UPDATE [chokaq].Circuits SET
    State = CASE WHEN @event_name = 'closed' THEN 0 ELSE 1 END,
    FailureTimes = NULL,
    OpenedAtUtc = CASE @event_name WHEN 'opened' THEN @now WHEN 'permit_released' THEN OpenedAtUtc END,
    ResetAtUtc = CASE @event_name WHEN 'opened' THEN @reset_at WHEN 'permit_released' THEN @now END,
    Generation = Generation + 1,
    ProbeJobId = NULL, ProbeWorkerId = NULL, ProbeUntilUtc = NULL
WHERE Type = @type;

-- name: circuits_released
-- only: sqlserver, because SQLite's store asks the policy in Python: a probe that left its worker in this turn without an
-- answer for its circuit gives its permit back.
IF @has_circuits = 1 AND EXISTS (SELECT 1 FROM @move AS m WHERE m.Move <> 'start')
BEGIN
    INSERT INTO @event (Type, State, Name)
    SELECT c.Type, 1, 'permit_released' FROM [chokaq].Circuits AS c
    WHERE c.State = 2 AND c.ProbeJobId IN (SELECT m.Id FROM @move AS m WHERE m.Move <> 'start')
    ORDER BY c.Type;
    -- include: circuits_release
END;

-- name: circuits_release
-- only: sqlserver, because SQLite's store asks the policy in Python. A probe's permit is given back when its job was taken
-- from its worker: the next claim probes.
IF @has_circuits = 1
    UPDATE c SET
        State = 1, FailureTimes = NULL, ResetAtUtc = @now, Generation = c.Generation + 1, ProbeJobId = NULL,
        ProbeWorkerId = NULL, ProbeUntilUtc = NULL
    FROM [chokaq].Circuits AS c WITH (ROWLOCK)
    WHERE c.State = 2 AND c.ProbeJobId IN (SELECT m.Id FROM @move AS m WHERE m.Move <> 'start');

-- name: circuits_beat
-- A probe lives as long as its job beats; else a type of long jobs could never close.
UPDATE c SET ProbeUntilUtc = @probe_until
FROM [chokaq].Circuits AS c
WHERE
    c.State = 2 AND c.ProbeWorkerId = @worker
    AND EXISTS (SELECT 1 FROM [chokaq].JobsHot AS h WHERE h.Id = c.ProbeJobId AND h.WorkerId = @worker);

-- name: circuits
-- takes: nothing
SELECT
    c.Type, c.State, c.FailureTimes, c.OpenedAtUtc, c.ResetAtUtc, c.Generation, c.ProbeJobId, c.ProbeWorkerId,
    c.ProbeUntilUtc
FROM [chokaq].Circuits AS c
ORDER BY c.Type;

-- name: circuits_notable
-- only: sqlserver, because SQLite's store picks them in Python: circuits that are not closed and healthy.
SELECT
    c.Type, c.State, c.FailureTimes, c.OpenedAtUtc, c.ResetAtUtc, c.Generation, c.ProbeJobId, c.ProbeWorkerId,
    c.ProbeUntilUtc
FROM [chokaq].Circuits AS c
WHERE @has_circuits = 1 AND (c.State <> 0 OR c.FailureTimes IS NOT NULL)
ORDER BY c.Type;
