from __future__ import annotations

import pytest

from chokaq_core.contracts import FatalJobError
from chokaq_core.contracts.catalog import Catalog
from jobs import PROFILES
from jobs.app_settings import app_setting


def test_the_shipped_profiles_register_together() -> None:
    found = {registration.type_key: registration for registration in Catalog(PROFILES)}
    assert {key: (rules.queue, rules.rerun_after_loss, rules.is_async) for key, rules in found.items()} == {
        "email.send.v1": ("mail", True, False),
        "report.csv.v1": ("reports", True, False),
        "webhook.deliver.v1": ("webhooks", True, False),
    }


@pytest.mark.parametrize("value, read", [(None, "fallback"), ("", "fallback"), ("  ", "fallback"), (" x ", " x ")])
def test_an_absent_or_blank_app_setting_falls_back(
    monkeypatch: pytest.MonkeyPatch, value: str | None, read: str
) -> None:
    if value is not None:
        monkeypatch.setenv("SOME_SETTING", value)
    assert app_setting("SOME_SETTING", "fallback") == read


@pytest.mark.parametrize(
    "reference", ["@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/s)", "@MICROSOFT.APPCONFIGURATION(Key=a)"]
)
def test_an_unresolved_reference_is_never_used_as_the_value(monkeypatch: pytest.MonkeyPatch, reference: str) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", reference)
    with pytest.raises(FatalJobError, match="SMTP_PASSWORD is an unresolved reference") as raised:
        app_setting("SMTP_PASSWORD")
    assert "vault.azure.net" not in str(raised.value)
