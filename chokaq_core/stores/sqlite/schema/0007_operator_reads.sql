-- What people did, and the order in which each pillar is listed.

CREATE TABLE IF NOT EXISTS OperatorLog (
    Number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    AtUtc INTEGER NOT NULL,
    Actor TEXT NOT NULL,
    Command TEXT NOT NULL,
    Target TEXT NOT NULL,
    Affected INTEGER NOT NULL,
    Outcome TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS IX_OperatorLog_At ON OperatorLog (AtUtc);

-- Lists page by (time, id); retention deletes the oldest by the same indexes.
CREATE INDEX IF NOT EXISTS IX_JobsHot_Created ON JobsHot (CreatedAtUtc, Id);

CREATE INDEX IF NOT EXISTS IX_JobsArchive_Finished ON JobsArchive (FinishedAtUtc, Id);

-- With what lists filter by, so that dead jobs which do not match are passed over without being read.
CREATE INDEX IF NOT EXISTS IX_JobsDLQ_Failed ON JobsDLQ (FailedAtUtc, Id, FailureReason, Queue, Type);
