"""
Each setting broken in turn: every function is there all the same, refuses, and says why.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.hosting.worker_library.library import WorkerLibrary
from tests.support.setting_cases import CASES, Case

LITERAL_SCHEDULE = re.compile(r"(\*/[1-9][0-9]? |0 )(\*/[1-9][0-9]? |\* |0 )\* \* \* \*")
ENQUEUE = {"type": "email.send.v1", "payload": {"to": "ada@example.org", "subject": "Hello", "body": "x"}}
SECRETS = {
    "ChokaQ__Deck__ReadKey": "hunter2-is-short",
    "ChokaQ__Deck__OperateKey": "hunter2-is-short",
    "ChokaQ__SqlServer__ConnectionString": "Server=tcp:db.example;Password=hunter2-is-short;Nonsense",
}


def refuses(library: WorkerLibrary, name: str) -> None:
    """
    Checks that every function is indexed and says that this setting is at fault.
    """
    assert len(library.functions) >= 11
    schedules = [b["schedule"] for f in library.functions.values() for b in f["bindings"] if "schedule" in b]
    assert len(schedules) >= 3
    assert all(LITERAL_SCHEDULE.fullmatch(schedule) for schedule in schedules), schedules
    library.wake('{"v":1}')
    for timer in ("chokaq_poll", "chokaq_heartbeat", "chokaq_rescue"):
        library.tick(timer)
    refused = library.post(ENQUEUE)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "60")
    assert any(problem.startswith(name) for problem in refused.json()["problems"]), refused.json()
    health = library.call("chokaq_health")
    assert health.status == 503
    assert name in json.dumps(health.json())
    assert library.call("chokaq_live").status == 200


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_setting_is_named_and_nothing_else_happens(library: WorkerLibrary, case: Case) -> None:
    beside = {"ChokaQ__" + name.replace(".", "__"): value for name, value in case.beside}

    library.reload({**beside, case.variable: next(text for text in case.refused if "\0" not in text)})

    refuses(library, case.name)


@pytest.mark.parametrize("variable,text", SECRETS.items(), ids=SECRETS)
def test_a_broken_secret_is_named_and_not_shown(library: WorkerLibrary, variable: str, text: str) -> None:
    library.reload({variable: text})

    refuses(library, variable.removeprefix("ChokaQ__").replace("__", "."))
    assert "hunter2" not in library.post(ENQUEUE).body.decode()
    assert "hunter2" not in library.call("chokaq_health").body.decode()
    assert "hunter2" not in library.output()


@pytest.mark.case("C-052")
def test_an_unresolved_reference_is_named(library: WorkerLibrary) -> None:
    reference = "@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/s)"
    library.reload({"ChokaQ__SqlServer__ConnectionString": reference})

    refuses(library, "SqlServer.ConnectionString")


def test_an_unknown_setting_is_named(library: WorkerLibrary) -> None:
    library.reload({"ChokaQ__Retry__MaxAttemts": "5"})

    refuses(library, "Retry.MaxAttemts")


def test_an_app_whose_settings_were_corrected_works(library: WorkerLibrary) -> None:
    library.reload({})

    assert library.post(ENQUEUE).status == 202
    assert library.call("chokaq_health").status == 200
