"""
The sample settings files, made from the list of settings.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from chokaq_core.config.names import of_queue
from chokaq_core.config.setting import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chokaq_core.config.setting import Setting

SAMPLE_QUEUE = "reports"

_FILE_VALUES: Mapping[str, object] = {
    "Queues.reports.ExecutionTimeout": "01:00:00",
    "SqlServer.ConnectionString": (
        "Server=localhost;Database=ChokaQ;Trusted_Connection=True;TrustServerCertificate=True;"
    ),
}
"""Where the sample of `appsettings.json` shows something else than the default."""

_LOCAL_VALUES: Mapping[str, str] = {
    "Queues.reports.ExecutionTimeout": "01:00:00",
    "Sqlite.Path": ".chokaq/jobs.db",
    "Deck.AllowAnonymous": "true",
}
"""The same for a developer's machine, where jobs should survive a restart and the Deck be open."""

_LOCAL_PLATFORM = {"FUNCTIONS_WORKER_RUNTIME": "python", "AzureWebJobsStorage": "UseDevelopmentStorage=true"}


def file_sample() -> str:
    """
    `appsettings.json` with every setting.
    """
    sections: dict[str, dict[str, Any]] = {}
    for setting in _all_settings():
        section, *queue, last = setting.name.split(".")
        here = sections.setdefault(section, {})
        for name in queue:
            here = here.setdefault(name, {})
        here[last] = _FILE_VALUES.get(setting.name, setting.as_json(setting.default))
    return _json({ROOT: sections})


def local_sample() -> str:
    """
    `local.settings.json`, Core Tools' file, with every setting but the connection string.

    Its absence chooses the embedded store.
    """
    values = {
        setting.environment_name: _LOCAL_VALUES.get(setting.name, _as_text(setting))
        for setting in _all_settings()
        if setting.default is not None or setting.null is not None
    }
    return _json({"IsEncrypted": False, "Values": _LOCAL_PLATFORM | values})


def _all_settings() -> Iterator[Setting]:
    yield from SETTINGS
    yield from (of_queue(template, SAMPLE_QUEUE) for template in QUEUE_SETTINGS)


def _as_text(setting: Setting) -> str:
    if setting.default is None:
        return "" if setting.is_empty_null else "null"
    return setting.show(setting.default)


def _json(content: object) -> str:
    return json.dumps(content, indent=2) + "\n"
