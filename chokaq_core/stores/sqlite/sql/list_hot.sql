-- Active jobs as lists show them, by the time they were created.
-- One look walks at most :look entries of one index. `horizon` finds its last entry first, so that the list behind it
-- can stop as soon as a page is full and still never goes further.

-- name: list_hot_newest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT CreatedAtUtc, Id FROM JobsHot
WHERE
    CreatedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR CreatedAtUtc <> :high OR Id < :after_id)
ORDER BY CreatedAtUtc DESC, Id DESC LIMIT 1 OFFSET :look - 1;

-- name: list_hot_newest
SELECT
    Id, Queue, Type, Status, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, NULL, CancelRequestedUtc, Progress, ProgressNote, NULL, NULL,
    NULL, NULL
FROM JobsHot
WHERE
    CreatedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR CreatedAtUtc <> :high OR Id < :after_id)
    AND (:last_id IS NULL OR CreatedAtUtc <> :low OR Id >= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:status IS NULL OR Status = :status)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY CreatedAtUtc DESC, Id DESC LIMIT :most;

-- name: list_hot_oldest_horizon
-- Not for paging: the entry in the index after which one look ends.
SELECT CreatedAtUtc, Id FROM JobsHot
WHERE
    CreatedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR CreatedAtUtc <> :low OR Id > :after_id)
ORDER BY CreatedAtUtc, Id LIMIT 1 OFFSET :look - 1;

-- name: list_hot_oldest
SELECT
    Id, Queue, Type, Status, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, NULL, CancelRequestedUtc, Progress, ProgressNote, NULL, NULL,
    NULL, NULL
FROM JobsHot
WHERE
    CreatedAtUtc BETWEEN :low AND :high
    AND (:after_id IS NULL OR CreatedAtUtc <> :low OR Id > :after_id)
    AND (:last_id IS NULL OR CreatedAtUtc <> :high OR Id <= :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:status IS NULL OR Status = :status)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    )
ORDER BY CreatedAtUtc, Id LIMIT :most;

-- name: count_hot
-- Up to the first entry that is not looked at, that one left out.
SELECT count(*) FROM JobsHot
WHERE
    CreatedAtUtc BETWEEN :low AND :high
    AND (:last_id IS NULL OR CreatedAtUtc <> :low OR Id > :last_id)
    AND (:queue IS NULL OR Queue = :queue)
    AND (:type_key IS NULL OR Type = :type_key)
    AND (:status IS NULL OR Status = :status)
    AND (
        :search IS NULL OR instr(Id, :search) > 0 OR instr(Type, :search) > 0
        OR instr(Tags, :search) > 0 OR instr(IdempotencyKey, :search) > 0
    );

-- name: look_up_hot
SELECT
    Id, Queue, Type, Status, Priority, AttemptCount, LeaseNumber, Interruptions, Tags, IdempotencyKey, WorkerId, CreatedBy,
    CreatedAtUtc, DueAtUtc, StartedAtUtc, LastUpdatedUtc, NULL, CancelRequestedUtc, Progress, ProgressNote, NULL, NULL,
    NULL, NULL
FROM JobsHot WHERE Id IN (SELECT value FROM json_each(:ids));
