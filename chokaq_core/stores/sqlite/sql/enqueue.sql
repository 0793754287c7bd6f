-- Enqueue. Tables in order: JobsHot, JobsArchive, JobsDLQ, Lanes, Queues, Workers.

-- name: enqueue_existing
-- Jobs of any pillar that bear one of the ids, to tell a repeated call from a taken id.
SELECT h.Id, h.Type, h.Payload FROM json_each(:ids) AS i CROSS JOIN JobsHot AS h ON h.Id = i.value
UNION ALL
SELECT a.Id, a.Type, a.Payload FROM json_each(:ids) AS i CROSS JOIN JobsArchive AS a ON a.Id = i.value
UNION ALL
SELECT d.Id, d.Type, d.Payload FROM json_each(:ids) AS i CROSS JOIN JobsDLQ AS d ON d.Id = i.value;

-- name: enqueue_key_holders
-- Active jobs that hold one of the keys.
SELECT h.IdempotencyKey, h.Id, h.Type, h.Payload
FROM json_each(:keys) AS k CROSS JOIN JobsHot AS h ON h.IdempotencyKey = k.value;

-- name: enqueue
-- Move enqueue: absent → Pending; ready at once when due. Changes nothing where the id or the key is taken: an id that
-- another pillar holds becomes NULL, which no row may have.
-- 1 queue, 2 type, 3 due, 4 now, 5 id, 6 payload, 7 priority, 8 tags, 9 key, 10 trace parent, 11 created by. The last
-- four are 0 where there is none.
INSERT OR IGNORE INTO JobsHot (
    Id,
    Queue, Type, DueAtUtc, LifetimeStartUtc, IsReady, CreatedAtUtc, LastUpdatedUtc, Payload, Priority,
    Tags, IdempotencyKey, TraceParent, CreatedBy
)
VALUES (
    iif(EXISTS (SELECT 1 FROM JobsArchive WHERE Id = ?5) OR EXISTS (SELECT 1 FROM JobsDLQ WHERE Id = ?5), NULL, ?5),
    ?1, ?2, ?3, ?3, ?3 <= ?4, ?4, ?4, ?6, ?7,
    nullif(?8, 0), nullif(?9, 0), nullif(?10, 0), nullif(?11, 0)
);

-- name: enqueue_look
-- only: sqlite, because a T-SQL batch makes lanes that are missing and answers all of it in one go.
-- Whether the lane is there, where one is asked for; whether a worker looks for jobs; and whether any queue or circuit
-- could hold a job back: where none does, nothing more is asked.
-- 1 queue, 2 type, 3 now.
SELECT
    ?1 IS NULL OR EXISTS (SELECT 1 FROM Lanes WHERE Queue = ?1 AND Type = ?2),
    EXISTS(SELECT 1 FROM Workers WHERE LookingUntilUtc > ?3 AND State = 'running'),
    EXISTS (SELECT 1 FROM Queues WHERE IsPaused = 1 OR IsActive = 0 OR MaxWorkers IS NOT NULL)
    OR EXISTS (SELECT 1 FROM Circuits WHERE State <> 0);

-- name: enqueue_lane
INSERT OR IGNORE INTO Lanes (Queue, Type) VALUES (:queue, :type_key);

-- name: enqueue_queue
-- Only where the lane is new: no queue is ever deleted, so one that has a lane is there.
INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc) VALUES (:queue, :now);

-- name: enqueue_is_worker_looking
SELECT EXISTS(SELECT 1 FROM Workers WHERE LookingUntilUtc > :now AND State = 'running');
