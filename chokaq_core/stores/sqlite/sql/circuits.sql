-- Circuits: read in a turn where any type has a row, written when a run has something to tell. Last table in every
-- transaction.

-- name: circuits
SELECT
    Type, State, FailureTimes, OpenedAtUtc, ResetAtUtc, Generation, ProbeJobId, ProbeWorkerId, ProbeUntilUtc
FROM Circuits
ORDER BY Type;

-- name: circuits_write
INSERT OR REPLACE INTO Circuits (
    Type, State, FailureTimes, OpenedAtUtc, ResetAtUtc, Generation, ProbeJobId, ProbeWorkerId, ProbeUntilUtc
)
VALUES (
    :type_key, :state, :failure_times, :opened_at, :reset_at, :generation, :probe_job_id, :probe_worker_id,
    :probe_until
);

-- name: circuits_beat
-- A probe lives as long as its job beats; else a type of long jobs could never close.
UPDATE Circuits SET ProbeUntilUtc = :probe_until
WHERE
    State = 2 AND ProbeWorkerId = :worker
    AND EXISTS (SELECT 1 FROM JobsHot AS h WHERE h.Id = Circuits.ProbeJobId AND +h.WorkerId = :worker);
