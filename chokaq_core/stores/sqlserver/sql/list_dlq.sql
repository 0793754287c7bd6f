-- Dead jobs as lists show them, by the time they failed.
-- One look walks at most @look entries of one index. `horizon` finds its last entry first, so that the list behind it can
-- stop as soon as a page is full and still never goes further. CHARINDEX compares characters: none has a power of its own.

-- name: list_dlq_newest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), reason int null,
--   has_error_text bit, error_text nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_dlq_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    d.Id, d.Queue, d.Type, NULL AS Status, d.Priority, d.AttemptCount, d.LeaseNumber, d.Interruptions, d.Tags,
    d.IdempotencyKey, d.WorkerId, d.CreatedBy, d.CreatedAtUtc, d.DueAtUtc, d.StartedAtUtc, d.LastUpdatedUtc,
    d.FailedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, NULL AS DurationMs,
    d.FailureReason, d.ErrorType, RIGHT(d.ErrorDetails, 400) AS ErrorTail
FROM [chokaq].JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Failed), FORCESEEK)
WHERE
    d.FailedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR d.FailedAtUtc <> @high OR d.Id < @after_id)
    AND (@last_id IS NULL OR d.FailedAtUtc <> @low OR d.Id >= @last_id)
    AND (@has_queue = 0 OR d.Queue = @queue)
    AND (@has_type = 0 OR d.Type = @type_key)
    AND (@reason IS NULL OR d.FailureReason = @reason)
    AND (
        @has_error_text = 0 OR CHARINDEX(@error_text, d.ErrorType) > 0 OR CHARINDEX(@error_text, d.ErrorDetails) > 0
    )
    AND (
        @has_search = 0 OR CHARINDEX(@search, d.Id) > 0 OR CHARINDEX(@search, d.Type) > 0
        OR CHARINDEX(@search, d.Tags) > 0 OR CHARINDEX(@search, d.IdempotencyKey) > 0
    )
ORDER BY d.FailedAtUtc DESC, d.Id DESC;

-- name: list_dlq_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = d.FailedAtUtc, @last_id = d.Id
FROM [chokaq].JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Failed), FORCESEEK)
WHERE
    d.FailedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR d.FailedAtUtc <> @high OR d.Id < @after_id)
ORDER BY d.FailedAtUtc DESC, d.Id DESC
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: list_dlq_oldest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), reason int null,
--   has_error_text bit, error_text nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_dlq_oldest_horizon
SET @high = COALESCE(@last_at, @high);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    d.Id, d.Queue, d.Type, NULL AS Status, d.Priority, d.AttemptCount, d.LeaseNumber, d.Interruptions, d.Tags,
    d.IdempotencyKey, d.WorkerId, d.CreatedBy, d.CreatedAtUtc, d.DueAtUtc, d.StartedAtUtc, d.LastUpdatedUtc,
    d.FailedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, NULL AS DurationMs,
    d.FailureReason, d.ErrorType, RIGHT(d.ErrorDetails, 400) AS ErrorTail
FROM [chokaq].JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Failed), FORCESEEK)
WHERE
    d.FailedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR d.FailedAtUtc <> @low OR d.Id > @after_id)
    AND (@last_id IS NULL OR d.FailedAtUtc <> @high OR d.Id <= @last_id)
    AND (@has_queue = 0 OR d.Queue = @queue)
    AND (@has_type = 0 OR d.Type = @type_key)
    AND (@reason IS NULL OR d.FailureReason = @reason)
    AND (
        @has_error_text = 0 OR CHARINDEX(@error_text, d.ErrorType) > 0 OR CHARINDEX(@error_text, d.ErrorDetails) > 0
    )
    AND (
        @has_search = 0 OR CHARINDEX(@search, d.Id) > 0 OR CHARINDEX(@search, d.Type) > 0
        OR CHARINDEX(@search, d.Tags) > 0 OR CHARINDEX(@search, d.IdempotencyKey) > 0
    )
ORDER BY d.FailedAtUtc, d.Id;

-- name: list_dlq_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = d.FailedAtUtc, @last_id = d.Id
FROM [chokaq].JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Failed), FORCESEEK)
WHERE
    d.FailedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR d.FailedAtUtc <> @low OR d.Id > @after_id)
ORDER BY d.FailedAtUtc, d.Id
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: count_dlq
-- Up to the first entry that is not looked at, that one left out.
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000), reason int null,
--   has_error_text bit, error_text nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_dlq_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @last_at AS LastAt, COUNT(*) AS Jobs
FROM [chokaq].JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_Failed), FORCESEEK)
WHERE
    d.FailedAtUtc BETWEEN @low AND @high
    AND (@last_id IS NULL OR d.FailedAtUtc <> @low OR d.Id > @last_id)
    AND (@has_queue = 0 OR d.Queue = @queue)
    AND (@has_type = 0 OR d.Type = @type_key)
    AND (@reason IS NULL OR d.FailureReason = @reason)
    AND (
        @has_error_text = 0 OR CHARINDEX(@error_text, d.ErrorType) > 0 OR CHARINDEX(@error_text, d.ErrorDetails) > 0
    )
    AND (
        @has_search = 0 OR CHARINDEX(@search, d.Id) > 0 OR CHARINDEX(@search, d.Type) > 0
        OR CHARINDEX(@search, d.Tags) > 0 OR CHARINDEX(@search, d.IdempotencyKey) > 0
    );

-- name: look_up_dlq
SELECT
    d.Id, d.Queue, d.Type, NULL AS Status, d.Priority, d.AttemptCount, d.LeaseNumber, d.Interruptions, d.Tags,
    d.IdempotencyKey, d.WorkerId, d.CreatedBy, d.CreatedAtUtc, d.DueAtUtc, d.StartedAtUtc, d.LastUpdatedUtc,
    d.FailedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, NULL AS DurationMs,
    d.FailureReason, d.ErrorType, RIGHT(d.ErrorDetails, 400) AS ErrorTail
FROM @wanted AS w INNER JOIN [chokaq].JobsDLQ AS d ON d.Id = w.Id
OPTION (LOOP JOIN, FORCE ORDER);
