-- Who works, what was asked of the store last, which lanes exist, and when the timers ran.

-- One row for each queue and type that was ever enqueued: claims look for the head of each lane.
CREATE TABLE IF NOT EXISTS Lanes (
    Queue TEXT NOT NULL,
    Type TEXT NOT NULL,
    PRIMARY KEY (Queue, Type)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS Workers (
    WorkerId TEXT NOT NULL PRIMARY KEY,
    Host TEXT NOT NULL,
    StartedAtUtc INTEGER NOT NULL,
    HeartbeatUtc INTEGER NOT NULL,
    LookingUntilUtc INTEGER,
    Capacity INTEGER NOT NULL,
    Active INTEGER NOT NULL DEFAULT 0,
    Abandoned INTEGER NOT NULL DEFAULT 0,
    State TEXT NOT NULL
) WITHOUT ROWID;

-- Commit marker of each worker's turns, with what the last one answered, so that a repeat can say it again.
CREATE TABLE IF NOT EXISTS Turns (
    WorkerId TEXT NOT NULL PRIMARY KEY,
    Seq INTEGER NOT NULL,
    Stale TEXT,
    Answer TEXT
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS Timers (
    Name TEXT NOT NULL PRIMARY KEY,
    LastStartedUtc INTEGER,
    LastSucceededUtc INTEGER,
    LastOutcome TEXT
) WITHOUT ROWID;
