"""
The job matrix: filters, order, pages, live rows, keys, files.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.deck.apps import OPERATE_KEY
from tests.deck.conftest import OpenDeck
from tests.deck.screen import Screen

pytestmark = pytest.mark.browser


def first_id(screen: Screen, table: str) -> str:
    """
    The id in the first row.
    """
    return screen.rows(table).first.locator(".small").first.inner_text()


def test_filters_are_kept_in_the_address(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq")
    screen.page.get_by_label("Search").fill("invoice-0010")
    screen.page.get_by_label("Reason").select_option("FatalError")
    expect(screen.page).to_have_url(re.compile(r"#/dlq\?reason=FatalError&search=invoice-0010|search=.*&reason="))

    screen.page.reload()

    expect(screen.page.get_by_label("Search")).to_have_value("invoice-0010")
    expect(screen.page.get_by_label("Reason")).to_have_value("FatalError")
    expect(screen.rows("dlq jobs")).to_have_count(2)
    expect(screen.row("dlq jobs", "invoice-00100")).to_be_visible()
    screen.page.get_by_role("button", name="Clear filters").click()
    expect(screen.rows("dlq jobs")).to_have_count(50)


@pytest.mark.case("C-047")
def test_a_search_is_literal(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq")

    screen.page.get_by_label("Search").fill("invoice-000%")

    expect(screen.page.get_by_text("No job is like that.")).to_be_visible()


def test_the_order_can_be_turned_around(open_deck: OpenDeck) -> None:
    screen = open_deck("archive")
    newest = first_id(screen, "archive jobs")

    screen.page.get_by_role("button", name="Finished").click()

    expect(screen.page.get_by_role("columnheader", name="Finished")).to_have_attribute("aria-sort", "ascending")
    expect(screen.rows("archive jobs").first).not_to_contain_text(newest)
    assert "order=oldest" in screen.page.url


def test_pages_lead_on_and_back(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?queue=billing&order=oldest")
    first = first_id(screen, "dlq jobs")

    screen.page.get_by_role("button", name="Next").click()
    expect(screen.rows("dlq jobs").first).not_to_contain_text(first)
    second = first_id(screen, "dlq jobs")
    screen.page.get_by_role("button", name="Next").click()
    expect(screen.rows("dlq jobs").first).not_to_contain_text(second)
    screen.page.get_by_role("button", name="Previous").click()

    expect(screen.rows("dlq jobs").first).to_contain_text(second)
    screen.page.get_by_role("button", name="First page").click()
    expect(screen.rows("dlq jobs").first).to_contain_text(first)


def test_what_is_far_down_the_list_is_found_by_looking_further(open_deck: OpenDeck) -> None:
    screen = open_deck("archive?search=early")
    expect(screen.page.get_by_text("None on this part of the list")).to_be_visible()

    screen.page.get_by_role("button", name="Look further").click()

    expect(screen.rows("archive jobs")).to_have_count(20)
    expect(screen.row("archive jobs", "mail-early-00019")).to_be_visible()
    screen.page.get_by_role("button", name="Previous").click()
    expect(screen.page.get_by_text("None on this part of the list")).to_be_visible()


def test_looking_further_in_vain_ends_at_the_end(open_deck: OpenDeck) -> None:
    screen = open_deck("archive?search=nowhere")

    screen.page.get_by_role("button", name="Look further").click()

    expect(screen.page.get_by_text("No job is like that.")).to_be_visible()


def test_progress_shows_and_a_job_that_ends_leaves_the_list_by_itself(open_deck: OpenDeck) -> None:
    screen = open_deck("active?search=live-1")
    expect(screen.page.get_by_text("No job is like that.")).to_be_visible()

    screen.host.post("/api/jobs", {"type": "slow.v1", "payload": {}, "id": "live-1"})

    row = screen.row("active jobs", "live-1")
    expect(row.get_by_text("processing")).to_be_visible()
    expect(row.get_by_text("42 %")).to_be_visible()
    expect(row.get_by_text("row 42 of 100")).to_be_visible()
    screen.open_job("active", "live-1")
    expect(screen.drawer.get_by_role("progressbar")).to_have_attribute("value", "42")
    screen.drawer.get_by_role("button", name="Cancel").click()
    screen.press("Cancel 1 job")
    expect(screen.drawer.locator(".chip").get_by_text("cancelled", exact=True)).to_be_visible()


def test_the_list_and_the_detail_work_by_keys_alone(open_deck: OpenDeck) -> None:
    screen = open_deck()
    keys = screen.page.keyboard
    keys.press("g")
    keys.press("d")
    expect(screen.page.get_by_role("heading", name="DLQ")).to_be_visible()
    expect(screen.rows("dlq jobs").first).to_be_visible()
    keys.press("/")
    keys.type("invoice-0050")
    expect(screen.rows("dlq jobs")).to_have_count(10)
    keys.press("Escape")

    keys.press("j")
    keys.press("j")
    keys.press("x")
    expect(screen.page.get_by_text("1 selected")).to_be_visible()
    keys.press("Enter")
    expect(screen.drawer.get_by_text("invoice-00508").first).to_be_visible()
    assert screen.page.evaluate("document.activeElement.id") == "drawer"
    keys.press("j")
    expect(screen.drawer.get_by_text("invoice-00507").first).to_be_visible()
    keys.press("Escape")
    expect(screen.drawer).to_have_count(0)
    assert screen.page.evaluate("document.activeElement.closest('tr').dataset.key") == "invoice-00507"


def test_single_keys_can_be_turned_off(open_deck: OpenDeck) -> None:
    screen = open_deck()
    screen.page.keyboard.press("?")
    screen.dialog.get_by_role("checkbox").uncheck()
    screen.page.keyboard.press("Escape")

    screen.page.keyboard.press("t")

    assert screen.page.evaluate("document.documentElement.dataset.theme") == "blueprint"


def test_a_focused_row_keeps_its_focus_while_the_list_is_refreshed(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?search=invoice-0060")
    expect(screen.rows("dlq jobs")).to_have_count(10)
    screen.page.keyboard.press("j")

    with screen.page.expect_response(re.compile("deck/jobs")):
        screen.page.keyboard.press("u")
    with screen.page.expect_response(re.compile("deck/jobs")):
        screen.page.keyboard.press("u")

    assert screen.page.evaluate("document.activeElement.closest('tr').dataset.key") == "invoice-00609"


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_filtered_list_can_be_had_as_a_file(open_deck: OpenDeck, tmp_path: Path, form: str) -> None:
    screen = open_deck("dlq?search=invoice-0070")
    expect(screen.rows("dlq jobs")).to_have_count(10)

    with screen.page.expect_download() as waiting:
        screen.page.get_by_role("button", name=f"Export as {form.upper()}").click()
    waiting.value.save_as(tmp_path / "file")

    assert waiting.value.suggested_filename == f"chokaq-dlq.{form}"
    text = (tmp_path / "file").read_text(encoding="utf-8")
    jobs = list(csv.DictReader(text.splitlines())) if form == "csv" else json.loads(text)
    assert [job["id"] for job in jobs] == [f"invoice-00{number}" for number in range(709, 699, -1)]
    assert OPERATE_KEY not in waiting.value.url
