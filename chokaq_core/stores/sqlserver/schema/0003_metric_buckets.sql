-- What ended in each second, for throughput and failure rates without scanning a pillar.

IF OBJECT_ID(N'[chokaq].MetricBuckets', N'U') IS NULL
CREATE TABLE [chokaq].MetricBuckets (
    BucketUtc datetime2(6) NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Outcome int NOT NULL,
    Reason int NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CompletedCount int NOT NULL CONSTRAINT DF_MetricBuckets_CompletedCount DEFAULT 0,
    DurationCount int NOT NULL CONSTRAINT DF_MetricBuckets_DurationCount DEFAULT 0,
    TotalDurationMs float NOT NULL CONSTRAINT DF_MetricBuckets_TotalDurationMs DEFAULT 0,
    MaxDurationMs float NOT NULL CONSTRAINT DF_MetricBuckets_MaxDurationMs DEFAULT 0,
    CONSTRAINT PK_MetricBuckets PRIMARY KEY CLUSTERED (BucketUtc, Queue, Outcome, Reason, Shard)
);
