-- The three pillars: active jobs, succeeded jobs, jobs that ended badly.
-- Times are whole microseconds since 1970-01-01T00:00:00Z: exact, and cheap to compare and to add to.

CREATE TABLE IF NOT EXISTS JobsHot (
    Id TEXT NOT NULL PRIMARY KEY,
    Queue TEXT NOT NULL,
    Type TEXT NOT NULL,
    Payload TEXT NOT NULL,
    Tags TEXT,
    IdempotencyKey TEXT,
    Priority INTEGER NOT NULL DEFAULT 10,
    Status INTEGER NOT NULL DEFAULT 0,
    AttemptCount INTEGER NOT NULL DEFAULT 0,
    LeaseNumber INTEGER NOT NULL DEFAULT 0,
    Interruptions INTEGER NOT NULL DEFAULT 0,
    WorkerId TEXT,
    HeartbeatUtc INTEGER,
    DueAtUtc INTEGER NOT NULL,
    CreatedAtUtc INTEGER NOT NULL,
    StartedAtUtc INTEGER,
    LastUpdatedUtc INTEGER NOT NULL,
    LifetimeStartUtc INTEGER NOT NULL,
    CancelRequestedUtc INTEGER,
    CancelRequestedBy TEXT,
    Progress INTEGER,
    ProgressNote TEXT,
    IsReady INTEGER NOT NULL DEFAULT 0,
    AttemptErrors TEXT,
    TraceParent TEXT,
    CreatedBy TEXT,
    LastModifiedBy TEXT
);

CREATE TABLE IF NOT EXISTS JobsArchive (
    Id TEXT NOT NULL PRIMARY KEY,
    Queue TEXT NOT NULL,
    Type TEXT NOT NULL,
    Payload TEXT NOT NULL,
    Tags TEXT,
    IdempotencyKey TEXT,
    Priority INTEGER NOT NULL,
    AttemptCount INTEGER NOT NULL,
    LeaseNumber INTEGER NOT NULL,
    Interruptions INTEGER NOT NULL,
    WorkerId TEXT,
    DueAtUtc INTEGER NOT NULL,
    CreatedAtUtc INTEGER NOT NULL,
    StartedAtUtc INTEGER,
    LastUpdatedUtc INTEGER NOT NULL,
    LifetimeStartUtc INTEGER NOT NULL,
    AttemptErrors TEXT,
    TraceParent TEXT,
    CreatedBy TEXT,
    LastModifiedBy TEXT,
    FinishedAtUtc INTEGER NOT NULL,
    DurationMs REAL NOT NULL,
    Result TEXT,
    ResultNote TEXT
);

CREATE TABLE IF NOT EXISTS JobsDLQ (
    Id TEXT NOT NULL PRIMARY KEY,
    Queue TEXT NOT NULL,
    Type TEXT NOT NULL,
    Payload TEXT NOT NULL,
    Tags TEXT,
    IdempotencyKey TEXT,
    Priority INTEGER NOT NULL,
    AttemptCount INTEGER NOT NULL,
    LeaseNumber INTEGER NOT NULL,
    Interruptions INTEGER NOT NULL,
    WorkerId TEXT,
    DueAtUtc INTEGER NOT NULL,
    CreatedAtUtc INTEGER NOT NULL,
    StartedAtUtc INTEGER,
    LastUpdatedUtc INTEGER NOT NULL,
    LifetimeStartUtc INTEGER NOT NULL,
    AttemptErrors TEXT,
    TraceParent TEXT,
    CreatedBy TEXT,
    LastModifiedBy TEXT,
    FailureReason INTEGER NOT NULL,
    ErrorType TEXT,
    ErrorDetails TEXT,
    FailedAtUtc INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS Queues (
    Name TEXT NOT NULL PRIMARY KEY,
    IsPaused INTEGER NOT NULL DEFAULT 0,
    IsActive INTEGER NOT NULL DEFAULT 1,
    MaxWorkers INTEGER,
    ZombieTimeoutSeconds INTEGER,
    LastUpdatedUtc INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS StatsSummary (
    Queue TEXT NOT NULL,
    Shard TEXT NOT NULL,
    SucceededTotal INTEGER NOT NULL DEFAULT 0,
    FailedTotal INTEGER NOT NULL DEFAULT 0,
    RetriedTotal INTEGER NOT NULL DEFAULT 0,
    LastActivityUtc INTEGER,
    PRIMARY KEY (Queue, Shard)
) WITHOUT ROWID;

INSERT OR IGNORE INTO Queues (Name, LastUpdatedUtc)
VALUES ('default', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
