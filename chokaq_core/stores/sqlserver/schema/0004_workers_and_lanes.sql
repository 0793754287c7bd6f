-- Who works, what was asked of the store last, which lanes exist, and when the timers ran.

-- One row for each queue and type that was ever enqueued: claims look for the head of each lane.
IF OBJECT_ID(N'[chokaq].Lanes', N'U') IS NULL
CREATE TABLE [chokaq].Lanes (
    Queue varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_Lanes PRIMARY KEY CLUSTERED (Queue, Type)
);
GO

IF OBJECT_ID(N'[chokaq].Workers', N'U') IS NULL
CREATE TABLE [chokaq].Workers (
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Host nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    StartedAtUtc datetime2(6) NOT NULL,
    HeartbeatUtc datetime2(6) NOT NULL,
    LookingUntilUtc datetime2(6) NULL,
    Capacity int NOT NULL,
    Active int NOT NULL CONSTRAINT DF_Workers_Active DEFAULT 0,
    Abandoned int NOT NULL CONSTRAINT DF_Workers_Abandoned DEFAULT 0,
    State varchar(20) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_Workers PRIMARY KEY CLUSTERED (WorkerId)
);
GO

-- Commit marker of each worker's turns, with what the last one answered, so that a repeat can say it again.
IF OBJECT_ID(N'[chokaq].Turns', N'U') IS NULL
CREATE TABLE [chokaq].Turns (
    WorkerId varchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Seq bigint NOT NULL,
    Stale varchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Cancelled varchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    Claimed varchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    IsFull bit NULL,
    NextDueUtc datetime2(6) NULL,
    HasOpenQueue bit NULL,
    LastQueue varchar(255) COLLATE Latin1_General_100_BIN2 NULL,
    CircuitEvents varchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    WakeInMicros int NULL,
    CONSTRAINT PK_Turns PRIMARY KEY CLUSTERED (WorkerId)
);
GO

IF OBJECT_ID(N'[chokaq].Timers', N'U') IS NULL
CREATE TABLE [chokaq].Timers (
    Name nvarchar(100) COLLATE Latin1_General_100_BIN2 NOT NULL,
    LastStartedUtc datetime2(6) NULL,
    LastSucceededUtc datetime2(6) NULL,
    LastOutcome nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL,
    CONSTRAINT PK_Timers PRIMARY KEY CLUSTERED (Name)
);
