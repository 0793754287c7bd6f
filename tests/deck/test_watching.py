"""
How the page keeps up: by looking again, never twice at once, more rarely when nobody watches, and honest about outages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.deck.conftest import AND_AWAY, OpenDeck

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser


def module(page: Page, name: str, body: str) -> Any:  # noqa: ANN401 - whatever the script answers
    """
    Runs a script with one of the page's modules as `m`.
    """
    return page.evaluate(f"async () => {{ const m = await import('/api/deck/assets/{name}.js'); {body} }}")


def test_a_lost_connection_shows_and_heals(open_deck: OpenDeck) -> None:
    screen = open_deck("queues")
    expect(screen.row("Queues", "billing")).to_be_visible()

    screen.page.context.set_offline(True)

    expect(screen.page.get_by_role("alert")).to_contain_text("The connection is lost; trying again.")
    expect(screen.page.get_by_text("no connection")).to_be_visible()
    expect(screen.row("Queues", "billing")).to_be_visible()
    screen.page.context.set_offline(False)
    expect(screen.page.get_by_role("alert")).to_have_count(0)


def test_a_database_that_is_away_shows(open_deck: OpenDeck) -> None:
    screen = open_deck(noted=AND_AWAY)
    body = '{"title":"Service Unavailable","status":503,"detail":"the database does not answer"}'
    screen.page.route(
        "**/deck/**", lambda route: route.fulfill(status=503, content_type="application/problem+json", body=body)
    )

    expect(screen.page.get_by_role("alert")).to_contain_text("the database does not answer")


def test_looks_never_overlap(open_deck: OpenDeck) -> None:
    screen = open_deck("queues")
    under_way: list[Route] = []

    def hold(route: Route) -> None:
        under_way.append(route)

    screen.page.route("**/deck/queues", hold)
    with screen.page.expect_request("**/deck/queues"):
        screen.page.keyboard.press("u")
    for _ in range(4):
        screen.page.keyboard.press("u")
    assert screen.page.evaluate("() => fetch('/api/health/live').then(answer => answer.status)") == 200

    assert len(under_way) <= 2  # The panel and the frame show queues: one look asks for both.
    with screen.page.expect_response("**/deck/queues"):
        screen.page.unroute("**/deck/queues")
    calls = module(screen.page, "poller", _OVERLAP)
    assert calls == {"most": 1, "count": 2}


_OVERLAP = """
    let running = 0, most = 0, count = 0, end;
    const may_end = new Promise(done => { end = done; });
    const poller = new m.Poller(async () => {
      running += 1; count += 1; most = Math.max(most, running);
      await may_end;
      running -= 1;
      return true;
    });
    const first = poller.start();
    poller.now(); poller.now(); poller.now();
    end();
    await first;
    poller.stop();
    return { most, count };
"""


def test_it_looks_more_rarely_when_idle_hidden_or_refused(open_deck: OpenDeck) -> None:
    page = open_deck().page

    pauses = module(
        page,
        "poller",
        """
        let reached = true;
        const now = Date.now;
        const poller = new m.Poller(async () => reached);
        await poller.start();
        const active = poller.pause();
        Date.now = () => now() + 121_000;
        const idle = poller.pause();
        Date.now = now;
        Object.defineProperty(document, 'hidden', { value: true, configurable: true });
        const hidden = poller.pause();
        delete document.hidden;
        reached = false;
        const failed = [];
        for (let i = 0; i < 6; i += 1) { await poller.now(); failed.push(poller.pause()); }
        poller.stop();
        return { active, idle, hidden, failed };
        """,
    )

    assert pauses == {
        "active": 2_000,
        "idle": 10_000,
        "hidden": 60_000,
        "failed": [2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
    }


LAYOUTS = {
    "{}": "{}",
    "[]": "[]",
    '{"a":[]}': '{\n  "a": []\n}',
    '{"id":9007199254740993,"n":[1e400,-0.10,123456789012345678901234567890]}': (
        '{\n  "id": 9007199254740993,\n  "n": [\n    1e400,\n    -0.10,\n    123456789012345678901234567890\n  ]\n}'
    ),
    r'{"a":"x \" {[,:]} \\","\u00e9":null}': '{\n  "a": "x \\" {[,:]} \\\\",\n  "\\u00e9": null\n}',
    '{ "a" : "b  c" }': '{\n  "a": "b  c"\n}',
    "9223372036854775807": "9223372036854775807",
    '"text"': '"text"',
    "no json at all": "no json at all",
    '{"a":1} trailing': '{"a":1} trailing',
    '{"a":"open': '{"a":"open',
    "": "",
}


def test_json_is_laid_out_without_touching_a_digit(open_deck: OpenDeck) -> None:
    page = open_deck().page

    found = page.evaluate(
        "async texts => { const m = await import('/api/deck/assets/json_text.js'); return texts.map(m.pretty); }",
        list(LAYOUTS),
    )

    assert dict(zip(LAYOUTS, found, strict=True)) == LAYOUTS


def test_durations_and_numbers_read_well(open_deck: OpenDeck) -> None:
    found = module(
        open_deck().page,
        "format",
        "const lengths = [0, 0.44, 59.6, 200, 18_120, 273_600].map(m.seconds);"
        "return [...lengths, m.number(1234567), m.percent(0.0004), m.percent(0.396)];",
    )

    thin = "\u202f"
    assert found == [
        "0 s",
        "0.4 s",
        "1 min 0 s",
        "3 min 20 s",
        "5 h 2 min",
        "3 d 4 h",
        f"1{thin}234{thin}567",
        "< 0.1 %",
        "39.6 %",
    ]
