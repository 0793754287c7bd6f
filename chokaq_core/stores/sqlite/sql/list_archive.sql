-- Succeeded jobs as lists show them, by the time they finished.
-- One look walks at most :look entries of one index. `horizon` finds its last entry first, so that the list behind it
-- can stop as soon as a page is full and still never goes further.

-- name: list_archive_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT FinishedAtUtc, Id FROM JobsArchive
WHERE
    FinishedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FinishedAtUtc <> :high OR Id < :after_id)
ORDER BY FinishedAtUtc DESC, Id DESC LIMIT 1 OFFSET :look - 1;

-- name: list_archive_newest
SELECT
    Id, Queue, Type, 3, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FinishedAtUtc, NULL, NULL, NULL, DurationMs, NULL, NULL, NULL
FROM JobsArchive
WHERE
    FinishedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FinishedAtUtc <> :high OR Id < :after_id)
    AND (:last_id IS NULL OR FinishedAtUtc <> :low OR Id >= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY FinishedAtUtc DESC, Id DESC LIMIT :most;

-- name: list_archive_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT FinishedAtUtc, Id FROM JobsArchive
WHERE
    FinishedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FinishedAtUtc <> :low OR Id > :after_id)
ORDER BY FinishedAtUtc, Id LIMIT 1 OFFSET :look - 1;

-- name: list_archive_oldest
SELECT
    Id, Queue, Type, 3, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FinishedAtUtc, NULL, NULL, NULL, DurationMs, NULL, NULL, NULL
FROM JobsArchive
WHERE
    FinishedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR FinishedAtUtc <> :low OR Id > :after_id)
    AND (:last_id IS NULL OR FinishedAtUtc <> :high OR Id <= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY FinishedAtUtc, Id LIMIT :most;

-- name: count_archive
-- Up to the first entry that is not looked at, that one left out.
SELECT count(*) FROM JobsArchive
WHERE
    FinishedAtUtc BETWEEN :low AND :high
    AND (:last_id IS NULL OR FinishedAtUtc <> :low OR Id > :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    );

-- name: look_up_archive
SELECT
    Id, Queue, Type, 3, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, FinishedAtUtc, NULL, NULL, NULL, DurationMs, NULL, NULL, NULL
FROM JobsArchive WHERE Id IN (SELECT value FROM json_each(:ids));
