-- What maintenance needs to know: since when a lane has been empty, and which counts are not folded yet.

IF COL_LENGTH(N'[chokaq].Lanes', N'EmptySinceUtc') IS NULL
ALTER TABLE [chokaq].Lanes ADD EmptySinceUtc datetime2(6) NULL;
GO

-- Counts that still stand in the shard of their worker. The folded ones, by far the most, are not in it.
IF NOT EXISTS (
    SELECT 1 FROM sys.indexes
    WHERE name = N'IX_MetricBuckets_Unfolded' AND object_id = OBJECT_ID(N'[chokaq].MetricBuckets')
)
CREATE INDEX IX_MetricBuckets_Unfolded ON [chokaq].MetricBuckets (BucketUtc)
WHERE Shard <> '';
