-- Circuits by job type, and the due time that a delayed wake was last asked for.

-- FailureTimes holds moments of fixed width, oldest first: 2030-05-10T12:00:00.000000 and a blank after each.
IF OBJECT_ID(N'[chokaq].Circuits', N'U') IS NULL
CREATE TABLE [chokaq].Circuits (
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    State tinyint NOT NULL CONSTRAINT DF_Circuits_State DEFAULT 0,
    FailureTimes varchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    OpenedAtUtc datetime2(6) NULL,
    ResetAtUtc datetime2(6) NULL,
    Generation int NOT NULL CONSTRAINT DF_Circuits_Generation DEFAULT 0,
    ProbeJobId varchar(50) COLLATE Latin1_General_100_BIN2 NULL,
    ProbeWorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NULL,
    ProbeUntilUtc datetime2(6) NULL,
    CONSTRAINT PK_Circuits PRIMARY KEY CLUSTERED (Type)
);
GO

IF COL_LENGTH(N'[chokaq].Timers', N'WakeDueUtc') IS NULL
ALTER TABLE [chokaq].Timers ADD WakeDueUtc datetime2(6) NULL;
