"""
The browser of the machine, which drives the Deck: Chromium or Chrome, started by Playwright.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.support.absent import Thing, without

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


def start_browser(playwright: Playwright) -> Browser:
    """
    Starts the browser; skips the test where there is none, unless REQUIRE_BROWSER says that there must be one.
    """
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        reason = f"no browser is installed here; looked for {', '.join(NAMES)} (Debian: apt-get install chromium)"
        without(Thing.BROWSER, reason)
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
