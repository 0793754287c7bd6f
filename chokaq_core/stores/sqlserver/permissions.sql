-- The least that the app needs: to read and write the tables of one schema. It can neither change tables nor see others.
-- Run it as the database's owner, after the migrations. Replace [chokaq] when SqlServer.SchemaName is another, and the last
-- statement's name by the app's own:
--
--     a managed identity    CREATE USER [my-function-app] FROM EXTERNAL PROVIDER;
--     a login               CREATE USER [chokaq_app] FOR LOGIN [chokaq_app];
--
-- With SqlServer.AutoCreateSqlTable=true the app makes its tables itself and needs more:
--
--     GRANT CREATE TABLE, CREATE SCHEMA TO [chokaq_runner];
--     GRANT ALTER, REFERENCES ON SCHEMA::[chokaq] TO [chokaq_runner];

IF DATABASE_PRINCIPAL_ID(N'chokaq_runner') IS NULL
CREATE ROLE [chokaq_runner];
GO

-- Application locks (sp_getapplock) need no permission of their own: every user of a database may take them.
GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::[chokaq] TO [chokaq_runner];
GO

-- The health check tells which tables are missing; without this it would take those that it may not see for missing.
GRANT VIEW DEFINITION ON SCHEMA::[chokaq] TO [chokaq_runner];
GO

-- ALTER ROLE [chokaq_runner] ADD MEMBER [my-function-app];
