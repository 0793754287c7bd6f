"""
The browser of the machine, which drives the Deck: Chromium or Chrome, started by Playwright.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Fit for a container, and silent towards the network.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def is_required() -> bool:
    """
    Whether tests that need a browser fail instead of being skipped.
    """
    return os.environ.get("REQUIRE_BROWSER") == "1"


def start_browser(playwright: Playwright) -> Browser:
    """
    Starts the browser; skips the test where there is none, unless REQUIRE_BROWSER says that there must be one.
    """
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        reason = f"no browser is installed here; looked for {', '.join(NAMES)} (Debian: apt-get install chromium)"
        if is_required():
            pytest.fail(reason)
        pytest.skip(reason)
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
