"""
Where the SQL Server store connects, as whom, and how patiently.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from chokaq_core.domain.secret import Secret
from chokaq_core.domain.value import Value


class Authentication(StrEnum):
    """
    Who logs in. All but the first two take a token from Microsoft Entra ID.
    """

    SQL_LOGIN = "sql_login"
    INTEGRATED = "integrated"
    ENTRA_DEFAULT = "entra_default"
    ENTRA_MANAGED_IDENTITY = "entra_managed_identity"
    ENTRA_SERVICE_PRINCIPAL = "entra_service_principal"
    ENTRA_WORKLOAD_IDENTITY = "entra_workload_identity"

    @property
    def needs_token(self) -> bool:
        """
        Whether the login takes a token; such a connection must not name user, password or Trusted_Connection.
        """
        return self not in (Authentication.SQL_LOGIN, Authentication.INTEGRATED)


class Encryption(StrEnum):
    """
    ODBC's words for the encryption of a connection.
    """

    YES = "yes"
    NO = "no"
    STRICT = "strict"


class SqlServerConnection(Value):
    r"""
    One connection string, whichever spelling it had.

    Attributes:
        server: host, with `\instance` where one is named; no protocol, no port.
        user: login name, or the client id of an identity or service principal.
        password: the login's password or the service principal's secret.
        driver: the ODBC driver that the string asks for; None leaves the choice to the store.
        further: ODBC keywords and values that are passed on as they are.
        notes: keywords of the string that have no effect here.
    """

    server: str
    port: int | None
    database: str
    authentication: Authentication
    user: str | None = None
    password: Secret | None = None
    encrypt: Encryption = Encryption.YES
    trust_server_certificate: bool = False
    connect_timeout: timedelta = timedelta(seconds=30)
    application_name: str = "ChokaQ"
    driver: str | None = None
    further: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


class SqlServerSettings(Value):
    """
    The settings of section `SqlServer` that the store takes.

    Attributes:
        auto_create: whether missing tables may be made and migrations applied.
        command_timeout: bound on one statement.
        max_transient_retries: repetitions of one store call after transient errors.
        transient_retry_base_delay: pause before the first of them.
    """

    connection: SqlServerConnection
    schema_name: str = "chokaq"
    auto_create: bool = False
    command_timeout: timedelta = timedelta(seconds=30)
    max_transient_retries: int = 3
    transient_retry_base_delay: timedelta = timedelta(milliseconds=200)
