"""
Texts from jobs that would like to be script: they show as they are, everywhere, and nothing of them runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.deck.apps import OPERATE_KEY
from tests.deck.conftest import OpenDeck
from tests.support.deck_jobs import BIG, HOSTILE

if TYPE_CHECKING:
    from tests.deck.screen import Screen

pytestmark = [pytest.mark.browser, pytest.mark.case("C-045")]


def assert_harmless(screen: Screen) -> None:
    """
    Nothing ran, nothing became an element, no link leads out of the page.
    """
    page = screen.page
    assert page.evaluate("window.__x") is None
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert page.evaluate("document.querySelectorAll('img:not(.brand img), iframe, object, [onerror]').length") == 0
    links = page.evaluate(
        "[...document.querySelectorAll('[href], [src]')].map(e => e.getAttribute('href') ?? e.getAttribute('src'))"
    )
    assert [link for link in links if not link.startswith(("#", "deck/assets/"))] == []


def test_lists_groups_and_logs_show_the_texts_as_they_are(open_deck: OpenDeck) -> None:
    screen = open_deck()
    for place in ("dlq?queue=hostile", "active?queue=hostile-paused"):
        screen.go(place)
        for text in HOSTILE:
            expect(screen.page.get_by_role("link", name=text, exact=True)).to_be_visible()
        assert_harmless(screen)
    screen.go("errors")
    expect(screen.page.get_by_text("<script>window.__x=1</script>Error").first).to_be_visible()
    assert_harmless(screen)
    screen.go("overview")
    assert_harmless(screen)


@pytest.mark.parametrize("theme", ["blueprint", "carbon"])
def test_a_job_shows_its_texts_as_they_are(open_deck: OpenDeck, theme: str) -> None:
    screen = open_deck(theme=theme)
    for number, text in enumerate(HOSTILE):
        screen.open_job("dlq", f"hostile-{number}")
        expect(screen.drawer.get_by_role("heading", name=text, exact=True)).to_be_visible()
        quoted = json.dumps(text)
        expect(screen.drawer.locator(".json")).to_contain_text(f"{quoted}: {quoted}")
        expect(screen.drawer.locator(".json")).to_contain_text(str(BIG))
        screen.drawer.get_by_text("Traceback", exact=True).click()
        expect(screen.drawer.get_by_label("Traceback")).to_contain_text(text)
        assert_harmless(screen)


def test_an_edit_form_gives_every_text_back_exactly(open_deck: OpenDeck) -> None:
    screen = open_deck()
    for number in range(len(HOSTILE)):
        job_id = f"hostile-{100 + number}"
        before = screen.job(job_id)
        screen.open_job("active", job_id)
        screen.drawer.get_by_role("button", name="Edit", exact=True).click()
        box = screen.dialog.get_by_label("Payload")
        assert json.loads(box.input_value()) == json.loads(before["payload"])
        assert screen.dialog.get_by_label("Tags").input_value() == before["tags"]
        assert_harmless(screen)
        screen.press("Close dialog")


def test_the_address_cannot_smuggle_anything_in(open_deck: OpenDeck) -> None:
    screen = open_deck()
    for text in HOSTILE:
        query = httpx.QueryParams({"job": text, "search": text, "queue": text, "order": text, "cursor": text})
        screen.page.evaluate("hash => { location.hash = hash }", f"#/dlq?{query}")
        expect(screen.page.get_by_role("alert")).to_be_visible()
        expect(screen.page.get_by_label("Search")).to_have_value(text)
        assert_harmless(screen)


def test_faults_that_quote_a_text_show_it_as_it_is(open_deck: OpenDeck) -> None:
    screen = open_deck()
    text = HOSTILE[0]
    screen.open_job("dlq", "invoice-00050")
    screen.drawer.get_by_role("button", name="Edit", exact=True).click()
    screen.dialog.get_by_label("Priority").fill(text)
    screen.press("Preview")
    expect(screen.dialog.get_by_role("alert")).to_contain_text("priority")
    expect(screen.dialog.get_by_label("Priority")).to_have_value(text)
    assert_harmless(screen)


def test_data_routes_answer_nothing_that_a_browser_takes_for_a_page(open_deck: OpenDeck) -> None:
    screen = open_deck()
    for path in ("jobs/hostile-0", "jobs?pillar=dlq&queue=hostile", "errors", "log", "events"):
        answer = httpx.get(screen.host.url(f"/api/deck/{path}"), headers={"X-ChokaQ-Key": OPERATE_KEY}, timeout=60)
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.headers["x-content-type-options"] == "nosniff"
