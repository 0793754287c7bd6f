"""
Every panel shows what it is for, in both themes, on large and small screens, and to people who cannot see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.deck.conftest import OpenDeck
from tests.support import axe
from tests.support.absent import Thing, without

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

THEMES = ("blueprint", "carbon")
PLACES = {
    "overview": ("Throughput", "All time: ", "Worker", "reports", "ConnectionResetError"),
    "active": ("report.csv.v1", "report-00799"),
    "archive": ("email.send.v1", "mail-archived-05599"),
    "dlq?queue=billing": ("invoice.send.v1", "ConnectionResetError"),
    "dlq?queue=billing&job=invoice-00030": (
        "Timeline",
        "Attempt 1 failed",
        "9007199254741023",
        "4bf92f3577b34da6a3ce929d0e0e4736",
    ),
    "errors": ("InvoiceNotFoundError", "Show jobs"),
    "queues": ("billing", "paused", "Zombie timeout"),
    "circuits": ("All circuits",),
    "workers": ("instance-3f9c/worker-1", "Timers"),
    "log": ("Commands",),
    "console": ("Recent events",),
}

FEW_ROWS = [
    "overview",
    "active?search=report-0079",
    "archive?search=archived-0559",
    "dlq?search=invoice-0003&job=invoice-00030",
    "errors",
    "queues",
    "circuits",
    "workers",
    "log",
    "console",
]
"""The same panels with short lists: more rows of a kind only make the look for faults longer."""


@pytest.mark.parametrize("theme", THEMES)
def test_every_panel_shows_its_data(open_deck: OpenDeck, theme: str) -> None:
    screen = open_deck(theme=theme)
    assert screen.page.evaluate("document.documentElement.dataset.theme") == theme

    for place, texts in PLACES.items():
        screen.go(place)
        for text in texts:
            expect(screen.page.locator(".columns").get_by_text(text).first).to_be_visible()


def test_a_queue_that_was_paused_and_forgotten_needs_a_look(open_deck: OpenDeck) -> None:
    screen = open_deck()
    screen.go("overview")

    line = screen.page.locator("#panel-attention li").filter(has_text="hostile-paused")

    expect(line).to_contain_text("waiting in a queue that is paused")
    expect(line.get_by_role("link")).to_have_attribute("href", "#/queues")


@pytest.mark.parametrize("theme, width", [("blueprint", 1360), ("carbon", 390)])
def test_no_panel_has_a_serious_fault_of_accessibility(open_deck: OpenDeck, theme: str, width: int) -> None:
    screen = open_deck(theme=theme, width=width)
    faults = {}
    for place in FEW_ROWS:
        screen.go(place)
        faults[place] = _faults(screen.page)
    screen.go("dlq?search=invoice-00031&job=invoice-00031")
    screen.drawer.get_by_role("button", name="Edit and resurrect").click()
    faults["edit"] = _faults(screen.page)
    screen.dialog.get_by_label("Tags").fill("other")
    screen.press("Preview")
    expect(screen.dialog.get_by_text("would be changed")).to_be_visible()
    faults["preview"] = _faults(screen.page)
    screen.press("Close dialog")
    screen.page.evaluate("document.querySelector('.help').click()")
    faults["help"] = _faults(screen.page)
    screen.press("Close dialog")
    screen.drawer.get_by_role("button", name="Close job").click()
    screen.page.get_by_role("button", name="Sign out").click()
    faults["sign-in"] = _faults(screen.page)

    assert {place: found for place, found in faults.items() if found} == {}


def test_a_small_screen_needs_no_scrolling_sideways(open_deck: OpenDeck) -> None:
    screen = open_deck(width=390)
    widths = {}
    for place in PLACES:
        screen.go(place)
        widths[place] = screen.page.evaluate("document.documentElement.scrollWidth")

    assert {place: width for place, width in widths.items() if width > 390} == {}


def test_filters_and_rows_keep_to_their_room_beside_an_open_job(open_deck: OpenDeck) -> None:
    screen = open_deck()
    job_id = screen.host.post("/api/jobs", {"type": "failing.v1", "payload": {}}).json()["id"]
    screen.wait_for_job(job_id, pillar="dlq")

    screen.go(f"dlq?type=failing.v1&job={job_id}")

    expect(screen.row("dlq jobs", job_id)).to_be_visible()
    assert screen.page.evaluate(_TOO_WIDE) == []


def test_the_theme_can_be_changed_and_is_remembered(open_deck: OpenDeck) -> None:
    page = open_deck().page
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)

    page.get_by_role("button", name="Use the Carbon theme").click()

    assert page.evaluate("localStorage.getItem('chokaq.deck.theme')") == "carbon"
    assert page.evaluate(ground) != before


def test_times_are_local_and_show_utc_on_hover(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?queue=billing&job=invoice-00032")
    failed_at = screen.job("invoice-00032")["ended_at"]

    shown = screen.drawer.locator(f'time[datetime="{failed_at}"]').first

    expect(shown).to_have_attribute("title", failed_at.replace("T", " ").replace("Z", "") + " UTC")
    expect(shown).to_have_text(failed_at[11:19] if _is_utc(screen.page) else screen.page.evaluate(_LOCAL, failed_at))


def test_the_chart_tells_in_words_what_it_draws(open_deck: OpenDeck) -> None:
    page = open_deck().page

    expect(page.get_by_role("img", name="The last five minutes")).to_be_visible()
    assert page.locator(".chart rect").count() == 120


_TOO_WIDE = """
    [...document.querySelectorAll('.panels > .scroll, .more .field')]
        .filter(part => part.scrollWidth > part.clientWidth).map(part => part.innerText)
"""
_LOCAL = "at => new Date(at).toLocaleTimeString('en-GB')"


def _is_utc(page: Page) -> bool:
    return bool(page.evaluate("new Date().getTimezoneOffset() === 0"))


def _faults(page: Page) -> list[str]:
    if not axe.is_installed():
        without(Thing.BROWSER, "axe-core is not installed: make test-tools")
    page.evaluate(axe.SCRIPT.read_text(encoding="utf-8"))
    rules = "{ resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }"
    found = page.evaluate(f"axe.run(document, {rules})")
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]
