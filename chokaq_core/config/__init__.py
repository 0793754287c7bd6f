"""
Configuration: every setting, declared once, checked at start, refused by name.
"""

from __future__ import annotations

from chokaq_core.config.host import is_in_azure
from chokaq_core.config.load import load_settings
from chokaq_core.config.schedules import Schedules, schedules_of
from chokaq_core.config.settings import DeckSettings, Effective, FunctionsSettings, Settings
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.sqlserver import SqlServerConnection, SqlServerSettings

__all__ = [
    "DeckSettings",
    "Effective",
    "FunctionsSettings",
    "Schedules",
    "Secret",
    "Settings",
    "SqlServerConnection",
    "SqlServerSettings",
    "is_in_azure",
    "load_settings",
    "schedules_of",
]
