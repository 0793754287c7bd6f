"""
The one list of all settings. A setting that is not here does not exist.
"""

from __future__ import annotations

from chokaq_core.config.catalog.accepting import ACCEPTING
from chokaq_core.config.catalog.hosting import HOSTING
from chokaq_core.config.catalog.limiting import LIMITING, QUEUES
from chokaq_core.config.catalog.running import RUNNING
from chokaq_core.config.catalog.storing import STORING
from chokaq_core.config.catalog.watching import WATCHING
from chokaq_core.config.setting import Section, Setting

SECTIONS: tuple[Section, ...] = (*RUNNING, *LIMITING, QUEUES, *ACCEPTING, *STORING, *WATCHING, *HOSTING)
"""Every section, in the order of the documentation."""

SETTINGS: tuple[Setting, ...] = tuple(
    setting for section in SECTIONS if section is not QUEUES for setting in section.settings
)
"""Every setting that exists once."""

QUEUE_SETTINGS: tuple[Setting, ...] = QUEUES.settings
"""The settings that each queue may have; `{queue}` in the name stands for the queue's."""

OLD_NAMES = {"MaxRetries": "Retry.MaxAttempts"}
"""Names of earlier versions, and what they are called now."""
