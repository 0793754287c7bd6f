-- The database's clock and the schema's version.

-- name: schema_state
-- only: sqlserver, because one batch is one round trip. Names are compared in lower case: Babelfish keeps them so.
-- takes: schema_name nvarchar(128)
DECLARE @version int = 0;
IF OBJECT_ID(N'[chokaq].SchemaMigrations', N'U') IS NOT NULL
BEGIN
    -- include: schema_version
    SET @version = COALESCE(@version, 0);
END;
SELECT @version AS Version;
-- include: schema_tables

-- name: schema_create_log
IF OBJECT_ID(N'[chokaq].SchemaMigrations', N'U') IS NULL
    CREATE TABLE [chokaq].SchemaMigrations (
        Version int NOT NULL,
        Name nvarchar(200) NOT NULL,
        Description nvarchar(1000) NOT NULL,
        AppliedAtUtc datetime2(6) NOT NULL,
        CONSTRAINT PK_SchemaMigrations PRIMARY KEY CLUSTERED (Version)
    );

-- name: schema_create
-- only: sqlserver, because SQLite has no schemas. CREATE SCHEMA must stand alone in its batch.
IF SCHEMA_ID(N'chokaq') IS NULL EXECUTE (N'CREATE SCHEMA [chokaq]');

-- name: schema_lock
-- only: sqlserver, because several processes may start at once: one migrates, the others wait and find it done. The lock
-- ends with the transaction.
-- takes: resource nvarchar(255), patience int
DECLARE @granted int;
EXECUTE @granted = sp_getapplock
    @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = @patience;
SELECT @granted AS Granted;

-- name: schema_version
SELECT @version = MAX(m.Version) FROM [chokaq].SchemaMigrations AS m;

-- name: schema_applied
-- takes: version int, name nvarchar(200), description nvarchar(1000)
INSERT INTO [chokaq].SchemaMigrations (Version, Name, Description, AppliedAtUtc)
VALUES (@version, @name, @description, @now);

-- name: schema_tables
SELECT LOWER(t.name) AS Name FROM sys.tables AS t INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE LOWER(s.name) = LOWER(@schema_name);
