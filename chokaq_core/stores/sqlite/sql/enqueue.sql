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
-- Move enqueue: absent → Pending; ready at once when due. Changes nothing where the id or the key is taken.
INSERT INTO JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc,
    LifetimeStartUtc, IsReady, TraceParent, CreatedBy
)
SELECT
    :id, :queue, :type_key, :payload, :tags, :idempotency_key, :priority, :due, :now, :now,
    :due, :due <= :now, :trace_parent, :created_by
WHERE
    NOT EXISTS (SELECT 1 FROM JobsArchive WHERE Id = :id)
    AND NOT EXISTS (SELECT 1 FROM JobsDLQ WHERE Id = :id)
ON CONFLICT DO NOTHING;

-- name: enqueue_lane
INSERT OR IGNORE INTO Lanes (Queue, Type) VALUES (:queue, :type_key);

-- name: enqueue_queue
-- Only where the lane is new: no queue is ever deleted, so one that has a lane is there.
INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc) VALUES (:queue, :now);

-- name: enqueue_is_worker_looking
-- And whether any queue or circuit could hold a job back: where none does, nothing more is asked.
SELECT
    EXISTS(SELECT 1 FROM Workers WHERE LookingUntilUtc > :now AND State = 'running'),
    EXISTS (SELECT 1 FROM Queues WHERE IsPaused = 1 OR IsActive = 0 OR MaxWorkers IS NOT NULL)
    OR EXISTS (SELECT 1 FROM Circuits WHERE State <> 0);
