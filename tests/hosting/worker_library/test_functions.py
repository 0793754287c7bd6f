"""
Every function of the app, called as the Functions host calls it.
"""

from __future__ import annotations

import base64
import json

import pytest

from tests.hosting.worker_library.library import WorkerLibrary

EMAIL = {"to": "ada@example.org", "subject": "Hello", "body": "First job"}
JSON = {"content-type": "application/json"}


def test_the_library_imports_the_app_and_finds_every_function(library: WorkerLibrary) -> None:
    assert {
        "chokaq_worker",
        "chokaq_poll",
        "chokaq_heartbeat",
        "chokaq_rescue",
        "chokaq_maintenance",
        "chokaq_enqueue",
        "chokaq_enqueue_batch",
        "chokaq_job",
        "chokaq_cancel",
        "chokaq_health",
        "chokaq_live",
        "chokaq_openapi",
    } <= set(library.functions)
    assert library.capabilities["RpcHttpBodyOnly"] == "true"


def test_every_timer_function_ends_well(library: WorkerLibrary) -> None:
    timers = [name for name, function in library.functions.items() if function["bindings"][0]["type"] == "timerTrigger"]

    for name in timers:
        library.tick(name)

    assert len(timers) >= 3


@pytest.mark.parametrize("encoding", ["text", "base64", "bytes"])
def test_a_job_that_was_posted_runs_at_the_next_wake(library: WorkerLibrary, encoding: str) -> None:
    text = '{"v":1}'
    bodies: dict[str, str | bytes] = {
        "text": text,
        "base64": base64.b64encode(text.encode()).decode(),
        "bytes": text.encode(),
    }
    accepted = library.post({"type": "email.send.v1", "payload": EMAIL, "id": f"mail-{encoding}"})
    assert accepted.status == 202
    assert accepted.headers["Location"] == f"/api/jobs/mail-{encoding}"
    assert library.job(f"mail-{encoding}")["status"] == "Pending"

    library.wake(bodies[encoding])

    job = library.job(f"mail-{encoding}")
    assert (job["status"], job["attempts"]) == ("Succeeded", 1)


def test_a_batch_is_answered_entry_by_entry(library: WorkerLibrary) -> None:
    jobs = [{"type": "email.send.v1", "payload": EMAIL, "due_at": "2031-01-01T00:00:00Z"}, {"type": "no.such.type"}]

    answer = library.call("chokaq_enqueue_batch", "POST", body=json.dumps({"jobs": jobs}).encode(), headers=JSON)

    assert answer.status == 207
    assert [entry["status"] for entry in answer.json()["jobs"]] == [202, 400]


def test_a_waiting_job_is_cancelled(library: WorkerLibrary) -> None:
    library.post({"type": "email.send.v1", "payload": EMAIL, "id": "waits", "due_at": "2031-01-01T00:00:00Z"})

    assert library.call("chokaq_cancel", "DELETE", route={"id": "waits"}).json() == {
        "id": "waits",
        "status": "Cancelled",
    }
    assert library.call("chokaq_cancel", "DELETE", route={"id": "waits"}).status == 409
    assert library.call("chokaq_cancel", "DELETE", route={"id": "no-such-job"}).status == 404


@pytest.mark.parametrize(
    "body,headers,status",
    [
        (b"{", JSON, 400),
        (b"", JSON, 400),
        (b"\xff", JSON, 400),
        (b"{}", JSON, 400),
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {}, 415),
        (b"{}", {**JSON, "content-length": "1065537"}, 413),
        (b'{"a": "' + b"x" * 1_065_536 + b'"}', JSON, 413),
    ],
)
def test_a_bad_request_is_a_problem_and_never_a_failure(
    library: WorkerLibrary, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = library.call("chokaq_enqueue", "POST", body=body, headers=headers)

    assert answer.status == status
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.json()["status"] == status


def test_head_and_get_are_answered_alike(library: WorkerLibrary) -> None:
    for method in ("GET", "HEAD"):
        assert library.call("chokaq_health", method).status == 200
        assert library.call("chokaq_live", method).status == 200
        assert library.call("chokaq_job", method, route={"id": "no-such-job"}).status == 404


def test_the_api_describes_itself(library: WorkerLibrary) -> None:
    assert library.call("chokaq_openapi").json()["openapi"] == "3.1.0"


BAD_WAKES: dict[str, str | bytes] = {
    "base64 twice": base64.b64encode(base64.b64encode(b'{"v":1}')).decode(),
    "bytes as Python prints them": str(b'{"v":1}'),
    "empty": "",
    "64 KiB of noise": "\u00fe" * 32_768,
    "not UTF-8": b"\xff\xfe\x00",
    "a list": "[1]",
    "an old version": '{"v":0}',
    "no version": "{}",
    "deep nesting": "[" * 30_000,
}


@pytest.mark.case("C-056")
@pytest.mark.parametrize("body", BAD_WAKES.values(), ids=BAD_WAKES)
def test_a_bad_wake_is_told_once_and_ends_well(library: WorkerLibrary, body: str | bytes) -> None:
    before = library.output().count("7002")

    library.wake(body)

    assert library.output().count("7002") == before + 1


@pytest.mark.case("C-056")
@pytest.mark.parametrize("body", ['{"v":1,"queue":"no-such-queue"}', '{"v": 1, "job": "gone"}'])
def test_a_wake_is_only_a_hint_whatever_else_it_says(library: WorkerLibrary, body: str) -> None:
    library.post({"type": "email.send.v1", "payload": EMAIL, "id": f"hint-{len(body)}"})

    library.wake(body)

    assert library.job(f"hint-{len(body)}")["status"] == "Succeeded"


@pytest.mark.case("C-056")
def test_the_same_wake_fifty_times_runs_a_job_once(library: WorkerLibrary) -> None:
    library.post({"type": "email.send.v1", "payload": EMAIL, "id": "fifty"})

    for _ in range(50):
        library.wake('{"v":1}')

    assert (library.job("fifty")["status"], library.job("fifty")["attempts"]) == ("Succeeded", 1)


def test_nothing_that_the_app_did_was_warned_of_by_python(library: WorkerLibrary) -> None:
    assert "chokaq_core" not in "".join(line for line in library.output().splitlines() if "Warning:" in line)
