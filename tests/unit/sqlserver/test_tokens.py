"""
Tokens from Microsoft Entra ID, without asking it.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from azure.identity import (
    ClientSecretCredential,
    CredentialUnavailableError,
    DefaultAzureCredential,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.sqlserver import Authentication, SqlServerConnection
from chokaq_core.stores.sqlserver.tokens import credential_for, pack_token, token_attribute


@dataclass
class FakeToken:
    token: str


@dataclass
class FakeCredential:
    answers: list[str | Exception]
    scopes: list[str] = field(default_factory=list)

    def get_token(self, *scopes: str) -> FakeToken:
        self.scopes.extend(scopes)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return FakeToken(answer)


def _connection(
    authentication: Authentication, user: str | None = None, password: str | None = None
) -> SqlServerConnection:
    secret = Secret(password) if password is not None else None
    return SqlServerConnection("s", None, "d", authentication, user=user, password=secret)


def test_a_token_is_packed_as_utf_16_behind_its_length_in_bytes() -> None:
    assert pack_token("ey1") == b"\x06\x00\x00\x00e\x00y\x001\x00"


def test_every_login_asks_the_credential_which_renews_the_token_by_itself() -> None:
    credential = FakeCredential(["a", "b"])

    assert token_attribute(credential) == {1256: b"\x02\x00\x00\x00a\x00"}
    assert token_attribute(credential) == {1256: b"\x02\x00\x00\x00b\x00"}
    assert credential.scopes == ["https://database.windows.net/.default"] * 2


@pytest.mark.parametrize(
    "fault,expected",
    [
        (ClientAuthenticationError("no"), StoreRefusedError),
        (CredentialUnavailableError("no"), StoreUnavailableError),
        (ServiceRequestError("no"), StoreUnavailableError),
        (OSError("no"), StoreUnavailableError),
    ],
)
def test_a_refused_identity_needs_a_person_and_an_absent_answer_patience(
    fault: Exception, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        token_attribute(FakeCredential([fault]))


def test_each_authentication_has_its_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"):
        monkeypatch.setenv(name, "00000000-0000-0000-0000-000000000000")
    found = {a: type(credential_for(_connection(a, "id@tenant", "secret"))) for a in Authentication if a.needs_token}

    assert found == {
        Authentication.ENTRA_DEFAULT: DefaultAzureCredential,
        Authentication.ENTRA_MANAGED_IDENTITY: ManagedIdentityCredential,
        Authentication.ENTRA_SERVICE_PRINCIPAL: ClientSecretCredential,
        Authentication.ENTRA_WORKLOAD_IDENTITY: WorkloadIdentityCredential,
    }


def test_an_identity_need_not_be_named() -> None:
    assert isinstance(credential_for(_connection(Authentication.ENTRA_MANAGED_IDENTITY)), ManagedIdentityCredential)
    assert isinstance(credential_for(_connection(Authentication.ENTRA_DEFAULT)), DefaultAzureCredential)


def test_a_service_principal_without_its_tenant_is_refused() -> None:
    with pytest.raises(StoreRefusedError, match="<client id>@<tenant id>"):
        credential_for(_connection(Authentication.ENTRA_SERVICE_PRINCIPAL, "id", "secret"))


def test_azure_identity_is_imported_only_where_it_is_asked_for() -> None:
    code = (
        "import sys; import chokaq_core.stores.sqlserver; "
        "print([name for name in sys.modules if name == 'azure' or name.startswith('azure.')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
