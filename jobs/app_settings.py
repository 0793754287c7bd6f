"""
Reads what the handlers need from the app settings, which Python sees as environment variables.

Settings are read while a handler runs, not at import: a handler must never keep an app from starting.
"""

from __future__ import annotations

import os

from chokaq_core.contracts import FatalJobError

_UNRESOLVED_REFERENCES = ("@microsoft.keyvault(", "@microsoft.appconfiguration(")


def app_setting(name: str, default: str = "") -> str:
    """
    The setting's value; the default when it is absent or blank.

    Raises:
        FatalJobError: the platform could not resolve the setting's Key Vault or App Configuration reference; without
            this check the text of the reference would be used as the password.
    """
    value = os.environ.get(name, "")
    if value.lower().lstrip().startswith(_UNRESOLVED_REFERENCES):
        raise FatalJobError(
            f"app setting {name} is an unresolved reference; check the app's identity and its role on the vault"
        )
    return value if value.strip() else default
