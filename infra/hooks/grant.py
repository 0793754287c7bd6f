"""
Gives the app's identity its database user, and the least role that serves it. Run by the hook after provisioning.

    python -m infra.hooks.grant NAME OBJECT_ID    as an administrator of the database that the settings name

Safe to repeat. The role may read and write the rows of the jobs' schema, and can neither change its tables nor see
another schema.
"""  # noqa: INP001 - a script beside the hooks, no part of a package

from __future__ import annotations

import argparse
import os
import re
import sys
import uuid
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.config import load_settings
from chokaq_core.domain.errors import ChokaQError

if TYPE_CHECKING:
    from chokaq_core.policy.sqlserver import SqlServerSettings

LOGIN_TIMEOUT = timedelta(seconds=30)

ADMIT = """
SET NOCOUNT ON;
SET XACT_ABORT ON;
DECLARE @user sysname = ?, @object_id nvarchar(36) = ?, @text nvarchar(max);
IF DATABASE_PRINCIPAL_ID(@user) IS NULL
BEGIN
    SET @text = N'CREATE USER ' + QUOTENAME(@user) + N' FROM EXTERNAL PROVIDER WITH OBJECT_ID = '
        + QUOTENAME(@object_id, '''');
    EXEC (@text);
END;
SET @text = N'ALTER ROLE [chokaq_runner] ADD MEMBER ' + QUOTENAME(@user);
EXEC (@text);
"""
"""The object id is named because two identities may share a display name, and because looking one up needs rights."""

PERMISSIONS = Path(__file__).parents[2] / "chokaq_core" / "stores" / "sqlserver" / "permissions.sql"
"""Makes the role and says what it may do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Grants, and answers the exit code.
    """
    given = _parser().parse_args(arguments)
    try:
        settings = load_settings(Path(), os.environ).sqlserver
        if settings is None:
            raise SystemExit("SqlServer.ConnectionString is not set: name the database")
        grant(settings, given.name, given.object_id)
    except ChokaQError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's answer
        return 1
    print(f"{given.name} may read and write the jobs in schema {settings.schema_name}")  # noqa: T201 - the same
    return 0


def grant(settings: SqlServerSettings, name: str, object_id: uuid.UUID) -> None:
    """
    Makes role and user where they are missing, and joins them. Needs the schema to be there.

    Raises:
        StoreUnavailableError: the database does not answer.
        StoreRefusedError: it refuses this login, or this grant.
    """
    from chokaq_core.stores.sqlserver.connecting import Connector  # noqa: PLC0415 - needs the driver manager
    from chokaq_core.stores.sqlserver.errors import fault_of, store_error  # noqa: PLC0415 - the same
    from chokaq_core.stores.sqlserver.odbc import pyodbc  # noqa: PLC0415 - the same

    try:
        connection, _ = Connector(settings.connection).connect(LOGIN_TIMEOUT, settings.command_timeout)
        try:
            for batch in role_batches(settings.schema_name):
                connection.execute(batch)
            connection.execute(ADMIT, name, str(object_id))
        finally:
            connection.close()
    except pyodbc.Error as error:
        raise store_error(error, fault_of(error)) from error


def role_batches(schema_name: str) -> list[str]:
    """
    The statements of `permissions.sql` for a schema; a part that holds comments only is left out.
    """
    from chokaq_core.stores.sqlserver.batches import in_schema  # noqa: PLC0415 - needs the driver manager

    parts = re.split(r"^GO\s*$", in_schema(PERMISSIONS.read_text(encoding="utf-8"), schema_name), flags=re.MULTILINE)
    return [part.strip() for part in parts if re.search(r"^(?!--)\S", part, re.MULTILINE)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.hooks.grant")
    parser.add_argument("name", metavar="NAME", help="name of the identity")
    parser.add_argument("object_id", metavar="OBJECT_ID", type=uuid.UUID, help="its object (principal) id")
    return parser


if __name__ == "__main__":
    sys.exit(main())
