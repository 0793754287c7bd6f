-- Dead jobs as lists show them, by the time they failed.
-- One look walks at most :look entries of one index. `horizon` finds its last entry first, so that the list behind it
-- can stop as soon as a page is full and still never goes further.

-- name: list_dlq_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT FailedAtUtc, Id FROM JobsDLQ
WHERE
    FailedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FailedAtUtc <> :high OR Id < :after_id)
ORDER BY FailedAtUtc DESC, Id DESC LIMIT 1 OFFSET :look - 1;

-- name: list_dlq_newest
SELECT
    Id, Queue, Type, NULL, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FailedAtUtc, NULL, NULL, NULL, NULL, FailureReason, ErrorType,
    substr(ErrorDetails, -400)
FROM JobsDLQ
WHERE
    FailedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FailedAtUtc <> :high OR Id < :after_id)
    AND (:last_id IS NULL OR FailedAtUtc <> :low OR Id >= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:reason IS NULL OR FailureReason = :reason)
    AND (:error_text IS NULL OR instr(ErrorType, :error_text) > 0 OR instr(ErrorDetails, :error_text) > 0)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY FailedAtUtc DESC, Id DESC LIMIT :most;

-- name: list_dlq_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT FailedAtUtc, Id FROM JobsDLQ
WHERE
    FailedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FailedAtUtc <> :low OR Id > :after_id)
ORDER BY FailedAtUtc, Id LIMIT 1 OFFSET :look - 1;

-- name: list_dlq_oldest
SELECT
    Id, Queue, Type, NULL, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FailedAtUtc, NULL, NULL, NULL, NULL, FailureReason, ErrorType,
    substr(ErrorDetails, -400)
FROM JobsDLQ
WHERE
    FailedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FailedAtUtc <> :low OR Id > :after_id)
    AND (:last_id IS NULL OR FailedAtUtc <> :high OR Id <= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:reason IS NULL OR FailureReason = :reason)
    AND (:error_text IS NULL OR instr(ErrorType, :error_text) > 0 OR instr(ErrorDetails, :error_text) > 0)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY FailedAtUtc, Id LIMIT :most;

-- name: count_dlq
-- Up to the first entry that is not looked at, that one left out.
SELECT count(*) FROM JobsDLQ
WHERE
    FailedAtUtc BETWEEN :low AND :high
    AND (:last_id IS NULL OR FailedAtUtc <> :low OR Id > :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:reason IS NULL OR FailureReason = :reason)
    AND (:error_text IS NULL OR instr(ErrorType, :error_text) > 0 OR instr(ErrorDetails, :error_text) > 0)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    );

-- name: look_up_dlq
SELECT
    Id, Queue, Type, NULL, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FailedAtUtc, NULL, NULL, NULL, NULL, FailureReason, ErrorType,
    substr(ErrorDetails, -400)
FROM JobsDLQ WHERE Id IN (SELECT value FROM json_each(:ids));
