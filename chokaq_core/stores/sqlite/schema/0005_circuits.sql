-- Circuits by job type, and the due time that a delayed wake was last asked for.

CREATE TABLE IF NOT EXISTS Circuits (
    Type TEXT NOT NULL PRIMARY KEY,
    State INTEGER NOT NULL DEFAULT 0,
    FailureTimes TEXT,
    OpenedAtUtc INTEGER,
    ResetAtUtc INTEGER,
    Generation INTEGER NOT NULL DEFAULT 0,
    ProbeJobId TEXT,
    ProbeWorkerId TEXT,
    ProbeUntilUtc INTEGER
) WITHOUT ROWID;

ALTER TABLE Timers ADD COLUMN WakeDueUtc INTEGER;
