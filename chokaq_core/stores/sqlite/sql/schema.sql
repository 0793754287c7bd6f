-- The database's clock and the schema's version.

-- name: now
-- only: sqlite, because a T-SQL batch reads the clock as it declares its parameters.
-- Microseconds since 1970 in UTC. 'now' is one moment within a statement; SQLite counts milliseconds.
SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000;

-- name: schema_create_log
CREATE TABLE IF NOT EXISTS SchemaMigrations (
    Version INTEGER NOT NULL PRIMARY KEY, Name TEXT NOT NULL, Description TEXT NOT NULL, AppliedAtUtc INTEGER NOT NULL
);

-- name: schema_version
SELECT coalesce(max(Version), 0) FROM SchemaMigrations;

-- name: schema_applied
INSERT INTO SchemaMigrations (Version, Name, Description, AppliedAtUtc) VALUES (:version, :name, :description, :now);

-- name: schema_tables
SELECT name FROM sqlite_master WHERE type = 'table';
