"""
Tokens from Microsoft Entra ID for connections that log in with one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Protocol

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.policy.sqlserver import Authentication

if TYPE_CHECKING:
    from chokaq_core.policy.sqlserver import SqlServerConnection

ACCESS_TOKEN = 1256
"""SQL_COPT_SS_ACCESS_TOKEN of Microsoft's ODBC driver."""

SCOPE = "https://database.windows.net/.default"


class AccessToken(Protocol):
    """
    What a credential answers.
    """

    @property
    def token(self) -> str:
        """
        The token itself.
        """


class Credential(Protocol):
    """
    What asks for tokens. azure-identity's keep a token until shortly before it expires, then ask for another.
    """

    def get_token(self, *scopes: str) -> AccessToken:
        """
        A token for a scope.
        """


def pack_token(token: str) -> bytes:
    """
    A token as the driver takes it: UTF-16, little endian, its length in bytes before it.
    """
    raw = token.encode("utf-16-le")
    return struct.pack(f"<I{len(raw)}s", len(raw), raw)


def token_attribute(credential: Credential) -> dict[int, bytes]:
    """
    The attribute to connect with. Asked for at every login, so that no connection starts with a stale token.

    Raises:
        StoreRefusedError: Entra ID refused the identity.
        StoreUnavailableError: no token now.
    """
    from azure.core.exceptions import AzureError, ClientAuthenticationError  # noqa: PLC0415 - only where Entra is used
    from azure.identity import CredentialUnavailableError  # noqa: PLC0415 - the same

    try:
        return {ACCESS_TOKEN: pack_token(credential.get_token(SCOPE).token)}
    except CredentialUnavailableError as error:
        msg = "no identity answered the request for a token; is a managed identity assigned?"
        raise StoreUnavailableError(msg) from error
    except ClientAuthenticationError as error:
        msg = "Microsoft Entra ID refused the identity; look at its client id, secret and role in the database"
        raise StoreRefusedError(msg) from error
    except (AzureError, OSError) as error:
        msg = "Microsoft Entra ID could not be reached for a token"
        raise StoreUnavailableError(msg) from error


def credential_for(connection: SqlServerConnection) -> Credential:
    """
    The credential that the connection string asks for. azure-identity is imported here and nowhere else.

    Raises:
        StoreRefusedError: a service principal without its tenant.
    """
    from azure import identity  # noqa: PLC0415 - only where Entra is used

    match connection.authentication:
        case Authentication.ENTRA_MANAGED_IDENTITY:
            return identity.ManagedIdentityCredential(client_id=connection.user)
        case Authentication.ENTRA_WORKLOAD_IDENTITY:
            return identity.WorkloadIdentityCredential(**({"client_id": connection.user} if connection.user else {}))
        case Authentication.ENTRA_SERVICE_PRINCIPAL:
            return _service_principal(connection)
        case _:
            named = {"managed_identity_client_id": connection.user} if connection.user else {}
            return identity.DefaultAzureCredential(**named)


def _service_principal(connection: SqlServerConnection) -> Credential:
    from azure.identity import ClientSecretCredential  # noqa: PLC0415 - only where Entra is used

    client, _, tenant = (connection.user or "").partition("@")
    if not tenant or connection.password is None:
        msg = "a service principal needs its tenant; write User ID=<client id>@<tenant id> in the connection string"
        raise StoreRefusedError(msg)
    return ClientSecretCredential(tenant, client, connection.password.reveal())
