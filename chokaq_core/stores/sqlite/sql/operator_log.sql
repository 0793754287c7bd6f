-- What people did, and what fails most.

-- name: log_note
INSERT INTO OperatorLog (AtUtc, Actor, Command, Target, Affected, Outcome)
VALUES (:now, :actor, :command, :target, :affected, :outcome);

-- name: log_entries
SELECT Number, AtUtc, Actor, Command, Target, Affected, Outcome FROM OperatorLog
WHERE :below IS NULL OR Number < :below
ORDER BY Number DESC LIMIT :most;

-- name: top_errors
-- The newest dead jobs by type, error and reason, the most frequent first, each with its newest job.
WITH newest AS (
    SELECT Id, Type, ErrorType, FailureReason, FailedAtUtc FROM JobsDLQ
    ORDER BY FailedAtUtc DESC, Id DESC LIMIT :look
),

ranked AS (
    SELECT
        Id, Type, ErrorType, FailureReason, FailedAtUtc,
        count(*) OVER (PARTITION BY Type, ErrorType, FailureReason) AS Jobs,
        min(FailedAtUtc) OVER (PARTITION BY Type, ErrorType, FailureReason) AS FirstUtc,
        row_number() OVER (PARTITION BY Type, ErrorType, FailureReason ORDER BY FailedAtUtc DESC, Id DESC) AS Nth
    FROM newest
)

SELECT r.Type, r.ErrorType, r.FailureReason, r.Jobs, r.FirstUtc, r.FailedAtUtc, r.Id, substr(j.ErrorDetails, -400)
FROM ranked AS r INNER JOIN JobsDLQ AS j ON r.Id = j.Id
WHERE r.Nth = 1
ORDER BY r.Jobs DESC, r.FailedAtUtc DESC, r.Id LIMIT :most;
