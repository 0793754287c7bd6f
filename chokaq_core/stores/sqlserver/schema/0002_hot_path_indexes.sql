-- What claim, beat and rescue seek by. Filtered indexes keep each as small as the rows it is for.

-- Claimable rows in claim order within a lane; a claim never walks past rows that may not run yet. The lease number rides
-- along, so that a claim locks the entry alone and looks nothing up.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsHot_Ready' AND object_id = OBJECT_ID(N'[chokaq].JobsHot'))
CREATE INDEX IX_JobsHot_Ready ON [chokaq].JobsHot (Queue, Type, Priority DESC, DueAtUtc, Id) INCLUDE (LeaseNumber)
WHERE IsReady = 1;
GO

-- Pending rows that wait for their due time, earliest first: promotion and "when to look again".
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsHot_Asleep' AND object_id = OBJECT_ID(N'[chokaq].JobsHot'))
CREATE INDEX IX_JobsHot_Asleep ON [chokaq].JobsHot (DueAtUtc) INCLUDE (Queue, Type)
WHERE IsReady = 0 AND Status = 0;
GO

-- Rows held by a worker: beat, busy counts, recover and bury are as large as what runs, not as the backlog. HeartbeatUtc
-- stands in no index, so a heartbeat writes no index entry.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsHot_Active' AND object_id = OBJECT_ID(N'[chokaq].JobsHot'))
CREATE INDEX IX_JobsHot_Active ON [chokaq].JobsHot (WorkerId, Queue, Status)
WHERE WorkerId IS NOT NULL;
GO

-- An idempotency key is held by one active job.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'UX_JobsHot_IdempotencyKey' AND object_id = OBJECT_ID(N'[chokaq].JobsHot'))
CREATE UNIQUE INDEX UX_JobsHot_IdempotencyKey ON [chokaq].JobsHot (IdempotencyKey)
WHERE IdempotencyKey IS NOT NULL;
