-- What claim, beat and rescue seek by. Partial indexes keep each as small as the rows it is for.

-- Claimable rows in claim order within a lane; a claim never walks past rows that may not run yet.
CREATE INDEX IF NOT EXISTS IX_JobsHot_Ready ON JobsHot (Queue, Type, Priority DESC, DueAtUtc, Id)
WHERE IsReady = 1;

-- Pending rows that wait for their due time, earliest first: promotion and "when to look again".
CREATE INDEX IF NOT EXISTS IX_JobsHot_Asleep ON JobsHot (DueAtUtc)
WHERE IsReady = 0 AND Status = 0;

-- Rows held by a worker: beat, busy counts, recover and bury are as large as what runs, not as the backlog.
CREATE INDEX IF NOT EXISTS IX_JobsHot_Active ON JobsHot (WorkerId, Queue, Status)
WHERE WorkerId IS NOT NULL;

-- An idempotency key is held by one active job.
CREATE UNIQUE INDEX IF NOT EXISTS UX_JobsHot_IdempotencyKey ON JobsHot (IdempotencyKey)
WHERE IdempotencyKey IS NOT NULL;
