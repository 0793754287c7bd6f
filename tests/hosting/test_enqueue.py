"""
The producers' routes with good input.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.host_process import ROOT, HostProcess

EMAIL = {"to": "ada@example.org", "subject": "Hello", "body": "First job"}
FAR_AWAY = "2031-01-01T00:00:00Z"


def _new_id() -> str:
    return uuid.uuid4().hex


def test_the_three_example_jobs_succeed_with_their_results(example_host: HostProcess, tmp_path: Path) -> None:
    orders = str(ROOT / "jobs" / "samples" / "orders.csv")
    report = {"path": orders, "group_by": ["country"], "total": ["amount"]}
    answers = [
        example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL}),
        example_host.post("/api/jobs", {"type": "report.csv.v1", "payload": report}),
    ]
    assert [answer.status_code for answer in answers] == [202, 202]

    mail, summary = (example_host.wait_for_status(answer.json()["id"], "Succeeded", "Failed") for answer in answers)

    assert mail["status"] == "Succeeded"
    assert Path(mail["result"]["path"]).read_text(encoding="utf-8").count("First job") == 1
    assert summary["result"]["rows"] == 30
    assert summary["result"]["groups"] == 6
    assert Path(summary["result"]["path"]).exists()


def test_an_accepted_job_says_where_it_can_be_found(example_host: HostProcess) -> None:
    answer = example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": (job_id := _new_id())})

    assert answer.status_code == 202
    assert answer.json() == {"id": job_id, "duplicate": False}
    assert answer.headers["location"] == f"/api/jobs/{job_id}"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_option_is_stored_as_it_was_given(example_host: HostProcess) -> None:
    job_id = _new_id()
    body = {
        "type": "email.send.v1",
        "payload": EMAIL,
        "id": job_id,
        "queue": "slow-mail",
        "priority": 7,
        "due_at": "2031-01-01T02:00:00+02:00",
        "idempotency_key": f"key-{job_id}",
        "tags": "invoice ünïcode",
        "created_by": "billing",
    }

    assert example_host.post("/api/jobs", body).status_code == 202

    job = example_host.job(job_id)
    assert {name: job[name] for name in ("queue", "priority", "idempotency_key", "tags", "created_by", "status")} == {
        "queue": "slow-mail",
        "priority": 7,
        "idempotency_key": f"key-{job_id}",
        "tags": "invoice ünïcode",
        "created_by": "billing",
        "status": "Pending",
    }
    assert job["due_at"] == "2031-01-01T00:00:00.000000Z"


def test_the_registration_gives_queue_and_priority_when_the_caller_does_not(example_host: HostProcess) -> None:
    job_id = _new_id()
    example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": job_id, "due_at": FAR_AWAY})

    assert (example_host.job(job_id)["queue"], example_host.job(job_id)["priority"]) == ("mail", 10)


@pytest.mark.case("C-025")
@pytest.mark.parametrize("wait", [{"delay": "00:00:00"}, {"due_at": "2001-01-01T00:00:00Z"}])
def test_a_due_time_that_has_passed_counts_as_now(example_host: HostProcess, wait: dict[str, str]) -> None:
    job_id = _new_id()
    example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": job_id, **wait})

    job = example_host.wait_for_status(job_id, "Succeeded")

    assert job["due_at"] >= job["created_at"]


@pytest.mark.case("C-024")
@pytest.mark.parametrize(
    "wait", [{"delay": "400.00:00:00"}, {"delay": "36500.00:00:00"}, {"due_at": "9999-12-31T23:59:59Z"}]
)
def test_a_very_late_job_is_stored_and_waits(example_host: HostProcess, wait: dict[str, str]) -> None:
    job_id = _new_id()

    assert example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": job_id, **wait}).is_success
    assert example_host.job(job_id)["status"] == "Pending"


def test_the_same_key_again_is_the_first_job_and_another_payload_is_refused(example_host: HostProcess) -> None:
    key, first_id = f"order-{_new_id()}", _new_id()
    body: dict[str, Any] = {"type": "email.send.v1", "payload": EMAIL, "idempotency_key": key, "due_at": FAR_AWAY}
    example_host.post("/api/jobs", {**body, "id": first_id})

    again = example_host.post("/api/jobs", body)
    other = example_host.post("/api/jobs", {**body, "payload": {**EMAIL, "subject": "Other"}})

    assert (again.status_code, again.json()) == (200, {"id": first_id, "duplicate": True})
    assert (other.status_code, other.json()["first_id"]) == (422, first_id)
    assert other.json()["errors"][0]["code"] == "key_conflict"


def test_the_same_id_again_is_accepted_and_another_payload_is_a_conflict(example_host: HostProcess) -> None:
    body: dict[str, Any] = {"type": "email.send.v1", "payload": EMAIL, "id": _new_id(), "due_at": FAR_AWAY}
    example_host.post("/api/jobs", body)

    again = example_host.post("/api/jobs", body)
    other = example_host.post("/api/jobs", {**body, "payload": {**EMAIL, "subject": "Other"}})

    assert (again.status_code, again.json()["id"]) == (202, body["id"])
    assert (other.status_code, other.json()["errors"][0]["field"]) == (409, "id")


def test_two_spellings_of_one_payload_are_the_same_job(example_host: HostProcess) -> None:
    key = _new_id()
    first = '{"type":"email.send.v1","payload":{"to":"a@b.org","subject":"S","body":"B"},"delay":"1.00:00:00",'
    second = '{ "payload": {"body": "B", "subject": "\\u0053", "to": "a@b.org"}, "type": "email.send.v1",'
    key_member = f'"idempotency_key": "{key}"}}'

    assert example_host.post("/api/jobs", (first + key_member).encode()).status_code == 202
    assert example_host.post("/api/jobs", (second + key_member).encode()).status_code == 200


@pytest.mark.case("C-031")
def test_a_batch_answers_one_entry_for_each_job_in_order(example_host: HostProcess) -> None:
    held_key, shared_key, run = _new_id(), _new_id(), _new_id()
    held = {"type": "email.send.v1", "payload": EMAIL, "idempotency_key": held_key, "due_at": FAR_AWAY}
    first_id = example_host.post("/api/jobs", held).json()["id"]
    jobs: list[dict[str, Any]] = [
        {"type": "email.send.v1", "payload": EMAIL, "id": f"{run}-{n}", "due_at": FAR_AWAY} for n in range(1000)
    ]
    jobs[17] = held
    jobs[40]["idempotency_key"] = jobs[41]["idempotency_key"] = shared_key
    jobs[500]["payload"] = {"to": "a@b.org"}
    jobs[900]["queue"] = "q" * 256

    answer = example_host.post("/api/jobs/batch", {"jobs": jobs})

    assert answer.status_code == 207
    entries = answer.json()["jobs"]
    assert len(entries) == 1000
    assert entries[17] == {"status": 200, "id": first_id, "duplicate": True}
    assert entries[40] == {"status": 202, "id": f"{run}-40", "duplicate": False}
    assert entries[41] == {"status": 200, "id": f"{run}-40", "duplicate": True}
    assert (entries[500]["status"], entries[500]["errors"][0]["field"]) == (400, "payload.subject")
    assert (entries[900]["status"], entries[900]["errors"][0]["field"]) == (400, "queue")
    assert sum(entry["status"] == 202 for entry in entries) == 996
    assert example_host.job(f"{run}-999")["status"] == "Pending"
    assert example_host.get(f"/api/jobs/{run}-900").status_code == 404


@pytest.mark.case("C-031")
def test_an_empty_batch_does_nothing_and_a_larger_one_than_1000_is_refused(example_host: HostProcess) -> None:
    assert example_host.post("/api/jobs/batch", {"jobs": []}).json() == {"jobs": []}

    too_many = example_host.post("/api/jobs/batch", {"jobs": [{}] * 1001})

    assert too_many.status_code == 413
    assert "at most 1000" in too_many.json()["errors"][0]["rule"]


@pytest.mark.parametrize("body", [{}, {"jobs": 1}, {"jobs": [], "more": 1}])
def test_a_batch_of_another_shape_is_refused(example_host: HostProcess, body: dict[str, Any]) -> None:
    assert example_host.post("/api/jobs/batch", body).status_code == 400


@pytest.mark.case("C-035")
@pytest.mark.parametrize("character,size", [("x", 1), ("é", 2), ("😀", 4)])
def test_the_payload_limit_counts_bytes_of_the_stored_json(
    example_host: HostProcess, character: str, size: int
) -> None:
    room = 1_000_000 - len(json.dumps({**EMAIL, "body": "", "reply_to": None, "html": None}, separators=(",", ":")))
    fitting = {**EMAIL, "body": character * (room // size - 20)}
    too_large = {**EMAIL, "body": character * (room // size + 200)}

    accepted = example_host.post("/api/jobs", _raw({"type": "email.send.v1", "payload": fitting, "due_at": FAR_AWAY}))
    refused = example_host.post("/api/jobs", _raw({"type": "email.send.v1", "payload": too_large, "due_at": FAR_AWAY}))

    assert accepted.status_code == 202, accepted.text
    assert refused.status_code == 413
    assert "1000000" in refused.json()["errors"][0]["rule"]


def _raw(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def test_a_waiting_job_is_cancelled_and_an_ended_one_is_a_conflict(example_host: HostProcess) -> None:
    job_id = _new_id()
    example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": job_id, "due_at": FAR_AWAY})

    first = httpx.delete(example_host.url(f"/api/jobs/{job_id}"))
    second = httpx.delete(example_host.url(f"/api/jobs/{job_id}"))
    unknown = httpx.delete(example_host.url("/api/jobs/no-such-job"))

    assert (first.status_code, first.json()["status"]) == (200, "Cancelled")
    assert (second.status_code, unknown.status_code) == (409, 404)
    job = example_host.job(job_id)
    assert (job["status"], job["failure"]["reason"]) == ("Cancelled", "Cancelled")


def test_health_and_liveness_answer_and_head_works(example_host: HostProcess) -> None:
    assert example_host.get("/api/health").json()["status"] == "Healthy"
    assert httpx.head(example_host.url("/api/health")).status_code == 200
    assert httpx.head(example_host.url("/api/health/live")).status_code == 200


def test_head_answers_for_a_job_as_get_does_without_the_body(example_host: HostProcess) -> None:
    assert example_host.post("/api/jobs", {"type": "email.send.v1", "payload": EMAIL, "id": "head-1"}).is_success

    there, gone = (httpx.head(example_host.url(f"/api/jobs/{name}")) for name in ("head-1", "head-2"))

    assert (there.status_code, there.content) == (200, b"")
    assert (gone.status_code, gone.content) == (404, b"")
