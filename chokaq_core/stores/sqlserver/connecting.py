"""
Opening a connection: driver, login, token, and the session's settings.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from chokaq_core.policy.sqlserver import Authentication
from chokaq_core.stores.sqlserver.drivers import carried_driver, choose_driver
from chokaq_core.stores.sqlserver.odbc import pyodbc
from chokaq_core.stores.sqlserver.tokens import credential_for, token_attribute

if TYPE_CHECKING:
    from datetime import timedelta

    from chokaq_core.policy.sqlserver import SqlServerConnection
    from chokaq_core.stores.sqlserver.tokens import Credential

SETTINGS = """
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT {lock_timeout};
SELECT LEN(N'\U0001f680' COLLATE Latin1_General_100_BIN2) AS Units;
"""
"""
One round trip at login. Locks are waited for half as long as a command may take, so that a lock that is not granted
shows as 1222 and not as a timeout. The answer tells how many units a character beyond the basic plane counts.
"""

_LARGEST_DIRECT_VALUE = 2**30
"""Below it pyodbc binds a text directly; sending it in pieces costs a further round trip."""


class Connector:
    """
    Opens connections to one server, as one identity.

    Args:
        connection: where and as whom.
        credential: who asks for tokens; None makes the one that the connection string asks for.
    """

    def __init__(self, connection: SqlServerConnection, credential: Credential | None = None) -> None:
        self._connection = connection
        self._credential = credential
        self._lock = threading.Lock()
        self._odbc: str | None = None

    def connect(self, login_timeout: timedelta, command_timeout: timedelta) -> tuple[pyodbc.Connection, int]:
        """
        A new connection with its settings made, and how many units a character beyond the basic plane counts.

        Raises:
            StoreRefusedError: no driver, or no identity.
            pyodbc.Error: what the driver says.
        """
        opened = pyodbc.connect(
            self._odbc_string(pyodbc.drivers()),
            autocommit=True,
            timeout=whole_seconds(min(login_timeout, self._connection.connect_timeout)),
            attrs_before=self._attributes(),
        )
        try:
            opened.timeout = whole_seconds(command_timeout)
            opened.maxwrite = _LARGEST_DIRECT_VALUE
            lock_timeout = int(command_timeout.total_seconds() * 500)
            row = opened.execute(SETTINGS.format(lock_timeout=lock_timeout)).fetchone()
            return opened, int(row[0]) if row is not None else 1
        except BaseException:
            opened.close()
            raise

    def _odbc_string(self, installed: list[str]) -> str:
        with self._lock:
            if self._odbc is None:
                driver = choose_driver(self._connection.driver, installed, carried_driver())
                self._odbc = odbc_string(self._connection, driver)
            return self._odbc

    def _attributes(self) -> dict[int, bytes]:
        if not self._connection.authentication.needs_token:
            return {}
        with self._lock:
            if self._credential is None:
                self._credential = credential_for(self._connection)
            credential = self._credential
        return token_attribute(credential)


def whole_seconds(span: timedelta) -> int:
    """
    A duration in the whole seconds that ODBC counts in, at least one: zero would mean "for ever".
    """
    return max(1, math.ceil(span.total_seconds()))


def odbc_string(connection: SqlServerConnection, driver: str) -> str:
    """
    The connection string for the ODBC driver. It may hold a password: it is never logged, and errors do not repeat it.
    """
    address = f"tcp:{connection.server}" + (f",{connection.port}" if connection.port is not None else "")
    words = {
        "Driver": driver,
        "Server": address,
        "Database": connection.database,
        "Encrypt": str(connection.encrypt),
        "TrustServerCertificate": "yes" if connection.trust_server_certificate else "no",
        "APP": connection.application_name,
        # A connection that the driver restores by itself has forgotten the statements that were prepared on it.
        "ConnectRetryCount": "0",
        **dict(connection.further),
        **_login(connection),
    }
    return ";".join(f"{name}={_enclosed(value)}" for name, value in words.items())


def _login(connection: SqlServerConnection) -> dict[str, str]:
    """
    User and password, unless a token or the process's own identity logs in: the driver refuses them beside a token.
    """
    match connection.authentication:
        case Authentication.SQL_LOGIN:
            password = connection.password.reveal() if connection.password is not None else ""
            return {"UID": connection.user or "", "PWD": password}
        case Authentication.INTEGRATED:
            return {"Trusted_Connection": "yes"}
        case _:
            return {}


def _enclosed(value: str) -> str:
    return "{" + value.replace("}", "}}") + "}"
