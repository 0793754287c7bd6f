-- The schema's version.

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
