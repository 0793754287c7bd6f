-- Enqueue. Tables in order: JobsHot, JobsArchive, JobsDLQ, Queues, Lanes, Workers.

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
-- Move enqueue: absent → Pending; ready at once when due.
INSERT INTO JobsHot (
    Id, Queue, Type, Payload, Tags, IdempotencyKey, Priority, DueAtUtc, CreatedAtUtc, LastUpdatedUtc,
    LifetimeStartUtc, IsReady, TraceParent, CreatedBy
)
VALUES (
    :id, :queue, :type_key, :payload, :tags, :idempotency_key, :priority, :due, :now, :now,
    :due, :due <= :now, :trace_parent, :created_by
);

-- name: enqueue_queue
INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc) VALUES (:queue, :now);

-- name: enqueue_lane
INSERT OR IGNORE INTO Lanes (Queue, Type) VALUES (:queue, :type_key);

-- name: enqueue_is_worker_looking
SELECT EXISTS(SELECT 1 FROM Workers WHERE LookingUntilUtc > :now AND State = 'running');
