"""
Every command, from the button to the database.
"""

from __future__ import annotations

import json

import httpx
import pytest
from playwright.sync_api import expect

from tests.deck.apps import OPERATE_KEY
from tests.deck.conftest import OpenDeck
from tests.support.deck_jobs import BIG

pytestmark = pytest.mark.browser

THEMES = [("blueprint", 0), ("carbon", 500)]
"""Each theme with the number from which on it has jobs of its own."""
in_both_themes = pytest.mark.parametrize("theme, first", THEMES, ids=[theme for theme, _ in THEMES])


@in_both_themes
def test_a_dead_job_is_resurrected_and_the_list_shows_it_at_once(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"invoice-{first + 40:05}"
    screen = open_deck(theme=theme)
    screen.open_job("dlq", job_id)

    screen.drawer.get_by_role("button", name="Resurrect", exact=True).click()
    expect(screen.dialog.get_by_text("Goes back to pending with fresh attempts: 1 job")).to_be_visible()
    screen.page.keyboard.press("Enter")

    expect(screen.dialog).to_have_count(0)
    screen.wait_for_job(job_id, pillar="archive")
    expect(screen.drawer.get_by_text("It is in archive now")).to_be_visible()


@in_both_themes
@pytest.mark.case("C-045")
def test_an_edit_changes_what_was_typed_and_no_other_digit(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"invoice-{first + 41:05}"
    screen = open_deck(theme=theme)
    screen.open_job("dlq", job_id)
    before = screen.job(job_id)["payload"]
    assert str(BIG + first + 41) in before

    screen.drawer.get_by_role("button", name="Edit", exact=True).click()
    box = screen.dialog.get_by_label("Payload")
    assert str(BIG + first + 41) in box.input_value()
    box.fill(box.input_value().replace(f"customer{first + 41}", "customer-x"))
    screen.press("Preview")
    screen.press("Edit 1 job")
    expect(screen.dialog).to_have_count(0)

    assert screen.job(job_id)["payload"] == before.replace(f"customer{first + 41}", "customer-x")
    expect(screen.drawer.get_by_text("customer-x")).to_be_visible()


@in_both_themes
def test_a_payload_that_is_no_json_is_refused_and_can_be_mended(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"invoice-{first + 42:05}"
    screen = open_deck(theme=theme)
    screen.open_job("dlq", job_id)
    screen.drawer.get_by_role("button", name="Edit and resurrect").click()
    screen.dialog.get_by_label("Payload").fill('{"invoice": ')
    screen.press("Preview")
    expect(screen.dialog.get_by_role("alert")).to_contain_text("payload: is not strict JSON")

    screen.dialog.get_by_label("Payload").fill(json.dumps({"invoice": 1}))
    screen.dialog.get_by_label("Tags").fill("mended")
    screen.press("Preview")
    screen.press("Edit and resurrect 1 job")
    expect(screen.dialog).to_have_count(0)

    screen.wait_for_job(job_id, pillar="archive", payload='{"invoice":1}', tags="mended")


@in_both_themes
def test_a_priority_is_set(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"report-{first + 10:05}"
    screen = open_deck(theme=theme)
    screen.open_job("active", job_id)

    screen.drawer.get_by_role("button", name="Set priority").click()
    screen.dialog.get_by_label("Priority").fill("900")
    screen.press("Preview")
    screen.press("Set priority 1 job")
    expect(screen.dialog).to_have_count(0)

    assert screen.job(job_id)["priority"] == 900


@in_both_themes
def test_a_waiting_job_is_cancelled(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"report-{first + 11:05}"
    screen = open_deck(theme=theme)
    screen.open_job("active", job_id)

    screen.drawer.get_by_role("button", name="Cancel").click()
    screen.press("Cancel 1 job")
    expect(screen.dialog).to_have_count(0)

    screen.wait_for_job(job_id, pillar="dlq", reason="Cancelled")


@in_both_themes
def test_a_purge_is_confirmed_by_typing(open_deck: OpenDeck, theme: str, first: int) -> None:
    job_id = f"invoice-{first + 43:05}"
    screen = open_deck(theme=theme)
    screen.open_job("dlq", job_id)

    screen.drawer.get_by_role("button", name="Purge").click()
    run = screen.dialog.get_by_role("button", name="Purge 1 job")
    expect(run).to_be_disabled()
    screen.dialog.get_by_label("Type purge 1 to confirm").fill("purge")
    screen.page.keyboard.press("Enter")
    expect(run).to_be_disabled()
    assert screen.job(job_id)["pillar"] == "dlq"
    screen.dialog.get_by_label("Type purge 1 to confirm").fill("purge 1")
    run.click()

    expect(screen.drawer.get_by_text(f"There is no job {job_id}.")).to_be_visible()
    assert screen.job(job_id)["status"] == 404


def test_backing_out_changes_nothing(open_deck: OpenDeck) -> None:
    screen = open_deck()
    screen.open_job("dlq", "invoice-00044")
    screen.drawer.get_by_role("button", name="Resurrect", exact=True).click()
    expect(screen.dialog.get_by_text("would be changed")).to_be_visible()

    screen.page.keyboard.press("Escape")

    expect(screen.dialog).to_have_count(0)
    assert screen.job("invoice-00044")["pillar"] == "dlq"


def test_selected_jobs_are_changed_together_and_nothing_else_is(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?search=invoice-0080")
    for job_id in ("invoice-00801", "invoice-00803"):
        screen.page.get_by_label(f"Select {job_id}").check()

    screen.page.get_by_role("button", name="Set priority the selected").click()
    screen.dialog.get_by_label("Priority").fill("77")
    screen.press("Preview")
    screen.press("Set priority 2 jobs")
    expect(screen.dialog).to_have_count(0)

    changed = [n for n in range(800, 810) if screen.job(f"invoice-00{n}")["priority"] == 77]
    assert changed == [801, 803]


def test_a_filter_of_25_and_more_needs_the_number_typed(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?search=invoice-012")
    expect(screen.page.locator("#found")).to_have_text("100 jobs")

    screen.page.get_by_text("Act on all …").click()
    screen.page.get_by_role("button", name="Purge all of these").click()
    expect(screen.dialog.get_by_text("Is deleted for good: 100 jobs")).to_be_visible()
    expect(screen.dialog.get_by_role("row")).to_have_count(11)
    screen.dialog.get_by_label("Type purge 100 to confirm").fill("purge 100")
    screen.press("Purge 100 jobs")

    expect(screen.page.get_by_text("No job is like that.")).to_be_visible()
    assert screen.job("invoice-01250")["status"] == 404


def test_a_list_of_more_than_a_thousand_is_done_part_by_part(open_deck: OpenDeck) -> None:
    screen = open_deck("archive?search=mail-archived&order=oldest")

    screen.page.get_by_text("Act on all …").click()
    screen.page.get_by_role("button", name="Purge all of these").click()
    expect(screen.dialog.get_by_text("These are the first of a longer list")).to_be_visible()
    screen.dialog.get_by_label("Type purge 1000 to confirm").fill("purge 1000")
    screen.press("Purge 1\u202f000 jobs")
    expect(screen.dialog.get_by_text("1\u202f000 jobs done, 0 skipped.")).to_be_visible()
    screen.press("Go on with the rest")

    expect(screen.dialog.get_by_text("1\u202f000 jobs would be changed.")).to_be_visible()
    screen.press("Back out")
    assert screen.job("mail-archived-00000")["status"] == 404
    assert screen.job("mail-archived-02599")["pillar"] == "archive"


def test_a_command_finds_the_few_jobs_that_are_far_down_the_list(open_deck: OpenDeck) -> None:
    screen = open_deck("archive?search=pilot")
    expect(screen.page.locator("#found")).to_have_text("0+ jobs in the newest part of the list")

    screen.page.get_by_text("Act on all …").click()
    screen.page.get_by_role("button", name="Purge all of these").click()
    expect(screen.dialog.get_by_text("Is deleted for good: 20 jobs")).to_be_visible()
    screen.dialog.get_by_label("Type purge 20 to confirm").fill("purge 20")
    screen.press("Purge 20 jobs")

    expect(screen.dialog).to_have_count(0)
    assert screen.job("mail-pilot-00019")["status"] == 404


def test_skipped_jobs_are_named_with_the_reason(open_deck: OpenDeck) -> None:
    screen = open_deck("dlq?search=invoice-0090")
    for job_id in ("invoice-00901", "invoice-00902"):
        screen.page.get_by_label(f"Select {job_id}").check()
    screen.page.get_by_role("button", name="Purge the selected").click()
    expect(screen.dialog.get_by_text("2 jobs would be changed")).to_be_visible()
    _command(screen.host.url("/api/deck/commands"), {"command": "purge", "ids": ["invoice-00902"]})

    screen.dialog.get_by_label("Type purge 2 to confirm").fill("purge 2")
    screen.press("Purge 2 jobs")

    # The set is another one than the preview showed: nothing is done until a person has seen that.
    expect(screen.dialog.get_by_role("alert")).to_contain_text("The jobs changed since you looked")
    expect(screen.dialog.get_by_text("There is no such job: 1 job")).to_be_visible()
    assert screen.job("invoice-00901")["pillar"] == "dlq"
    screen.dialog.get_by_label("Type purge 1 to confirm").fill("purge 1")
    screen.press("Purge 1 job")
    expect(screen.dialog.get_by_text("1 job done, 1 skipped.")).to_be_visible()
    expect(screen.row("Skipped", "invoice-00902")).to_contain_text("there is no such job")


@pytest.mark.parametrize("theme", [theme for theme, _ in THEMES])
def test_a_queue_is_paused_resumed_switched_off_and_limited(open_deck: OpenDeck, theme: str) -> None:
    screen = open_deck("queues", theme=theme)
    row = screen.row("Queues", "mail")

    row.get_by_role("button", name="Pause mail").click()
    expect(row.get_by_text("paused")).to_be_visible()
    row.get_by_role("button", name="Resume mail").click()
    expect(row.get_by_role("button", name="Pause mail")).to_be_visible()
    row.get_by_role("button", name="Deactivate mail").click()
    expect(row.get_by_text("inactive")).to_be_visible()
    row.get_by_role("button", name="Activate mail", exact=True).click()
    row.get_by_role("button", name="Limits of mail").click()
    screen.dialog.get_by_label("Jobs at once").fill("many")
    screen.press("Set limits")
    expect(screen.dialog.get_by_role("alert")).to_contain_text("max workers")
    screen.dialog.get_by_label("Jobs at once").fill("3")
    screen.dialog.get_by_label("Zombie timeout").fill("00:20:00")
    screen.press("Set limits")

    expect(screen.dialog).to_have_count(0)
    expect(row.get_by_text("0 of 3")).to_be_visible()
    expect(row.get_by_text("00:20:00")).to_be_visible()


def test_what_was_done_stands_in_the_operator_log(open_deck: OpenDeck) -> None:
    screen = open_deck()
    _command(screen.host.url("/api/deck/commands"), {"command": "set_priority", "ids": ["report-00020"], "priority": 5})

    screen.go("log")

    row = screen.row("Operator log", "report-00020")
    expect(row).to_contain_text("operate-key")
    expect(row).to_contain_text("set_priority")


def _command(url: str, body: dict[str, object]) -> None:
    headers = {"X-ChokaQ-Key": OPERATE_KEY, "X-ChokaQ-Deck": "1"}
    done = httpx.post(url, json=body, headers=headers, timeout=60)
    assert done.status_code == 200, done.text
