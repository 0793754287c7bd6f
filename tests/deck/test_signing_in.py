"""
Who gets in, and what becomes of the key.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.deck.apps import OPERATE_KEY, READ_KEY
from tests.deck.conftest import OpenDeck

pytestmark = pytest.mark.browser


def test_a_stranger_is_asked_for_a_key_and_sees_no_data(open_deck: OpenDeck) -> None:
    page = open_deck(key=None).page

    expect(page.get_by_label("Deck key")).to_be_visible()
    expect(page.get_by_role("navigation", name="Panels")).to_have_count(0)


def test_a_wrong_key_is_refused_and_not_kept(open_deck: OpenDeck) -> None:
    page = open_deck(key=None).page

    page.get_by_label("Deck key").fill("wrong-" + "w" * 40)
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_have_text("This is not a key of the Deck.")
    assert page.evaluate("sessionStorage.length") == 0


def test_a_key_is_kept_for_the_tab_only(open_deck: OpenDeck) -> None:
    page = open_deck(key=None).page

    page.get_by_label("Deck key").fill(OPERATE_KEY)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()

    assert page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])").find("ooooo") == -1
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    other_tab = page.context.new_page()
    other_tab.goto(page.url)
    expect(other_tab.get_by_label("Deck key")).to_be_visible()


def test_a_key_in_a_link_is_taken_and_removed_from_the_address(open_deck: OpenDeck) -> None:
    page = open_deck().page

    expect(page.get_by_text("operate-key")).to_be_visible()
    assert OPERATE_KEY not in page.url
    page.go_back()
    assert OPERATE_KEY not in page.url


def test_signing_out_forgets_the_key_and_all_data(open_deck: OpenDeck) -> None:
    page = open_deck("dlq").page

    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_label("Deck key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    expect(page.get_by_role("table")).to_have_count(0)


def test_a_reader_sees_everything_and_is_offered_no_command(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?job=invoice-00020", key=READ_KEY)

    expect(screen.drawer.get_by_role("heading", name="Payload")).to_be_visible()
    expect(screen.page.get_by_role("checkbox")).to_have_count(0)
    expect(screen.page.get_by_text("Act on all")).to_have_count(0)
    expect(screen.page.get_by_role("button", name="Resurrect")).to_have_count(0)
    screen.go("queues")
    expect(screen.row("Queues", "billing")).to_be_visible()
    expect(screen.page.get_by_role("button", name="Pause")).to_have_count(0)


def test_access_that_ends_leads_back_to_the_sign_in(open_deck: OpenDeck) -> None:
    page = open_deck().page

    page.evaluate("sessionStorage.setItem('chokaq.deck.key', 'changed-meanwhile')")

    expect(page.get_by_role("alert")).to_have_text("Your access has ended. Sign in again.")
