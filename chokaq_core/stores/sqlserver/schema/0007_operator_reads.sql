-- What people did, and the order in which each pillar is listed.

IF OBJECT_ID(N'[chokaq].OperatorLog', N'U') IS NULL
CREATE TABLE [chokaq].OperatorLog (
    Number bigint IDENTITY(1, 1) NOT NULL,
    AtUtc datetime2(6) NOT NULL,
    Actor nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Command nvarchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Target nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Affected int NOT NULL,
    Outcome nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_OperatorLog PRIMARY KEY CLUSTERED (Number)
);
GO

IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_OperatorLog_At' AND object_id = OBJECT_ID(N'[chokaq].OperatorLog'))
CREATE INDEX IX_OperatorLog_At ON [chokaq].OperatorLog (AtUtc);
GO

-- Lists page by (time, id); retention deletes the oldest by the same indexes.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsHot_Created' AND object_id = OBJECT_ID(N'[chokaq].JobsHot'))
CREATE INDEX IX_JobsHot_Created ON [chokaq].JobsHot (CreatedAtUtc, Id);
GO

IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsArchive_Finished' AND object_id = OBJECT_ID(N'[chokaq].JobsArchive'))
CREATE INDEX IX_JobsArchive_Finished ON [chokaq].JobsArchive (FinishedAtUtc, Id);
GO

-- With what lists filter by, so that dead jobs which do not match are passed over without being read.
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE name = N'IX_JobsDLQ_Failed' AND object_id = OBJECT_ID(N'[chokaq].JobsDLQ'))
CREATE INDEX IX_JobsDLQ_Failed ON [chokaq].JobsDLQ (FailedAtUtc, Id) INCLUDE (FailureReason, Queue, Type);
