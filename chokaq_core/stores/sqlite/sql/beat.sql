-- Heartbeat of all running jobs of a worker. Tables in order: JobsHot, Workers.

-- name: beat
-- Move beat: every Processing row in the worker's name.
UPDATE JobsHot SET HeartbeatUtc = :now WHERE WorkerId = :worker AND Status = 2;

-- name: beat_progress
UPDATE JobsHot SET Progress = :percent, ProgressNote = :note
WHERE Id = :id AND LeaseNumber = :lease_number AND +WorkerId = :worker AND +Status = 2;

-- name: beat_worker
UPDATE Workers SET HeartbeatUtc = :now, Active = :active, Abandoned = :abandoned, Capacity = :capacity
WHERE WorkerId = :worker;

-- name: beat_held
-- All held jobs as one row of JSON: between two rows another thread may keep the interpreter for as long as it likes, and
-- a thousand rows beside sixteen busy handlers made a heartbeat seconds late.
SELECT json_group_array(
    json_array(Id, LeaseNumber, Status, CancelRequestedUtc IS NOT NULL, CancelRequestedBy)
) FROM JobsHot WHERE WorkerId = :worker;
