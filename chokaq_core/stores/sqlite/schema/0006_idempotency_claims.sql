-- Who runs, or ran, the work behind an idempotency key.

-- ExpiresAtUtc is NULL for results that are kept for ever.
CREATE TABLE IF NOT EXISTS IdempotencyClaims (
    Type TEXT NOT NULL,
    ClaimKey TEXT NOT NULL,
    JobId TEXT NOT NULL,
    IsCompleted INTEGER NOT NULL DEFAULT 0,
    Result TEXT,
    ExpiresAtUtc INTEGER,
    PRIMARY KEY (Type, ClaimKey)
);

CREATE INDEX IF NOT EXISTS IX_IdempotencyClaims_Expires ON IdempotencyClaims (ExpiresAtUtc)
WHERE ExpiresAtUtc IS NOT NULL;
