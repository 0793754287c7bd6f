"""
The Deck's page as it is served: closed by default, strict about what may run, the same for everybody.
"""

from __future__ import annotations

import re
from pathlib import Path

import azure.functions as func
import pytest

from chokaq_core.deck import files
from chokaq_core.hosting import deck_page
from chokaq_core.hosting.core import Core

OPERATE_KEY = "k" * 32
OPEN = {"ChokaQ__Deck__OperateKey": OPERATE_KEY}
ASSETS = files.FOLDER / "assets"


def core_of(folder: Path, environ: dict[str, str]) -> Core:
    """
    An app without handlers.
    """
    return Core(folder, environ=environ)


def request(url: str = "https://app.example/api/deck", name: str = "", **headers: str) -> func.HttpRequest:
    """
    A GET of the page, or of one of its files.
    """
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return func.HttpRequest(method="GET", url=url, headers=named, route_params={"name": name}, body=b"")


def test_it_is_not_there_where_nobody_could_sign_in(tmp_path: Path) -> None:
    core = core_of(tmp_path, {})

    assert deck_page.page(request(), core).status_code == 404
    assert deck_page.asset(request(name="main.js"), core).status_code == 404


def test_invalid_settings_leave_open_whether_it_is_there(tmp_path: Path) -> None:
    core = core_of(tmp_path, {**OPEN, "ChokaQ__Retry__MaxAttempts": "many"})

    assert deck_page.page(request(), core).status_code == 503


def test_it_holds_no_data_and_no_key(tmp_path: Path) -> None:
    answer = deck_page.page(request(), core_of(tmp_path, OPEN))

    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert OPERATE_KEY.encode() not in answer.get_body()
    assert len(answer.get_body()) < 2_000


def test_only_its_own_scripts_and_styles_may_run(tmp_path: Path) -> None:
    core = core_of(tmp_path, OPEN)

    for answer in (deck_page.page(request(), core), deck_page.asset(request(name="main.js"), core)):
        assert answer.headers["Content-Security-Policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "name, media_type", [("main.js", "text/javascript"), ("deck.css", "text/css"), ("icon.svg", "image/svg+xml")]
)
def test_files_are_served_by_their_kind(tmp_path: Path, name: str, media_type: str) -> None:
    answer = deck_page.asset(request(name=name), core_of(tmp_path, OPEN))

    assert (answer.status_code, answer.mimetype) == (200, media_type)
    assert answer.get_body() == (ASSETS / name).read_bytes()


@pytest.mark.parametrize("name", ["", "nothing.js", "../files.py", "..%2ffiles.py", "../index.html", "files.py"])
def test_no_other_file_can_be_had(tmp_path: Path, name: str) -> None:
    assert deck_page.asset(request(name=name), core_of(tmp_path, OPEN)).status_code == 404


def test_a_file_that_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    core = core_of(tmp_path, OPEN)
    first = deck_page.asset(request(name="main.js"), core)

    again = deck_page.asset(request(name="main.js", If_None_Match=first.headers["ETag"]), core)

    assert (again.status_code, again.get_body()) == (304, b"")


def test_an_address_with_a_slash_at_its_end_leads_to_the_one_without(tmp_path: Path) -> None:
    answer = deck_page.page(request("https://app.example/api/deck/"), core_of(tmp_path, OPEN))

    assert (answer.status_code, answer.headers["Location"]) == (308, "../deck")


def test_the_platforms_sign_in_is_offered_only_where_the_platform_has_one(tmp_path: Path) -> None:
    trusting = {"ChokaQ__Deck__TrustPlatformAuthentication": "true"}

    def offers(environ: dict[str, str]) -> bool:
        return b'data-platform="yes"' in deck_page.page(request(), core_of(tmp_path, environ)).get_body()

    assert not offers(OPEN)
    assert not offers(trusting)
    assert not offers({**OPEN, "WEBSITE_AUTH_ENABLED": "True"})
    assert offers({**trusting, "WEBSITE_AUTH_ENABLED": "True"})


@pytest.mark.parametrize("path", sorted(ASSETS.glob("*.js")), ids=lambda path: path.name)
def test_no_script_parses_markup_or_code_from_text(path: Path) -> None:
    parsers = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
        r"|\beval\(|new Function"
    )

    assert re.findall(parsers, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(ASSETS.iterdir()), ids=lambda path: path.name)
def test_nothing_is_loaded_from_elsewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")

    assert re.findall(r"https?://|//cdn", text) == []


def test_every_module_that_is_imported_is_there() -> None:
    for path in ASSETS.glob("*.js"):
        for name in re.findall(r'from "\./([^"]+)"', path.read_text(encoding="utf-8")):
            assert (ASSETS / name).exists(), f"{path.name} imports {name}"
