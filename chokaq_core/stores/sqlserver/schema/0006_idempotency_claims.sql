-- Who runs, or ran, the work behind an idempotency key.

-- ExpiresAtUtc is NULL for results that are kept for ever. A key ends with a stop of its own, since `=` pads with blanks.
IF OBJECT_ID(N'[chokaq].IdempotencyClaims', N'U') IS NULL
CREATE TABLE [chokaq].IdempotencyClaims (
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    ClaimKey nvarchar(512) COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobId varchar(50) COLLATE Latin1_General_100_BIN2 NOT NULL,
    IsCompleted bit NOT NULL CONSTRAINT DF_IdempotencyClaims_IsCompleted DEFAULT 0,
    Result nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    ExpiresAtUtc datetime2(6) NULL,
    CONSTRAINT PK_IdempotencyClaims PRIMARY KEY NONCLUSTERED (Type, ClaimKey)
);
GO

IF NOT EXISTS (
    SELECT 1 FROM sys.indexes
    WHERE name = N'IX_IdempotencyClaims_Expires' AND object_id = OBJECT_ID(N'[chokaq].IdempotencyClaims')
)
CREATE INDEX IX_IdempotencyClaims_Expires ON [chokaq].IdempotencyClaims (ExpiresAtUtc)
WHERE ExpiresAtUtc IS NOT NULL;
