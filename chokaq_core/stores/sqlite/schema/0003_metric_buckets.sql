-- What ended in each second, for throughput and failure rates without scanning a pillar.

CREATE TABLE IF NOT EXISTS MetricBuckets (
    BucketUtc INTEGER NOT NULL,
    Queue TEXT NOT NULL,
    Outcome INTEGER NOT NULL,
    Reason INTEGER NOT NULL,
    Shard TEXT NOT NULL,
    CompletedCount INTEGER NOT NULL DEFAULT 0,
    DurationCount INTEGER NOT NULL DEFAULT 0,
    TotalDurationMs REAL NOT NULL DEFAULT 0,
    MaxDurationMs REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (BucketUtc, Queue, Outcome, Reason, Shard)
) WITHOUT ROWID;
