from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.deck.apps import OPERATE_KEY, start_host
from tests.deck.screen import Screen
from tests.support.browser import start_browser
from tests.support.host_process import HostProcess

OpenDeck = Callable[..., Screen]

HANG_MS = 30_000
"""Only tells a hang from a page that is busy."""

REFUSALS = r"status of 4\d\d |net::ERR_"
"""The browser itself notes each of them in the console; no answer of 500 and above is to be seen there."""
AND_AWAY = rf"{REFUSALS}|status of 503 "
"""The same where the database is away."""

expect.set_options(timeout=HANG_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """
    One browser for all tests of this folder. It is ended with the last of them, since Playwright keeps an event loop.
    """
    with sync_playwright() as playwright:
        started = start_browser(playwright)
        yield started
        started.close()


@pytest.fixture(scope="package")
def host(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """
    A host with thousands of jobs. Each test touches only jobs and queues that it names.
    """
    started = start_host(tmp_path_factory.mktemp("deck") / "app")
    yield started
    (started.folder / "go").touch()
    assert started.stop() == 0, started.output()


@pytest.fixture
def open_deck(browser: Browser, host: HostProcess) -> Iterator[OpenDeck]:
    """
    Opens the page, signed in unless `key` is None; at the end, no script may have failed or complained.
    """
    faults: list[str] = []
    contexts = []

    def open_page(
        place: str = "overview",
        *,
        key: str | None = OPERATE_KEY,
        theme: str = "blueprint",
        width: int = 1360,
        noted: str = REFUSALS,
    ) -> Screen:
        context = browser.new_context(viewport={"width": width, "height": 860}, accept_downloads=True)
        context.set_default_timeout(HANG_MS)
        context.add_init_script(f"localStorage.setItem('chokaq.deck.theme', '{theme}')")
        contexts.append(context)
        page = context.new_page()
        _watch(page, faults, noted)
        page.goto(host.url("/api/deck") + ("" if key is None else f"#key={key}"))
        screen = Screen(page, host)
        if key is not None:
            screen.go(place)
        return screen

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def _watch(page: Page, faults: list[str], noted: str) -> None:
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if _is_fault(message, noted) else None)


def _is_fault(message: ConsoleMessage, noted: str) -> bool:
    is_noted = re.match(rf"Failed to load resource: .*({noted})", message.text) is not None
    return message.type in {"error", "warning"} and not is_noted
