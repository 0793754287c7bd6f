-- Idempotency claims. A row that has expired counts as absent. Two who claim one key meet at its primary key; the loser
-- repeats and finds the winner's claim.

-- name: key_claim
-- only: sqlserver, because one batch is one round trip. The write is the decision: a claim that is gone or one's own is taken.
-- takes: type_key varchar(255), claim_key nvarchar(512), job_id varchar(50), expires_at ahead
DECLARE @is_claimed int;
BEGIN TRANSACTION;
UPDATE k SET JobId = @job_id, IsCompleted = 0, Result = NULL, ExpiresAtUtc = @expires_at
FROM [chokaq].IdempotencyClaims AS k WITH (ROWLOCK)
WHERE
    k.Type = @type_key AND k.ClaimKey = @claim_key
    AND (k.ExpiresAtUtc <= @now OR (k.JobId = @job_id AND k.IsCompleted = 0));
SET @is_claimed = @@ROWCOUNT;
IF @is_claimed = 0
BEGIN
    INSERT INTO [chokaq].IdempotencyClaims (Type, ClaimKey, JobId, ExpiresAtUtc)
    SELECT @type_key, @claim_key, @job_id, @expires_at
    WHERE NOT EXISTS (
        SELECT 1 FROM [chokaq].IdempotencyClaims AS k WHERE k.Type = @type_key AND k.ClaimKey = @claim_key
    );
    SET @is_claimed = @@ROWCOUNT;
END;
COMMIT TRANSACTION;
SELECT @is_claimed AS IsClaimed;
-- include: key_found

-- name: key_found
SELECT k.JobId, k.IsCompleted, k.Result FROM [chokaq].IdempotencyClaims AS k
WHERE k.Type = @type_key AND k.ClaimKey = @claim_key AND (k.ExpiresAtUtc IS NULL OR k.ExpiresAtUtc > @now);

-- name: key_write
-- Notes that the work is done, unless another job holds or has completed the key.
-- takes: type_key varchar(255), claim_key nvarchar(512), job_id varchar(50), has_result bit, result nvarchar(max),
--   expires_at ahead null
DECLARE @is_written int;
BEGIN TRANSACTION;
UPDATE k SET
    JobId = @job_id, IsCompleted = 1, Result = CASE WHEN @has_result = 1 THEN @result END, ExpiresAtUtc = @expires_at
FROM [chokaq].IdempotencyClaims AS k WITH (ROWLOCK)
WHERE k.Type = @type_key AND k.ClaimKey = @claim_key AND (k.ExpiresAtUtc <= @now OR k.JobId = @job_id);
SET @is_written = @@ROWCOUNT;
IF @is_written = 0
BEGIN
    INSERT INTO [chokaq].IdempotencyClaims (Type, ClaimKey, JobId, IsCompleted, Result, ExpiresAtUtc)
    SELECT @type_key, @claim_key, @job_id, 1, CASE WHEN @has_result = 1 THEN @result END, @expires_at
    WHERE NOT EXISTS (
        SELECT 1 FROM [chokaq].IdempotencyClaims AS k WHERE k.Type = @type_key AND k.ClaimKey = @claim_key
    );
    SET @is_written = @@ROWCOUNT;
END;
COMMIT TRANSACTION;
SELECT @is_written AS IsWritten;

-- name: key_release
-- takes: type_key varchar(255), claim_key nvarchar(512), job_id varchar(50)
DELETE k FROM [chokaq].IdempotencyClaims AS k
WHERE
    k.Type = @type_key AND k.ClaimKey = @claim_key AND k.JobId = @job_id AND k.IsCompleted = 0
    AND (k.ExpiresAtUtc IS NULL OR k.ExpiresAtUtc > @now);
SELECT @@ROWCOUNT AS Gone;

-- name: keys_prune
-- takes: most int
DELETE k
FROM (
    SELECT TOP (@most) x.Type, x.ClaimKey
    FROM [chokaq].IdempotencyClaims AS x WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE x.ExpiresAtUtc <= @now
    ORDER BY x.ExpiresAtUtc
) AS d INNER JOIN [chokaq].IdempotencyClaims AS k WITH (ROWLOCK) ON k.Type = d.Type AND k.ClaimKey = d.ClaimKey
WHERE k.ExpiresAtUtc <= @now;
SELECT @@ROWCOUNT AS Gone;
