-- Active jobs as lists show them, by the time they were created.
-- One look walks at most @look entries of one index. `horizon` finds its last entry first, so that the list behind it can
-- stop as soon as a page is full and still never goes further. CHARINDEX compares characters: none has a power of its own.

-- name: list_hot_newest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), status int null
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_hot_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    h.Id, h.Queue, h.Type, h.Status AS Status, h.Priority, h.AttemptCount, h.LeaseNumber, h.Interruptions, h.Tags,
    h.IdempotencyKey, h.WorkerId, h.CreatedBy, h.CreatedAtUtc, h.DueAtUtc, h.StartedAtUtc, h.LastUpdatedUtc,
    NULL AS EndedAtUtc, h.CancelRequestedUtc, h.Progress, h.ProgressNote, NULL AS DurationMs, NULL AS FailureReason,
    NULL AS ErrorType, NULL AS ErrorTail
FROM [chokaq].JobsHot AS h WITH (INDEX (IX_JobsHot_Created), FORCESEEK)
WHERE
    h.CreatedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR h.CreatedAtUtc <> @high OR h.Id < @after_id)
    AND (@last_id IS NULL OR h.CreatedAtUtc <> @low OR h.Id >= @last_id)
    AND (@has_queue = 0 OR h.Queue = @queue)
    AND (@has_type = 0 OR h.Type = @type_key)
    AND (@status IS NULL OR h.Status = @status)
    AND (
        @has_search = 0 OR CHARINDEX(@search, h.Id) > 0 OR CHARINDEX(@search, h.Type) > 0
        OR CHARINDEX(@search, h.Tags) > 0 OR CHARINDEX(@search, h.IdempotencyKey) > 0
    )
ORDER BY h.CreatedAtUtc DESC, h.Id DESC;

-- name: list_hot_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = h.CreatedAtUtc, @last_id = h.Id
FROM [chokaq].JobsHot AS h WITH (INDEX (IX_JobsHot_Created), FORCESEEK)
WHERE
    h.CreatedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR h.CreatedAtUtc <> @high OR h.Id < @after_id)
ORDER BY h.CreatedAtUtc DESC, h.Id DESC
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: list_hot_oldest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), status int null
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_hot_oldest_horizon
SET @high = COALESCE(@last_at, @high);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    h.Id, h.Queue, h.Type, h.Status AS Status, h.Priority, h.AttemptCount, h.LeaseNumber, h.Interruptions, h.Tags,
    h.IdempotencyKey, h.WorkerId, h.CreatedBy, h.CreatedAtUtc, h.DueAtUtc, h.StartedAtUtc, h.LastUpdatedUtc,
    NULL AS EndedAtUtc, h.CancelRequestedUtc, h.Progress, h.ProgressNote, NULL AS DurationMs, NULL AS FailureReason,
    NULL AS ErrorType, NULL AS ErrorTail
FROM [chokaq].JobsHot AS h WITH (INDEX (IX_JobsHot_Created), FORCESEEK)
WHERE
    h.CreatedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR h.CreatedAtUtc <> @low OR h.Id > @after_id)
    AND (@last_id IS NULL OR h.CreatedAtUtc <> @high OR h.Id <= @last_id)
    AND (@has_queue = 0 OR h.Queue = @queue)
    AND (@has_type = 0 OR h.Type = @type_key)
    AND (@status IS NULL OR h.Status = @status)
    AND (
        @has_search = 0 OR CHARINDEX(@search, h.Id) > 0 OR CHARINDEX(@search, h.Type) > 0
        OR CHARINDEX(@search, h.Tags) > 0 OR CHARINDEX(@search, h.IdempotencyKey) > 0
    )
ORDER BY h.CreatedAtUtc, h.Id;

-- name: list_hot_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = h.CreatedAtUtc, @last_id = h.Id
FROM [chokaq].JobsHot AS h WITH (INDEX (IX_JobsHot_Created), FORCESEEK)
WHERE
    h.CreatedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR h.CreatedAtUtc <> @low OR h.Id > @after_id)
ORDER BY h.CreatedAtUtc, h.Id
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: count_hot
-- Up to the first entry that is not looked at, that one left out.
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), status int null
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_hot_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @last_at AS LastAt, COUNT(*) AS Jobs
FROM [chokaq].JobsHot AS h WITH (INDEX (IX_JobsHot_Created), FORCESEEK)
WHERE
    h.CreatedAtUtc BETWEEN @low AND @high
    AND (@last_id IS NULL OR h.CreatedAtUtc <> @low OR h.Id > @last_id)
    AND (@has_queue = 0 OR h.Queue = @queue)
    AND (@has_type = 0 OR h.Type = @type_key)
    AND (@status IS NULL OR h.Status = @status)
    AND (
        @has_search = 0 OR CHARINDEX(@search, h.Id) > 0 OR CHARINDEX(@search, h.Type) > 0
        OR CHARINDEX(@search, h.Tags) > 0 OR CHARINDEX(@search, h.IdempotencyKey) > 0
    );

-- name: look_up_hot
SELECT
    h.Id, h.Queue, h.Type, h.Status AS Status, h.Priority, h.AttemptCount, h.LeaseNumber, h.Interruptions, h.Tags,
    h.IdempotencyKey, h.WorkerId, h.CreatedBy, h.CreatedAtUtc, h.DueAtUtc, h.StartedAtUtc, h.LastUpdatedUtc,
    NULL AS EndedAtUtc, h.CancelRequestedUtc, h.Progress, h.ProgressNote, NULL AS DurationMs, NULL AS FailureReason,
    NULL AS ErrorType, NULL AS ErrorTail
FROM @wanted AS w INNER JOIN [chokaq].JobsHot AS h ON h.Id = w.Id
OPTION (LOOP JOIN, FORCE ORDER);
