-- Succeeded jobs as lists show them, by the time they finished.
-- One look walks at most @look entries of one index. `horizon` finds its last entry first, so that the list behind it can
-- stop as soon as a page is full and still never goes further. CHARINDEX compares characters: none has a power of its own.

-- name: list_archive_newest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_archive_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    a.Id, a.Queue, a.Type, 3 AS Status, a.Priority, a.AttemptCount, a.LeaseNumber, a.Interruptions, a.Tags,
    a.IdempotencyKey, a.WorkerId, a.CreatedBy, a.CreatedAtUtc, a.DueAtUtc, a.StartedAtUtc, a.LastUpdatedUtc,
    a.FinishedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, a.DurationMs,
    NULL AS FailureReason, NULL AS ErrorType, NULL AS ErrorTail
FROM [chokaq].JobsArchive AS a WITH (INDEX (IX_JobsArchive_Finished), FORCESEEK)
WHERE
    a.FinishedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR a.FinishedAtUtc <> @high OR a.Id < @after_id)
    AND (@last_id IS NULL OR a.FinishedAtUtc <> @low OR a.Id >= @last_id)
    AND (@has_queue = 0 OR a.Queue = @queue)
    AND (@has_type = 0 OR a.Type = @type_key)
    AND (
        @has_search = 0 OR CHARINDEX(@search, a.Id) > 0 OR CHARINDEX(@search, a.Type) > 0
        OR CHARINDEX(@search, a.Tags) > 0 OR CHARINDEX(@search, a.IdempotencyKey) > 0
    )
ORDER BY a.FinishedAtUtc DESC, a.Id DESC;

-- name: list_archive_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = a.FinishedAtUtc, @last_id = a.Id
FROM [chokaq].JobsArchive AS a WITH (INDEX (IX_JobsArchive_Finished), FORCESEEK)
WHERE
    a.FinishedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR a.FinishedAtUtc <> @high OR a.Id < @after_id)
ORDER BY a.FinishedAtUtc DESC, a.Id DESC
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: list_archive_oldest
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, most int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_archive_oldest_horizon
SET @high = COALESCE(@last_at, @high);
SELECT @now AS Now, @last_at AS LastAt, @last_id AS LastId;
SELECT TOP (@most)
    a.Id, a.Queue, a.Type, 3 AS Status, a.Priority, a.AttemptCount, a.LeaseNumber, a.Interruptions, a.Tags,
    a.IdempotencyKey, a.WorkerId, a.CreatedBy, a.CreatedAtUtc, a.DueAtUtc, a.StartedAtUtc, a.LastUpdatedUtc,
    a.FinishedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, a.DurationMs,
    NULL AS FailureReason, NULL AS ErrorType, NULL AS ErrorTail
FROM [chokaq].JobsArchive AS a WITH (INDEX (IX_JobsArchive_Finished), FORCESEEK)
WHERE
    a.FinishedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR a.FinishedAtUtc <> @low OR a.Id > @after_id)
    AND (@last_id IS NULL OR a.FinishedAtUtc <> @high OR a.Id <= @last_id)
    AND (@has_queue = 0 OR a.Queue = @queue)
    AND (@has_type = 0 OR a.Type = @type_key)
    AND (
        @has_search = 0 OR CHARINDEX(@search, a.Id) > 0 OR CHARINDEX(@search, a.Type) > 0
        OR CHARINDEX(@search, a.Tags) > 0 OR CHARINDEX(@search, a.IdempotencyKey) > 0
    )
ORDER BY a.FinishedAtUtc, a.Id;

-- name: list_archive_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT @last_at = a.FinishedAtUtc, @last_id = a.Id
FROM [chokaq].JobsArchive AS a WITH (INDEX (IX_JobsArchive_Finished), FORCESEEK)
WHERE
    a.FinishedAtUtc BETWEEN @low AND @high
    AND (@after_id = '' OR a.FinishedAtUtc <> @low OR a.Id > @after_id)
ORDER BY a.FinishedAtUtc, a.Id
OFFSET (@look - 1) ROWS FETCH NEXT 1 ROWS ONLY;

-- name: count_archive
-- Up to the first entry that is not looked at, that one left out.
-- takes: low datetime2(6), high datetime2(6), after_id varchar(50), look int, has_queue bit,
--   queue varchar(255), has_type bit, type_key varchar(255), has_search bit, search nvarchar(1000)
DECLARE @last_at datetime2(6), @last_id varchar(50);
-- include: list_archive_newest_horizon
SET @low = COALESCE(@last_at, @low);
SELECT @last_at AS LastAt, COUNT(*) AS Jobs
FROM [chokaq].JobsArchive AS a WITH (INDEX (IX_JobsArchive_Finished), FORCESEEK)
WHERE
    a.FinishedAtUtc BETWEEN @low AND @high
    AND (@last_id IS NULL OR a.FinishedAtUtc <> @low OR a.Id > @last_id)
    AND (@has_queue = 0 OR a.Queue = @queue)
    AND (@has_type = 0 OR a.Type = @type_key)
    AND (
        @has_search = 0 OR CHARINDEX(@search, a.Id) > 0 OR CHARINDEX(@search, a.Type) > 0
        OR CHARINDEX(@search, a.Tags) > 0 OR CHARINDEX(@search, a.IdempotencyKey) > 0
    );

-- name: look_up_archive
SELECT
    a.Id, a.Queue, a.Type, 3 AS Status, a.Priority, a.AttemptCount, a.LeaseNumber, a.Interruptions, a.Tags,
    a.IdempotencyKey, a.WorkerId, a.CreatedBy, a.CreatedAtUtc, a.DueAtUtc, a.StartedAtUtc, a.LastUpdatedUtc,
    a.FinishedAtUtc AS EndedAtUtc, NULL AS CancelRequestedUtc, NULL AS Progress, NULL AS ProgressNote, a.DurationMs,
    NULL AS FailureReason, NULL AS ErrorType, NULL AS ErrorTail
FROM @wanted AS w INNER JOIN [chokaq].JobsArchive AS a ON a.Id = w.Id
OPTION (LOOP JOIN, FORCE ORDER);
