from __future__ import annotations

import json
import shlex
import sys

import pytest

from chokaq_core.localhost.welcome import welcome


def curl_commands(text: str) -> list[list[str]]:
    lines = text.replace("\\\n", "").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip().startswith("curl")]


def test_the_address_comes_first() -> None:
    assert welcome("127.0.0.1", 7071, "api").startswith(
        "ChokaQ answers at http://127.0.0.1:7071/api (Ctrl-C stops it)\n"
    )


def test_three_lines_to_try_post_a_mail_and_a_report_and_read_a_job_back() -> None:
    mail, report, read = curl_commands(welcome("127.0.0.1", 7071, "api"))

    assert json.loads(mail[-1]) == {
        "type": "email.send.v1",
        "payload": {"to": "ada@example.org", "subject": "Hello", "body": "First job"},
    }
    assert json.loads(report[-1]) == {
        "type": "report.csv.v1",
        "payload": {"path": "jobs/samples/orders.csv", "group_by": ["country"], "total": ["amount"]},
    }
    assert mail[:5] == ["curl", "-s", "http://127.0.0.1:7071/api/jobs", "-H", "content-type: application/json"]
    assert read == ["curl", "-s", "http://127.0.0.1:7071/api/jobs/ID"]


@pytest.mark.parametrize(
    "host,prefix,address",
    [
        ("0.0.0.0", "api", "http://localhost:80/api "),  # noqa: S104 - only worded
        ("::", "api", "http://localhost:80/api "),
        ("::1", "api", "http://[::1]:80/api "),
        ("127.0.0.1", "", "http://127.0.0.1:80 "),
    ],
)
def test_the_address_is_one_that_can_be_called(host: str, prefix: str, address: str) -> None:
    assert address in welcome(host, 80, prefix)


def test_the_deck_is_linked_with_the_key_of_this_run() -> None:
    assert "The Deck: http://127.0.0.1:7071/api/deck#key=secret\n" in welcome("127.0.0.1", 7071, "api", "secret")


def test_the_deck_is_linked_without_a_key_where_the_settings_have_their_own() -> None:
    assert "The Deck: http://127.0.0.1:7071/api/deck\n" in welcome("127.0.0.1", 7071, "api")


def test_an_app_that_refuses_to_work_is_told_what_to_mend_and_nothing_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my app/python")
    problems = ("Retry.MaxAttempts: must be {1 or more}", "Deck.ReadKey: is short")
    words = welcome("127.0.0.1", 7071, "api", "secret", problems)

    assert words == (
        "ChokaQ answers at http://127.0.0.1:7071/api (Ctrl-C stops it)\n"
        "\n"
        "Nothing works yet, and jobs are refused with 503:\n"
        "\n"
        "  - Retry.MaxAttempts: must be {1 or more}\n"
        "  - Deck.ReadKey: is short\n"
        "\n"
        "Mend that and start again. Whether it is enough is told beforehand by\n"
        "\n"
        "  '/opt/my app/python' -m chokaq_core config check\n"
    )
