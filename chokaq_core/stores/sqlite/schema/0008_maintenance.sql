-- What maintenance needs to know: since when a lane has been empty, and which counts are not folded yet.

ALTER TABLE Lanes ADD COLUMN EmptySinceUtc INTEGER;

-- Counts that still stand in the shard of their worker. The folded ones, by far the most, are not in it.
CREATE INDEX IF NOT EXISTS IX_MetricBuckets_Unfolded ON MetricBuckets (BucketUtc)
WHERE Shard <> '';
