"""
Who may call which of the Deck's routes: every one in the OpenAPI document, by every kind of caller.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import azure.functions as func
import pytest

from chokaq_core.contracts.catalog import Catalog
from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import NewJob
from chokaq_core.domain.listing import JobQuery, Pillar
from chokaq_core.domain.moves import dead_letter
from chokaq_core.hosting import deck
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.deck_routes import DECK_ROUTES
from chokaq_core.hosting.openapi import document
from chokaq_core.ports import Turn
from tests.support.deck_client import KEYS, OPERATE_KEY, READ_KEY, DeckClient, deck_client

OPERATIONS = [
    (method.upper(), path.removeprefix("/deck/"), operation)
    for path, operations in document(Catalog())["paths"].items()
    if path.startswith("/deck/")
    for method, operation in operations.items()
]
ROUTES = [pytest.param(method, path, id=f"{method} {path}") for method, path, _ in OPERATIONS]
READS = [param for param in ROUTES if param.values[0] == "GET"]
WRITES = [param for param in ROUTES if param.values[0] != "GET"]


def principal(role: str) -> dict[str, str]:
    body = {"auth_typ": "aad", "claims": [{"typ": "roles", "val": role}, {"typ": "name", "val": "Eve"}]}
    return {"X-MS-CLIENT-PRINCIPAL": base64.b64encode(json.dumps(body).encode()).decode()}


FORGED = {
    **principal("ChokaQ.Operator"),
    "X-MS-CLIENT-PRINCIPAL-NAME": "admin",
    "X-MS-CLIENT-PRINCIPAL-ID": "1",
    "X-Forwarded-For": "127.0.0.1",
    "Cookie": "AppServiceAuthSession=x",
    "x-functions-key": OPERATE_KEY,
    "Authorization": f"Bearer {OPERATE_KEY}",
}
STRANGERS = {
    "nobody": {},
    "a wrong key": {"X-ChokaQ-Key": "x" * 32},
    "an empty key": {"X-ChokaQ-Key": ""},
    "a forged principal": FORGED,
}
BODIES: dict[str, object] = {
    "previews": {"command": "purge", "ids": ["dead"]},
    "commands": {"command": "purge", "ids": ["dead"]},
    "queues/{name}": {"is_paused": True},
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[DeckClient]:
    """
    An app with one dead job, `dead`.
    """
    with deck_client(tmp_path) as client:
        client.store.enqueue([NewJob("dead", "t", "{}")])
        (job,) = client.store.turn(Turn("w", 1, want=1)).claimed
        error = ErrorFacts("E", "m", "d")
        client.store.turn(Turn("w", 2, settlements=(dead_letter(job.lease, FailureReason.FATAL_ERROR, error),)))
        yield client


def call(client: DeckClient, method: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, object]]:
    real = path.replace("{id}", "dead").replace("{name}", "default")
    params = {"pillar": "dlq"} if path in {"jobs", "count", "export"} else {}
    reply = client.call(method, real, params=params, body=BODIES.get(path), headers=headers)
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    return reply.status, json.loads(reply.text) if "json" in reply.headers["Content-Type"] else {}


def is_untouched(client: DeckClient) -> bool:
    jobs = client.store.list_jobs(JobQuery(Pillar.DLQ), 10).jobs
    return [job.id for job in jobs] == ["dead"] and not any(queue.is_paused for queue in client.store.queues())


def test_the_document_holds_all_of_the_routes() -> None:
    assert len(READS) == 13
    assert len(WRITES) == 3


@pytest.mark.parametrize("caller", STRANGERS)
@pytest.mark.parametrize("method,path", ROUTES)
def test_a_stranger_is_turned_away(client: DeckClient, method: str, path: str, caller: str) -> None:
    status, body = call(client, method, path, {**STRANGERS[caller], "X-ChokaQ-Deck": "1"})

    assert (status, body["title"]) == (401, "Unauthorized")
    assert "dead" not in json.dumps(body)
    assert is_untouched(client)


@pytest.mark.parametrize("method,path", READS)
@pytest.mark.parametrize("key", [READ_KEY, OPERATE_KEY], ids=["reader", "operator"])
def test_whoever_may_read_sees_everything(client: DeckClient, method: str, path: str, key: str) -> None:
    assert call(client, method, path, {"X-ChokaQ-Key": key})[0] == 200


@pytest.mark.parametrize("method,path", WRITES)
def test_a_reader_changes_nothing(client: DeckClient, method: str, path: str) -> None:
    status, body = call(client, method, path, {"X-ChokaQ-Key": READ_KEY, "X-ChokaQ-Deck": "1"})

    assert (status, body["detail"]) == (403, "this needs the role operate")
    assert is_untouched(client)
    assert client.store.operator_log(None, 10) == []
    assert [e.fields["event"] for e in client.core.telemetry.recent.since(0)][-1] == "AdminCommandRejected"


@pytest.mark.parametrize("method,path", WRITES)
@pytest.mark.parametrize("header", [{}, {"X-ChokaQ-Deck": ""}, {"X-ChokaQ-Deck": "0"}, {"X-ChokaQ-Deck": "1,1"}])
def test_a_write_without_the_decks_header_changes_nothing(
    client: DeckClient, method: str, path: str, header: dict[str, str]
) -> None:
    status, body = call(client, method, path, {"X-ChokaQ-Key": OPERATE_KEY, **header})

    assert status == 403
    assert "X-ChokaQ-Deck" in str(body["detail"])
    assert is_untouched(client)


@pytest.mark.parametrize("method,path", WRITES)
def test_an_operator_may_write(client: DeckClient, method: str, path: str) -> None:
    assert call(client, method, path, {"X-ChokaQ-Key": OPERATE_KEY, "X-ChokaQ-Deck": "1"})[0] == 200


@pytest.mark.parametrize(
    "role,read,write", [("ChokaQ.Reader", 200, 403), ("ChokaQ.Operator", 200, 200), ("Other", 403, 403)]
)
def test_a_person_of_the_platform_does_what_their_role_lets_them(
    tmp_path: Path, role: str, read: int, write: int
) -> None:
    environ = {"ChokaQ__Deck__TrustPlatformAuthentication": "true", "WEBSITE_AUTH_ENABLED": "True"}
    with deck_client(tmp_path, environ=environ) as client:
        headers = {**principal(role), "X-ChokaQ-Deck": "1"}

        assert client.call("GET", "overview", headers=headers).status == read
        assert client.call("PATCH", "queues/default", body={"is_paused": True}, headers=headers).status == write
        logged = [entry.actor for entry in client.store.operator_log(None, 10)]
        assert logged == (["Eve"] if write == 200 else [])


@pytest.mark.parametrize("environ", [{}, {"ChokaQ__Deck__TrustPlatformAuthentication": "true"}])
@pytest.mark.parametrize("method,path", ROUTES)
def test_a_deck_that_nobody_vouches_for_is_closed(
    tmp_path: Path, method: str, path: str, environ: dict[str, str]
) -> None:
    with deck_client(tmp_path, environ=environ) as client:
        assert call(client, method, path, {**FORGED, "X-ChokaQ-Key": "", "X-ChokaQ-Deck": "1"})[0] == 401


def test_everybody_is_an_operator_where_that_is_allowed(tmp_path: Path) -> None:
    with deck_client(tmp_path, environ={"ChokaQ__Deck__AllowAnonymous": "true"}) as client:
        assert client.call("GET", "me", headers={}).json() == {"name": "anonymous", "role": "operate"}
        reply = client.call("PATCH", "queues/default", body={"is_paused": True}, headers={"X-ChokaQ-Deck": "1"})
        assert reply.status == 200


def test_a_refused_caller_learns_how_to_sign_in_and_not_what_is_inside(tmp_path: Path) -> None:
    with deck_client(tmp_path) as client:
        reply = client.call("GET", "overview", headers={})

    assert reply.headers["WWW-Authenticate"] == 'ChokaQ-Key header="X-ChokaQ-Key"'
    assert reply.headers["Cache-Control"] == "no-store"
    assert "X-ChokaQ-Key" in reply.json()["detail"]


def test_invalid_settings_are_not_told_to_strangers(tmp_path: Path) -> None:
    core = Core(tmp_path, environ={**KEYS, "ChokaQ__Retry__MaxAttempts": "many"})
    request = func.HttpRequest(method="GET", url="https://app.example/api/deck/me", headers={}, body=b"")

    answer = deck.serve(DECK_ROUTES[0], request, core)

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "60"
    assert b"MaxAttempts" not in answer.get_body()


def test_a_caller_is_judged_before_the_store_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    with deck_client(tmp_path, environ={**KEYS, "ChokaQ__Sqlite__Path": str(path)}) as client:
        assert client.call("GET", "overview", headers={}).status == 401
        assert not path.exists()
        assert client.call("GET", "overview", headers={"X-ChokaQ-Key": READ_KEY}).status == 200
        assert path.exists()
