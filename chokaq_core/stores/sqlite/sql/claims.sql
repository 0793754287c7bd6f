-- Idempotency claims. A row that has expired counts as absent; each write replaces it.

-- name: key_found
SELECT JobId, IsCompleted, Result FROM IdempotencyClaims
WHERE Type = :type_key AND ClaimKey = :claim_key AND (ExpiresAtUtc IS NULL OR ExpiresAtUtc > :now);

-- name: key_write
INSERT OR REPLACE INTO IdempotencyClaims (Type, ClaimKey, JobId, IsCompleted, Result, ExpiresAtUtc)
VALUES (:type_key, :claim_key, :job_id, :is_completed, :result, :expires_at);

-- name: key_release
DELETE FROM IdempotencyClaims
WHERE
    Type = :type_key AND ClaimKey = :claim_key AND JobId = :job_id AND IsCompleted = 0
    AND (ExpiresAtUtc IS NULL OR ExpiresAtUtc > :now);

-- name: keys_prune
DELETE FROM IdempotencyClaims
WHERE rowid IN (SELECT rowid FROM IdempotencyClaims WHERE ExpiresAtUtc <= :now ORDER BY ExpiresAtUtc LIMIT :most);
