"""
Every question that the Deck's page asks, as requests to its data routes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from chokaq_core.domain.listing import JobFilter, JobQuery, Pillar, Position
from chokaq_core.hosting.deck_routes import DECK_ROUTES, WRITE_HEADER
from chokaq_core.hosting.principal import KEY_HEADER
from chokaq_core.localhost.server import LocalHost
from chokaq_core.operations.cursors import Walk
from chokaq_core.stores.sqlite import SqliteStore

_KEY = "operate-" + "o" * 40
_HEADERS = {KEY_HEADER: _KEY, WRITE_HEADER: "1"}
_APP = """
from pathlib import Path

import azure.functions as func

from chokaq_core.contracts import Profile
from chokaq_core.hosting import ChokaQ

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
chokaq = ChokaQ(Path(__file__).parent, profiles=[Profile("bench")], environ={environ!r})
chokaq.register(app)
"""
_HOST_JSON = Path(__file__).parents[1] / "host.json"


@dataclass(frozen=True, slots=True)
class Ask:
    """
    One request.

    Attributes:
        route: the name in the table of routes.
        what: what tells it from the others of its route.
    """

    route: str
    what: str
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """
        The request in words.
        """
        return f"{self.route}: {self.what}" if self.what else self.route


class Door:
    """
    A local host on a file, reached through its own HTTP application in this process. No timers and no workers run.
    """

    def __init__(self, folder: Path, database: Path) -> None:
        environ = {"ChokaQ__Sqlite__Path": str(database), "ChokaQ__Deck__OperateKey": _KEY}
        (folder / "function_app.py").write_text(_APP.format(environ=environ), encoding="utf-8")
        (folder / "host.json").write_bytes(_HOST_JSON.read_bytes())
        self._transport = httpx.ASGITransport(LocalHost(folder, environ).http)
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(transport=self._transport, base_url="http://local", headers=_HEADERS)

    def call(self, ask: Ask) -> httpx.Response:
        """
        The answer to a request.
        """
        return self._runner.run(self._client.request(ask.method, ask.path, params=ask.params, json=ask.body))

    def close(self) -> None:
        """
        Lets the connections go.
        """
        self._runner.run(self._client.aclose())
        self._runner.close()


def asks(store: SqliteStore, size: int) -> list[Ask]:
    """
    All requests, for one file.

    Args:
        store: the file, to find the ends of its lists.
        size: rows in the smallest of its pillars.
    """
    made = [*_panels(), *_lists(store), *_details(size), *_previews()]
    missing = {route.name for route in DECK_ROUTES} - {ask.route for ask in made} - {"command"}
    if missing:
        raise AssertionError(f"nothing asks {', '.join(sorted(missing))}")
    return made


def _panels() -> Iterator[Ask]:
    for route in ("me", "overview", "health", "queues", "circuits", "workers", "errors", "events", "log"):
        yield _get(route, "")
    yield _get("log", "further back", before="500")
    body = {"max_workers": 500}
    yield Ask("change_queue", "limit of a queue", "PATCH", "/api/deck/queues/queue-0", body=body)


def _details(size: int) -> Iterator[Ask]:
    for pillar in ("active", "archived", "dead"):
        job_id = f"{pillar}-{size // 2:012}"
        yield Ask("job", pillar, "GET", f"/api/deck/jobs/{job_id}")
    yield Ask("job", "that is not there", "GET", "/api/deck/jobs/nobody")


def _lists(store: SqliteStore) -> Iterator[Ask]:
    """
    Each pillar's list with each filter, as a page, as a count, and as a file.
    """
    for pillar in Pillar:
        for what, params in _filters(store, pillar):
            yield _get("jobs", f"{pillar}, {what}", pillar=pillar, **params)
            yield _get("count", f"{pillar}, {what}", pillar=pillar, **params)
        yield _get("jobs", f"{pillar}, 200 on a page", pillar=pillar, limit="200")
        yield _get("jobs", f"{pillar}, oldest first", pillar=pillar, order="oldest")
        for what, cursor in _cursors(store, pillar):
            yield _get("jobs", f"{pillar}, {what}", pillar=pillar, cursor=cursor)
        for kind in ("csv", "json"):
            yield _get("export", f"{pillar}, {kind}", pillar=pillar, format=kind)
        yield _get("export", f"{pillar}, a search that finds nothing", pillar=pillar, search="nowhere")


def _filters(store: SqliteStore, pillar: Pillar) -> Iterator[tuple[str, Mapping[str, str]]]:
    """
    Filters that many rows meet, ones that only the oldest meet, and ones that none does.
    """
    yield "no filter", {}
    yield "a queue", {"queue": "queue-1"}
    yield "a queue of few old jobs", {"queue": "rare"}
    yield "a queue that is not there", {"queue": "nowhere"}
    yield "a type", {"type": "type-1-1"}
    yield "a type that is not there", {"type": "nowhere"}
    yield "a tag", {"search": "tenant-7"}
    yield "a tag of few old jobs", {"search": "needle"}
    yield "a part of an id", {"search": "00000042"}
    yield "a search that finds nothing", {"search": "nowhere"}
    yield "queue, type and tag", {"queue": "queue-1", "type": "type-1-1", "search": "tenant-5"}
    newest = store.list_jobs(JobQuery(pillar), 500).jobs
    yield "a span of time", {"from": _text(newest[400].position.at), "to": _text(newest[100].position.at)}
    oldest = store.list_jobs(JobQuery(pillar, is_oldest_first=True), 500).jobs
    yield "the first hours", {"to": _text(oldest[100].position.at)}
    if pillar is Pillar.HOT:
        for status in ("Pending", "Fetched", "Processing"):
            yield f"status {status}", {"status": status}
    if pillar is Pillar.DLQ:
        yield "a reason", {"reason": "Timeout"}
        yield "a reason of few old jobs", {"reason": "HeartbeatFailure"}
        yield "a reason that is not there", {"reason": "Zombie"}
        yield "an error", {"error_text": "mail server"}
        yield "an error of one kind", {"error_text": "Error7:"}
        yield "an error of few old jobs", {"error_text": "NeedleError"}
        yield "an error that is not there", {"error_text": "nowhere"}
        yield "one group of errors", {"type": "type-1-1", "reason": "MaxRetriesExceeded", "error_text": "Error5"}


def _cursors(store: SqliteStore, pillar: Pillar) -> Iterator[tuple[str, str]]:
    """
    Where the second, a far and the last page begin.
    """
    first = store.list_jobs(JobQuery(pillar), 50)
    oldest = store.list_jobs(JobQuery(pillar, is_oldest_first=True), 500).jobs
    places = {"second page": first.jobs[-1], "far page": oldest[400], "last page": oldest[20]}
    for what, job in places.items():
        yield what, _cursor(pillar, job.position)


def _cursor(pillar: Pillar, position: Position) -> str:
    query = JobQuery(pillar, JobFilter())
    cursor = Walk(query, query).cursor(position, datetime.now(UTC))
    if cursor is None:
        raise AssertionError("a position has a cursor")
    return cursor


def _previews() -> Iterator[Ask]:
    """
    Previews of commands by filter: of many jobs, and of none that can be found.
    """
    dlq, hot, archive = {"pillar": "dlq"}, {"pillar": "hot"}, {"pillar": "archive"}
    nowhere = {"search": "nowhere"}
    yield _preview("resurrect the DLQ", "resurrect", dlq)
    yield _preview("resurrect one error", "resurrect", {**dlq, "error_text": "Error7:"})
    yield _preview("resurrect an error that is not there", "resurrect", {**dlq, "error_text": "nowhere"})
    yield _preview("edit and resurrect one type", "edit_and_resurrect", {**dlq, "type": "type-1-1"}, tags="mended")
    yield _preview("purge a reason", "purge", {**dlq, "reason": "Timeout"})
    yield _preview("purge the archive", "purge", archive)
    yield _preview("purge what is not in the archive", "purge", {**archive, **nowhere})
    yield _preview("cancel a queue", "cancel", {**hot, "queue": "queue-1"})
    yield _preview("set the priority of what is not there", "set_priority", {**hot, **nowhere}, priority=5)
    ids = [f"dead-{n:012}" for n in range(1_000)]
    body = {"command": "resurrect", "ids": ids}
    yield Ask("preview", "resurrect 1000 by id", "POST", "/api/deck/previews", body=body)


def _preview(what: str, command: str, job_filter: Mapping[str, str], **edit: object) -> Ask:
    body = {"command": command, "filter": dict(job_filter), **edit}
    return Ask("preview", what, "POST", "/api/deck/previews", body=body)


def _get(route: str, what: str, **params: str) -> Ask:
    return Ask(route, what, "GET", f"/api/deck/{route}", params)


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
