-- The index of held rows without their status: a start changes a row and no index any more.
-- only: sqlite, because SQL Server's heartbeat reads the status of what it holds from that index alone.

DROP INDEX IF EXISTS IX_JobsHot_Active;

-- Beat, busy counts, recover and bury read as many rows as are held, and look into each of them.
CREATE INDEX IX_JobsHot_Active ON JobsHot (WorkerId, Queue)
WHERE WorkerId IS NOT NULL;
