"""
What the platform says: whether this is Azure, and what host.json asks of the Functions host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.config.sources import leaves, read_members

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOST_FILE = "host.json"

_AZURE_VARIABLES = ("WEBSITE_INSTANCE_ID", "WEBSITE_POD_NAME", "WEBSITE_SITE_NAME", "CONTAINER_APP_NAME")
_OVERRIDE_PREFIX = "azurefunctionsjobhost:"


def is_in_azure(environ: Mapping[str, str]) -> bool:
    """
    Whether the process runs in Azure, by variables that only the platform sets.

    The Functions host itself looks at WEBSITE_INSTANCE_ID (`EnvironmentExtensions.IsAppService` in
    Azure/azure-functions-host); the Consumption plans on Linux lack it and name the pod and the site, Container Apps
    names the app. Core Tools set none of them: they mark themselves with WEBSITE_HOSTNAME and
    FUNCTIONS_CORETOOLS_ENVIRONMENT, which therefore do not count.
    """
    return any(environ.get(name) for name in _AZURE_VARIABLES)


def host_options(folder: Path, environ: Mapping[str, str]) -> dict[str, object] | None:
    """
    The options of host.json by their path in lower case, such as `extensions:queues:batchsize`; None without a file.

    App settings `AzureFunctionsJobHost__…` go before the file, as they do for the host.

    Raises:
        FileError: the file cannot be read as a JSON object.
    """
    members = read_members(folder / HOST_FILE)
    if members is None:
        return None
    options = {":".join(path).lower(): value for path, value in leaves(members)}
    return options | _overrides(environ)


def _overrides(environ: Mapping[str, str]) -> dict[str, object]:
    keys = {variable.replace("__", ":").lower(): value for variable, value in environ.items()}
    return {
        key.removeprefix(_OVERRIDE_PREFIX): value for key, value in keys.items() if key.startswith(_OVERRIDE_PREFIX)
    }
