-- The three pillars: active jobs, succeeded jobs, jobs that ended badly.
-- Ids, queues, types and workers are printable ASCII: varchar, compared by bytes whatever the database's collation. Texts of
-- people are nvarchar, compared by bytes too, so that keys are equal only by exact characters.

IF OBJECT_ID(N'[chokaq].JobsHot', N'U') IS NULL
CREATE TABLE [chokaq].JobsHot (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Payload nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tags nvarchar(1000) COLLATE Latin1_General_100_BIN2 NULL,
    IdempotencyKey nvarchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Priority int NOT NULL CONSTRAINT DF_JobsHot_Priority DEFAULT 10,
    Status tinyint NOT NULL CONSTRAINT DF_JobsHot_Status DEFAULT 0,
    AttemptCount int NOT NULL CONSTRAINT DF_JobsHot_AttemptCount DEFAULT 0,
    LeaseNumber int NOT NULL CONSTRAINT DF_JobsHot_LeaseNumber DEFAULT 0,
    Interruptions int NOT NULL CONSTRAINT DF_JobsHot_Interruptions DEFAULT 0,
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    HeartbeatUtc datetime2(6) NULL,
    DueAtUtc datetime2(6) NOT NULL,
    CreatedAtUtc datetime2(6) NOT NULL,
    StartedAtUtc datetime2(6) NULL,
    LastUpdatedUtc datetime2(6) NOT NULL,
    LifetimeStartUtc datetime2(6) NOT NULL,
    CancelRequestedUtc datetime2(6) NULL,
    CancelRequestedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    Progress tinyint NULL,
    ProgressNote nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    IsReady bit NOT NULL CONSTRAINT DF_JobsHot_IsReady DEFAULT 0,
    AttemptErrors nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    TraceParent varchar(55) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    LastModifiedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    CONSTRAINT PK_JobsHot PRIMARY KEY CLUSTERED (Id)
);
GO

IF OBJECT_ID(N'[chokaq].JobsArchive', N'U') IS NULL
CREATE TABLE [chokaq].JobsArchive (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Payload nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tags nvarchar(1000) COLLATE Latin1_General_100_BIN2 NULL,
    IdempotencyKey nvarchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Priority int NOT NULL,
    AttemptCount int NOT NULL,
    LeaseNumber int NOT NULL,
    Interruptions int NOT NULL,
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    DueAtUtc datetime2(6) NOT NULL,
    CreatedAtUtc datetime2(6) NOT NULL,
    StartedAtUtc datetime2(6) NULL,
    LastUpdatedUtc datetime2(6) NOT NULL,
    LifetimeStartUtc datetime2(6) NOT NULL,
    AttemptErrors nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    TraceParent varchar(55) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    LastModifiedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    FinishedAtUtc datetime2(6) NOT NULL,
    DurationMs float NOT NULL,
    Result nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    ResultNote nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    CONSTRAINT PK_JobsArchive PRIMARY KEY CLUSTERED (Id)
);
GO

IF OBJECT_ID(N'[chokaq].JobsDLQ', N'U') IS NULL
CREATE TABLE [chokaq].JobsDLQ (
    Id varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Payload nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tags nvarchar(1000) COLLATE Latin1_General_100_BIN2 NULL,
    IdempotencyKey nvarchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    Priority int NOT NULL,
    AttemptCount int NOT NULL,
    LeaseNumber int NOT NULL,
    Interruptions int NOT NULL,
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    DueAtUtc datetime2(6) NOT NULL,
    CreatedAtUtc datetime2(6) NOT NULL,
    StartedAtUtc datetime2(6) NULL,
    LastUpdatedUtc datetime2(6) NOT NULL,
    LifetimeStartUtc datetime2(6) NOT NULL,
    AttemptErrors nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    TraceParent varchar(55) COLLATE Latin1_General_100_BIN2 NULL,
    CreatedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    LastModifiedBy nvarchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    FailureReason int NOT NULL,
    ErrorType nvarchar(400) COLLATE Latin1_General_100_BIN2 NULL,
    ErrorDetails nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    FailedAtUtc datetime2(6) NOT NULL,
    CONSTRAINT PK_JobsDLQ PRIMARY KEY CLUSTERED (Id)
);
GO

-- ClaimSeq is written by a claim on a queue with a limit: the write is the lock under which its running jobs are counted.
IF OBJECT_ID(N'[chokaq].Queues', N'U') IS NULL
CREATE TABLE [chokaq].Queues (
    Name varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    IsPaused bit NOT NULL CONSTRAINT DF_Queues_IsPaused DEFAULT 0,
    IsActive bit NOT NULL CONSTRAINT DF_Queues_IsActive DEFAULT 1,
    MaxWorkers int NULL,
    ZombieTimeoutSeconds int NULL,
    ClaimSeq bigint NOT NULL CONSTRAINT DF_Queues_ClaimSeq DEFAULT 0,
    LastUpdatedUtc datetime2(6) NOT NULL,
    CONSTRAINT PK_Queues PRIMARY KEY CLUSTERED (Name)
);
GO

IF OBJECT_ID(N'[chokaq].StatsSummary', N'U') IS NULL
CREATE TABLE [chokaq].StatsSummary (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Shard varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    SucceededTotal bigint NOT NULL CONSTRAINT DF_StatsSummary_SucceededTotal DEFAULT 0,
    FailedTotal bigint NOT NULL CONSTRAINT DF_StatsSummary_FailedTotal DEFAULT 0,
    RetriedTotal bigint NOT NULL CONSTRAINT DF_StatsSummary_RetriedTotal DEFAULT 0,
    LastActivityUtc datetime2(6) NULL,
    CONSTRAINT PK_StatsSummary PRIMARY KEY CLUSTERED (Queue, Shard)
);
GO

INSERT INTO [chokaq].Queues (Name, LastUpdatedUtc)
SELECT 'default', SYSUTCDATETIME() WHERE NOT EXISTS (SELECT 1 FROM [chokaq].Queues AS q WHERE q.Name = 'default');
