"""
The Deck's data routes with good and bad input, as a page or a program calls them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from chokaq_core.contracts import Job, Profile
from chokaq_core.domain.failures import ErrorFacts, FailureReason
from chokaq_core.domain.job import Lease, NewJob
from chokaq_core.domain.moves import Settlement, complete, dead_letter
from chokaq_core.hosting import http_jobs
from chokaq_core.ports import QueueChange, Turn
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.clock import SteppedClock
from tests.support.deck_client import KEYS, DeckClient, deck_client

TYPE = "number.keep.v1"
BIG = 9_007_199_254_740_993
MARKERS = [
    '<img src=x onerror="window.__x=1">',
    "'\"><script>window.__x=1</script>",
    "javascript:window.__x=1",
    "</script><!--",
    "&lt;b&gt;",
    "{{7*7}}",
    "${7*7}",
]


class Number(Job):
    """
    A payload with a number that no JavaScript can hold.
    """

    value: int = 0
    note: str = ""


PROFILE = Profile("numbers")


@PROFILE.handler(TYPE, job_type=Number)
def keep(job: Number) -> None:
    """
    Does nothing.
    """


@pytest.fixture
def client(tmp_path: Path) -> Iterator[DeckClient]:
    """
    An operator of an app without jobs.
    """
    with deck_client(tmp_path, PROFILE, environ={**KEYS, "ChokaQ__Serialization__MaxPayloadBytes": "2000"}) as client:
        yield client


class Jobs:
    """
    Puts jobs into the pillars of an app's store.
    """

    def __init__(self, client: DeckClient) -> None:
        self._store = client.store
        self._seq = 0

    def add(self, job_id: str, **values: Any) -> str:  # noqa: ANN401 - the fields of NewJob
        known = {"type_key": TYPE, "payload": f'{{"value":{BIG}}}'}
        self._store.enqueue([NewJob(**{"id": job_id, **known, **values})])
        return job_id

    def archive(self, job_id: str, **values: Any) -> str:  # noqa: ANN401
        self._settle(lambda lease: complete(lease, 12.5, f'{{"value":{BIG}}}'), job_id, values)
        return job_id

    def kill(
        self,
        job_id: str,
        error: str = "boom",
        kind: str = "ValueError",
        **values: Any,  # noqa: ANN401
    ) -> str:
        facts = ErrorFacts(kind, error, f"Traceback\n{kind}: {error}")
        self._settle(lambda lease: dead_letter(lease, FailureReason.FATAL_ERROR, facts), job_id, values)
        return job_id

    def start(self, job_id: str, **values: Any) -> str:  # noqa: ANN401
        self._claim(job_id, values)
        return job_id

    def _settle(self, ending: Callable[[Lease], Settlement], job_id: str, values: dict[str, Any]) -> None:
        lease = self._claim(job_id, values)
        self._seq += 1
        self._store.turn(Turn("w", self._seq, settlements=(ending(lease),)))

    def _claim(self, job_id: str, values: dict[str, Any]) -> Lease:
        self.add(job_id, **values)
        self._seq += 1
        (claimed,) = self._store.turn(Turn("w", self._seq, want=1)).claimed
        return claimed.lease


@pytest.fixture
def jobs(client: DeckClient) -> Jobs:
    """
    Jobs for the app of `client`.
    """
    return Jobs(client)


class TestLooking:
    def test_the_overview_counts_pillars_and_rates(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a")
        jobs.archive("b")
        jobs.add("c")

        body = client.get("overview").json()

        assert {name: count["text"] for name, count in body["pillars"].items()} == {
            "hot": "1",
            "archive": "1",
            "dlq": "1",
        }
        assert body["totals"] == {"succeeded": 1, "failed": 1, "retried": 0}
        assert (len(body["series"]["succeeded"]), len(body["series"]["failed"])) == (300, 300)
        assert body["last_minute"]["seconds"] == 60

    def test_queues_workers_circuits_and_health_are_told(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.archive("a", queue="mail")
        jobs.start("b", queue="mail")

        queues = {queue["name"]: queue for queue in client.get("queues").json()["queues"]}
        assert (queues["mail"]["running"], queues["mail"]["succeeded"], queues["mail"]["lag_status"]) == (
            1,
            1,
            "Healthy",
        )
        assert client.get("circuits").json() == {"circuits": []}
        assert client.get("workers").json()["workers"] == []
        assert set(client.get("health").json()["checks"]) == {
            "chokaq_configuration",
            "chokaq_worker",
            "chokaq_queue_saturation",
        }

    def test_bad_health_is_an_answer_like_any_other(self, client: DeckClient) -> None:
        clock = SteppedClock()
        store = SqliteStore(clock=clock.now)
        store.prepare()
        store.enqueue([NewJob("waits-for-a-worker", TYPE, "{}")])
        clock.advance(timedelta(minutes=1))
        client.core._store = store  # noqa: SLF001 - a store in a state of the test's choosing

        answer = client.get("health")

        assert (answer.status, answer.json()["status"]) == (200, "Unhealthy")

    def test_a_queue_deeper_than_what_is_counted_says_so(self, client: DeckClient) -> None:
        for number in range(100):
            client.store.change_queue(f"queue-{number}", QueueChange(max_workers=1))
        client.store.enqueue([NewJob(f"job-{number}", TYPE, "{}", queue="queue-7") for number in range(101)])

        queues = {queue["name"]: queue for queue in client.get("queues").json()["queues"]}

        assert (queues["queue-7"]["pending"], queues["queue-7"]["is_pending_complete"]) == (100, False)
        assert (queues["queue-8"]["pending"], queues["queue-8"]["is_pending_complete"]) == (0, True)

    def test_a_list_pages_to_its_end(self, client: DeckClient, jobs: Jobs) -> None:
        for number in range(5):
            jobs.add(f"job-{number}")

        first = client.get("jobs", pillar="hot", limit=3).json()
        second = client.get("jobs", pillar="hot", limit=3, cursor=first["further"]).json()

        assert sorted(job["id"] for job in first["jobs"] + second["jobs"]) == [f"job-{n}" for n in range(5)]
        assert second["further"] is None
        assert client.get("count", pillar="hot").json() == {"count": 5, "is_complete": True, "text": "5"}

    @pytest.mark.parametrize(
        "params",
        [{"search": "wanted"}, {"queue": "q1"}, {"reason": "FatalError"}, {"error_text": "boom"}, {"type": TYPE}],
    )
    def test_every_filter_reaches_the_store(self, client: DeckClient, jobs: Jobs, params: dict[str, str]) -> None:
        jobs.kill("a", tags="wanted", queue="q1", error="boom")
        cancelled = jobs.add("b", queue="q2", type_key="other.v1")
        client.store.cancel([cancelled], "ann")

        assert [job["id"] for job in client.get("jobs", pillar="dlq", **params).json()["jobs"]] == ["a"]

    def test_a_job_is_shown_whole_with_its_numbers_as_they_are_stored(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.archive("a")
        jobs.kill("b")

        archived, dead = client.get("jobs/a").json(), client.get("jobs/b").json()

        assert (archived["payload"], archived["result"]) == (f'{{"value":{BIG}}}', f'{{"value":{BIG}}}')
        assert archived["commands"] == ["purge"]
        assert (dead["error_line"], dead["error_details"]) == ("ValueError: boom", "Traceback\nValueError: boom")
        assert [attempt["message"] for attempt in dead["attempt_errors"]] == ["boom"]
        assert dead["commands"] == ["resurrect", "edit", "edit_and_resurrect", "set_priority", "purge"]

    @pytest.mark.parametrize("job_id", ["nobody", "a%20b", "x" * 51, "%3Cimg%3E"])
    def test_a_job_that_is_not_there_is_not_found(self, client: DeckClient, job_id: str) -> None:
        reply = client.get(f"jobs/{job_id}")

        assert (reply.status, reply.headers["Content-Type"]) == (404, "application/problem+json")

    def test_errors_are_grouped(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a")
        jobs.kill("b")
        jobs.kill("c", kind="KeyError")

        body = client.get("errors").json()

        assert [(group["error_type"], group["jobs"]) for group in body["groups"]] == [
            ("ValueError", 2),
            ("KeyError", 1),
        ]
        assert (body["looked_at"], body["is_complete"]) == (2000, True)

    def test_recent_events_come_once(self, client: DeckClient) -> None:
        client.patch("queues/default", {"is_paused": True})

        first = client.get("events").json()
        second = client.get("events", after=first["last"]).json()

        assert first["events"][-1]["text"] == "Operator command was carried out"
        assert first["events"][-1]["fields"]["command"] == "pause"
        assert (second["events"], second["last"], second["process"]) == ([], first["last"], first["process"])

    def test_the_log_pages(self, client: DeckClient) -> None:
        for is_paused in (True, False, True):
            client.patch("queues/default", {"is_paused": is_paused})

        first = client.get("log", limit=2).json()
        second = client.get("log", limit=2, before=first["further"]).json()

        assert [entry["command"] for entry in first["entries"] + second["entries"]] == ["pause", "resume", "pause"]
        assert {entry["actor"] for entry in first["entries"]} == {"operate-key"}
        assert second["further"] is None

    @pytest.mark.case("C-045")
    @pytest.mark.parametrize("marker", MARKERS)
    def test_texts_of_jobs_travel_as_json_strings_unchanged(self, client: DeckClient, jobs: Jobs, marker: str) -> None:
        payload = json.dumps({"note": marker}, ensure_ascii=False)
        jobs.kill("a", error=marker, kind=marker, tags=marker, idempotency_key=marker, payload=payload)

        for reply in (
            client.get("jobs", pillar="dlq", search=marker),
            client.get("jobs/a"),
            client.get("errors"),
            client.get("jobs", pillar="dlq", order=marker),
            client.get("export", pillar="dlq", format="json"),
        ):
            assert reply.headers["Content-Type"] in {"application/json", "application/problem+json"}
            assert reply.headers["X-Content-Type-Options"] == "nosniff"
        detail = client.get("jobs/a").json()
        assert (detail["tags"], detail["error_type"], detail["payload"]) == (marker, marker, payload)
        edited = client.run("edit", "a", payload=detail["payload"])
        assert edited.status == 200
        assert json.loads(client.get("jobs/a").json()["payload"])["note"] == marker


class TestBadInput:
    @pytest.mark.case("C-049")
    @pytest.mark.parametrize(
        "path,params,field",
        [
            ("jobs", {}, "pillar"),
            ("jobs", {"pillar": "attic"}, "pillar"),
            ("jobs", {"pillar": "hot", "limit": "0"}, "limit"),
            ("jobs", {"pillar": "hot", "limit": "-1"}, "limit"),
            ("jobs", {"pillar": "hot", "limit": "10000"}, "limit"),
            ("jobs", {"pillar": "hot", "limit": "many"}, "limit"),
            ("jobs", {"pillar": "hot", "order": "random"}, "order"),
            ("jobs", {"pillar": "hot", "reason": "Zombie"}, "reason"),
            ("jobs", {"pillar": "dlq", "status": "Pending"}, "status"),
            ("jobs", {"pillar": "archive", "error_text": "x"}, "error_text"),
            ("jobs", {"pillar": "hot", "from": "yesterday"}, "from"),
            ("jobs", {"pillar": "hot", "from": "2026-03-01T12:00:00"}, "from"),
            ("jobs", {"pillar": "hot", "to": "1772366400"}, "to"),
            ("jobs", {"pillar": "hot", "search": "x" * 1001}, "search"),
            ("jobs", {"pillar": "hot", "page": "2"}, "page"),
            ("jobs", {"pillar": "hot", "cursor": "x"}, "cursor"),
            ("jobs", {"pillar": "hot", "cursor": "W10="}, "cursor"),
            ("jobs", {"pillar": "hot", "cursor": "x" * 401}, "cursor"),
            ("count", {"pillar": "hot", "limit": "5"}, "limit"),
            ("export", {"pillar": "hot", "format": "xlsx"}, "format"),
            ("errors", {"limit": "0"}, "limit"),
            ("log", {"before": "0"}, "before"),
            ("log", {"before": "9" * 30}, "before"),
            ("events", {"after": "-1"}, "after"),
        ],
    )
    def test_a_bad_query_is_refused_by_field(
        self, client: DeckClient, path: str, params: dict[str, str], field: str
    ) -> None:
        reply = client.call("GET", path, params=params)

        assert reply.status == 400
        assert [error["field"] for error in reply.json()["errors"]] == [field]

    @pytest.mark.case("C-049")
    def test_a_cursor_is_good_for_its_own_list_only(self, client: DeckClient, jobs: Jobs) -> None:
        for number in range(3):
            jobs.add(f"job-{number}")
        cursor = client.get("jobs", pillar="hot", limit=1).json()["further"]

        for other in ({"pillar": "dlq"}, {"pillar": "hot", "search": "x"}, {"pillar": "hot", "order": "oldest"}):
            reply = client.get("jobs", cursor=cursor, **other)
            assert (reply.status, reply.json()["errors"][0]["field"]) == (400, "cursor")

    @pytest.mark.parametrize(
        "body,status,field",
        [
            ({}, 400, "command"),
            ({"command": "destroy", "ids": ["a"]}, 400, "command"),
            ({"command": "purge"}, 400, "ids"),
            ({"command": "purge", "ids": ["a"], "filter": {"pillar": "dlq"}}, 400, "ids"),
            ({"command": "purge", "ids": []}, 400, "ids"),
            ({"command": "purge", "ids": ["a"] * 1001}, 400, "ids"),
            ({"command": "purge", "ids": [1]}, 400, "ids.0"),
            ({"command": "purge", "ids": ["a b"]}, 400, "ids"),
            ({"command": "purge", "ids": ["\ud800"]}, 400, "ids"),
            ({"command": "purge", "ids": ["a"], "force": True}, 400, "force"),
            ({"command": "purge", "ids": ["a"], "priority": 1}, 400, "priority"),
            ({"command": "set_priority", "ids": ["a"], "priority": "1"}, 400, "priority"),
            ({"command": "set_priority", "ids": ["a"], "priority": True}, 400, "priority"),
            ({"command": "edit", "ids": ["a"], "payload": {"value": 1}}, 400, "payload"),
            ({"command": "edit", "ids": ["a"], "payload": "{"}, 400, "payload"),
            ({"command": "edit", "ids": ["a"], "payload": '{"value":NaN}'}, 400, "payload"),
            ({"command": "edit", "ids": ["a"], "payload": '{"note":"\ud800"}'}, 400, "payload"),
            ({"command": "edit", "ids": ["a"], "payload": '{"value":"x"}'}, 400, "payload.value"),
            ({"command": "edit", "ids": ["a"], "payload": json.dumps({"note": "x" * 2000})}, 413, "payload"),
            ({"command": "edit", "ids": ["a"], "tags": "x" * 1001}, 400, "tags"),
            ({"command": "purge", "filter": {"pillar": "dlq", "search": "\ud800"}}, 400, "filter.search"),
            ({"command": "purge", "filter": {"pillar": "dlq", "sql": "x"}}, 400, "filter.sql"),
            ({"command": "purge", "filter": {"pillar": "hot"}}, 400, "pillar"),
        ],
    )
    @pytest.mark.parametrize("path", ["previews", "commands"])
    def test_a_bad_command_is_refused_by_field(
        self, client: DeckClient, jobs: Jobs, path: str, body: dict[str, object], status: int, field: str
    ) -> None:
        jobs.kill("a")

        reply = client.post(path, body)

        assert reply.status == status
        assert [error["field"] for error in reply.json()["errors"]] == [field]
        assert client.get("count", pillar="dlq").json()["count"] == 1

    @pytest.mark.parametrize(
        "content,headers,status",
        [
            (b"{", {}, 400),
            (b"[]", {}, 400),
            (b"\xff", {}, 400),
            (b'{"command":"purge","command":"edit"}', {}, 400),
            (b" " * 70_000, {}, 413),
            (b"{}", {"Content-Type": "text/plain"}, 415),
        ],
    )
    def test_a_body_that_is_no_json_object_is_refused(
        self, client: DeckClient, content: bytes, headers: dict[str, str], status: int
    ) -> None:
        reply = client.call("POST", "commands", body=content, headers={**client.headers, **headers})

        assert (reply.status, reply.headers["Content-Type"]) == (status, "application/problem+json")

    @pytest.mark.case("C-054")
    @pytest.mark.parametrize(
        "body,status,field",
        [
            ({}, 400, "change"),
            ({"is_paused": None}, 400, "change"),
            ({"is_paused": "yes"}, 400, "is_paused"),
            ({"max_workers": 0}, 400, "max_workers"),
            ({"max_workers": 10_001}, 400, "max_workers"),
            ({"max_workers": 1.5}, 400, "max_workers"),
            ({"zombie_timeout": "30"}, 400, "zombie_timeout"),
            ({"zombie_timeout": "00:00:01"}, 400, "zombie_timeout"),
            ({"name": "x"}, 400, "name"),
        ],
    )
    def test_a_bad_change_of_a_queue_is_refused_by_field(
        self, client: DeckClient, body: dict[str, object], status: int, field: str
    ) -> None:
        reply = client.patch("queues/default", body)

        assert reply.status == status
        assert [error["field"] for error in reply.json()["errors"]] == [field]

    def test_a_queue_that_is_not_there_is_not_made(self, client: DeckClient) -> None:
        assert client.patch("queues/defualt", {"is_paused": True}).status == 404
        assert len(client.get("queues").json()["queues"]) == 1


class TestCommands:
    def test_a_number_survives_the_way_through_view_and_edit(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a")
        payload = client.get("jobs/a").json()["payload"].replace("}", ', "note": "seen" }')

        assert client.run("edit_and_resurrect", "a", payload=payload).json()["done"] == 1

        assert client.get("jobs/a").json()["payload"] == f'{{"value":{BIG},"note":"seen"}}'

    @pytest.mark.case("C-043")
    def test_a_held_key_is_a_conflict_that_names_its_holder(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a", idempotency_key="sync-44")
        jobs.add("b", idempotency_key="sync-44")

        reply = client.run("resurrect", "a")

        assert reply.status == 409
        assert reply.json()["result"] == {
            "id": "a",
            "outcome": "key_held",
            "is_done": False,
            "why": "an active job holds its idempotency key",
            "holder_id": "b",
        }

    @pytest.mark.case("C-043")
    def test_among_many_it_is_told_as_skipped(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a", idempotency_key="sync-44")
        others = [jobs.kill(f"other-{number}") for number in range(9)]
        jobs.add("b", idempotency_key="sync-44")

        body = client.run("resurrect", "a", *others).json()

        assert (body["done"], body["skipped"]) == (9, 1)
        assert [result["id"] for result in body["results"] if not result["is_done"]] == ["a"]

    def test_one_job_that_is_not_there_is_not_found(self, client: DeckClient) -> None:
        assert client.run("purge", "nobody").status == 404

    def test_a_filter_goes_by_preview_token_and_cursor(self, client: DeckClient, jobs: Jobs) -> None:
        for number in range(3):
            jobs.kill(f"job-{number}", queue="mail")
        body = {"command": "resurrect", "filter": {"pillar": "dlq", "queue": "mail", "order": "oldest"}}

        assert client.post("commands", body).status == 428
        assert client.post("commands", {**body, "token": "x"}).status == 412
        preview = client.post("previews", body).json()
        assert (preview["touched"], preview["refusals"], preview["further"]) == (3, [], None)
        assert preview["effects"] == [{"effect": "goes back to pending with fresh attempts", "jobs": 3}]
        done = client.post("commands", {**body, "token": preview["token"]}).json()

        assert (done["done"], done["skipped"], done["has_set_changed"]) == (3, 0, False)

    def test_a_changed_set_is_a_conflict_with_a_new_preview(self, client: DeckClient, jobs: Jobs) -> None:
        jobs.kill("a")
        jobs.kill("b")
        body = {"command": "purge", "filter": {"pillar": "dlq"}}
        token = client.post("previews", body).json()["token"]
        client.run("resurrect", "a")

        reply = client.post("commands", {**body, "token": token})

        assert reply.status == 409
        preview = reply.json()["preview"]
        assert [job["id"] for job in preview["samples"]] == ["b"]
        assert client.post("commands", {**body, "token": preview["token"]}).json()["done"] == 1
        accepted = client.post("commands", {**body, "token": token, "accept_changes": True}).json()
        assert (accepted["done"], accepted["has_set_changed"]) == (0, True)

    def test_limits_of_a_queue_are_set_and_taken_away(self, client: DeckClient) -> None:
        body = client.patch("queues/default", {"max_workers": 3, "zombie_timeout": "00:05:00"}).json()
        assert (body["max_workers"], body["zombie_timeout"], body["is_paused"]) == (3, "00:05:00", False)

        body = client.patch("queues/default", {"max_workers": None, "is_active": False}).json()
        assert (body["max_workers"], body["zombie_timeout"], body["is_active"]) == (None, "00:05:00", False)


class TestExport:
    def test_cells_that_a_spreadsheet_would_compute_are_made_harmless(self, client: DeckClient, jobs: Jobs) -> None:
        dangerous = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"]
        for number, tags in enumerate(dangerous):
            jobs.add(f"job-{number}", tags=tags)

        reply = client.get("export", pillar="hot")
        rows = list(csv.DictReader(io.StringIO(reply.text, newline="")))

        assert reply.headers["Content-Type"] == "text/csv"
        assert reply.headers["Content-Disposition"] == 'attachment; filename="chokaq-hot.csv"'
        assert sorted(row["tags"] for row in rows) == sorted("'" + tags for tags in dangerous)

    def test_a_filter_holds_for_the_file_and_commas_quotes_and_line_ends_stay(
        self, client: DeckClient, jobs: Jobs
    ) -> None:
        jobs.kill("a", tags='a,"b"\nc', queue="mail")
        jobs.kill("b", queue="other")

        rows = list(csv.DictReader(io.StringIO(client.get("export", pillar="dlq", queue="mail").text, newline="")))
        objects = client.get("export", pillar="dlq", queue="mail", format="json").json()

        assert [(row["id"], row["tags"], row["reason"]) for row in rows] == [("a", 'a,"b"\nc', "FatalError")]
        assert [(job["id"], job["tags"], job["reason"]) for job in objects] == [("a", 'a,"b"\nc', "FatalError")]
        assert client.get("export", pillar="archive", format="json").json() == []

    def test_a_file_that_is_not_the_whole_list_says_where_to_go_on(self, client: DeckClient) -> None:
        for start in range(0, 2_001, 1_000):
            client.store.enqueue([NewJob(f"job-{n}", TYPE, "{}") for n in range(start, min(start + 1_000, 2_001))])

        first = client.get("export", pillar="hot", format="json")
        second = client.get("export", pillar="hot", format="json", cursor=first.headers["X-ChokaQ-Further"])

        assert (len(first.json()), len(second.json())) == (2_000, 1)
        assert "X-ChokaQ-Further" not in second.headers


def test_cancelling_over_the_producers_route_is_told_and_written_down(client: DeckClient, jobs: Jobs) -> None:
    jobs.add("a", queue="mail")
    request = func.HttpRequest(
        method="DELETE", url="https://app.example/api/jobs/a", headers={}, route_params={"id": "a"}, body=b""
    )

    assert http_jobs.cancel(request, client.core).status_code == 200
    assert http_jobs.cancel(request, client.core).status_code == 409

    assert [(e.actor, e.command, e.outcome) for e in client.store.operator_log(None, 10)] == [
        ("function-key", "cancel", "1 stale"),
        ("function-key", "cancel", "1 dead_lettered"),
    ]
    (cancelled,) = [e for e in client.core.telemetry.recent.since(0) if e.fields["event"] == "JobTimedOutOrCancelled"]
    assert {name: cancelled.fields[name] for name in ("job_id", "queue", "reason", "by")} == {
        "job_id": "a",
        "queue": "mail",
        "reason": "Cancelled",
        "by": "function-key",
    }
