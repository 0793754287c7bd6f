"""
Whatever a caller sends: a clear answer that names the field and the rule, and nothing written.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.support.host_process import HostProcess

EMAIL = {"to": "ada@example.org", "subject": "Hello", "body": "First job"}


def _job(**changes: object) -> dict[str, Any]:
    return {"type": "email.send.v1", "payload": EMAIL, "id": "refused-1", **changes}


REFUSED_JOBS: list[tuple[str, dict[str, Any], int, str, str]] = [
    ("unknown type", _job(type="email.send.v9"), 400, "type", "not a registered type"),
    ("type in other case", _job(type="EMAIL.SEND.V1"), 400, "type", "not a registered type"),
    ("type that looks like code", _job(type="os.system"), 400, "type", "not a registered type"),
    ("type of 300 characters", _job(type="x" * 300), 400, "type", "not a registered type"),
    ("missing payload", {"type": "email.send.v1"}, 400, "payload", "required"),
    ("missing type", {"payload": EMAIL}, 400, "type", "required"),
    ("payload lacks a field", _job(payload={"to": "a@b.org"}), 400, "payload.subject", "required"),
    ("payload has an unknown field", _job(payload={**EMAIL, "cc": "x"}), 400, "payload.cc", "no such field"),
    ("payload is a list", _job(payload=[1]), 400, "payload", "must be a JSON object"),
    ("queue with capitals", _job(queue="Mail"), 400, "queue", "1 to 255 characters of a-z"),
    ("queue of 256 characters", _job(queue="q" * 256), 400, "queue", "256 characters"),
    ("blank queue", _job(queue=""), 400, "queue", "1 to 255"),
    ("key of 256 characters", _job(idempotency_key="k" * 256), 400, "idempotency_key", "255 characters; got 256"),
    ("blank key", _job(idempotency_key="   "), 400, "idempotency_key", "blank"),
    ("padded key", _job(idempotency_key="inv-1 "), 400, "idempotency_key", "blanks"),
    ("tags of 1001 characters", _job(tags="t" * 1001), 400, "tags", "1000 characters; got 1001"),
    ("created_by of 101 characters", _job(created_by="c" * 101), 400, "created_by", "100 characters; got 101"),
    ("negative delay", _job(delay="-00:00:05"), 400, "delay", "duration"),
    ("delay as a number", _job(delay=5), 400, "delay", "duration"),
    ("delay of 24 hours", _job(delay="24:00:00"), 400, "delay", "1.00:00:00"),
    ("delay and due_at", _job(delay="00:00:05", due_at="2030-01-01T00:00:00Z"), 400, "due_at", "not both"),
    (
        "naive due_at",
        _job(due_at="2030-05-10T12:00:00"),
        400,
        "due_at",
        "needs a time zone, as in 2030-05-10T12:00:00Z",
    ),
    ("epoch due_at", _job(due_at=1893456000), 400, "due_at", "RFC 3339"),
    ("epoch due_at as text", _job(due_at="1893456000"), 400, "due_at", "RFC 3339"),
    ("due_at beyond year 9999", _job(due_at="10000-01-01T00:00:00Z"), 400, "due_at", ""),
    ("due_at beyond year 9999 in UTC", _job(due_at="9999-12-31T23:59:59-05:00"), 400, "due_at", "years 1 to 9999"),
    ("priority -1", _job(priority=-1), 400, "priority", "0 to 1000000"),
    ("priority 1000001", _job(priority=1_000_001), 400, "priority", "0 to 1000000"),
    ("priority 1.5", _job(priority=1.5), 400, "priority", "integer"),
    ("priority true", _job(priority=True), 400, "priority", "integer"),
    ("id with a blank", _job(id="a b"), 400, "id", "1 to 50"),
    ("id that is a step in an address", _job(id=".."), 400, "id", "no call reaches it"),
    ("id of 51 characters", _job(id="i" * 51), 400, "id", "1 to 50 characters"),
    ("unknown field", _job(prio=1), 400, "prio", "no such field"),
    ("payload too large", _job(payload={**EMAIL, "body": "x" * 1_000_001}), 413, "payload", "limit is 1000000"),
    ("lone surrogate", _job(payload={**EMAIL, "body": "\ud800"}), 400, "payload", "surrogate"),
    ("NUL in the tags", _job(tags="a\x00b"), 400, "tags", "NUL"),
]


@pytest.mark.case("C-031")
@pytest.mark.parametrize(
    "payload",
    [
        {**EMAIL, **{f"field-{number}": 1 for number in range(20_000)}},
        {"path": "orders.csv", "group_by": [1] * 50_000, "total": ["amount"]},
    ],
    ids=["fields", "items"],
)
def test_a_job_with_very_many_faults_is_answered_in_few_words(
    example_host: HostProcess, payload: dict[str, Any]
) -> None:
    job_type = "report.csv.v1" if "path" in payload else "email.send.v1"
    job = {"type": job_type, "payload": payload, "id": "refused-1"}

    alone = example_host.post("/api/jobs", job)
    beside = example_host.post("/api/jobs/batch", {"jobs": [job]})
    above = example_host.post("/api/jobs", {**_job(), **{f"field-{number}": 1 for number in range(20_000)}})

    assert (alone.status_code, beside.status_code, above.status_code) == (400, 207, 400)
    assert max(len(answer.content) for answer in (alone, beside, above)) < 20_000
    assert len(alone.json()["errors"]) == 101
    assert alone.json()["errors"][-1]["rule"] in {"and 19900 more like these", "and 49900 more like these"}
    assert above.json()["errors"][-1]["rule"] == "and 19900 more like these"
    assert example_host.get("/api/jobs/refused-1").status_code == 404


@pytest.mark.parametrize(
    "job",
    [
        _job(payload={**EMAIL, "n" * 100_000: 1}),
        _job(payload={**EMAIL, "to": "a" * 100_000}),
        _job(**{"n" * 100_000: 1}),
    ],
    ids=["name in the payload", "value that the model refuses", "name in the envelope"],
)
def test_an_answer_repeats_no_long_text_of_its_caller(example_host: HostProcess, job: dict[str, Any]) -> None:
    answer = example_host.post("/api/jobs", job)

    assert answer.status_code == 400
    (problem,) = answer.json()["errors"]
    assert len(problem["field"]) + len(problem["rule"]) < 3_000


@pytest.mark.case("C-022")
@pytest.mark.case("C-025")
@pytest.mark.case("C-026")
@pytest.mark.case("C-029")
@pytest.mark.case("C-035")
@pytest.mark.case("C-039")
@pytest.mark.case("C-050")
@pytest.mark.parametrize("job,status,field,rule", [r[1:] for r in REFUSED_JOBS], ids=[r[0] for r in REFUSED_JOBS])
def test_a_bad_job_is_refused_by_field_and_rule_and_nothing_is_written(
    example_host: HostProcess, job: dict[str, Any], status: int, field: str, rule: str
) -> None:
    answer = example_host.post("/api/jobs", job)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    by_field = {error["field"]: error["rule"] for error in problem["errors"]}
    assert field in by_field, problem
    assert rule in by_field[field], problem
    assert example_host.get("/api/jobs/refused-1").status_code == 404


RAW_BODIES: list[tuple[str, bytes, int, str]] = [
    ("empty", b"", 400, "the body is empty; send a JSON object"),
    ("blank", b" \r\n", 400, "the body is empty; send a JSON object"),
    ("a byte order mark", b"\xef\xbb\xbf{}", 400, "not JSON: it begins with a byte order mark; send it without"),
    ("UTF-16", "{}".encode("utf-16"), 400, "not UTF-8 at byte 0"),
    ("not JSON", b"{", 400, "not JSON"),
    ("not UTF-8", b'{"type": "\xff"}', 400, "not UTF-8"),
    ("a list", b"[]", 400, "must be a JSON object"),
    ("NaN", b'{"type": "email.send.v1", "payload": NaN}', 400, "NaN"),
    ("digits", b'{"type": "email.send.v1", "payload": {"a": ' + b"9" * 5000 + b"}}", 400, "number has too many digits"),
    ("Infinity", b'{"type": "email.send.v1", "payload": {"a": -Infinity}}', 400, "Infinity"),
    ("a number beyond floats", b'{"type": "email.send.v1", "payload": 1e400}', 400, "too large"),
    ("a name twice", b'{"type": "a", "type": "b", "payload": {}}', 400, "twice"),
    ("nested 20,000 deep", b'{"payload": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", 400, "too deep"),
    ("over the size limit", b'{"payload": "' + b"x" * 1_100_000 + b'"}', 413, "limit is 1065536"),
    ("over the size limit and not JSON", b"[" * 1_065_537, 413, "limit is 1065536"),
    ("not JSON and as long as may be", b"[" * 1_065_536, 400, "too deep"),
]


@pytest.mark.case("C-033")
@pytest.mark.parametrize("body,status,detail", [r[1:] for r in RAW_BODIES], ids=[r[0] for r in RAW_BODIES])
@pytest.mark.parametrize("path", ["/api/jobs", "/api/jobs/batch"])
def test_a_bad_body_is_refused_before_it_is_looked_into(
    example_host: HostProcess, path: str, body: bytes, status: int, detail: str
) -> None:
    answer = example_host.post(path, body)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert detail in answer.json()["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml", ""])
def test_another_content_type_is_refused_with_the_right_one_named(example_host: HostProcess, content_type: str) -> None:
    answer = example_host.post("/api/jobs", _job(), **{"Content-Type": content_type})

    assert answer.status_code == 415
    assert "application/json" in answer.json()["detail"]


def test_a_compressed_body_is_refused_with_the_way_out(example_host: HostProcess) -> None:
    answer = example_host.post("/api/jobs", gzip.compress(json.dumps(_job()).encode()), **{"Content-Encoding": "GZip"})

    assert answer.status_code == 415
    assert answer.json()["detail"] == "send the body as it is, without Content-Encoding; got 'gzip'"


def test_an_item_of_a_batch_that_is_no_object_is_refused_without_words_of_python(example_host: HostProcess) -> None:
    answer = example_host.post("/api/jobs/batch", {"jobs": [None, [1], "x"]})

    assert answer.status_code == 207
    assert {error["rule"] for job in answer.json()["jobs"] for error in job["errors"]} == {"must be a JSON object"}


def test_nesting_of_101_levels_is_refused_and_100_pass_the_check(example_host: HostProcess) -> None:
    deep = b'{"type": "webhook.deliver.v1", "payload": {"url": "http://127.0.0.1:9/", "body": {"a": %s}}}'

    refused = example_host.post("/api/jobs", deep % (b"[" * 99 + b"]" * 99))

    assert refused.status_code == 400
    assert "100 levels" in refused.json()["errors"][0]["rule"]


def test_all_problems_of_a_job_are_told_at_once(example_host: HostProcess) -> None:
    answer = example_host.post("/api/jobs", _job(queue="Mail", tags="t" * 1001, idempotency_key=" "))

    assert {error["field"] for error in answer.json()["errors"]} == {"queue", "tags", "idempotency_key"}


def test_a_job_that_does_not_exist_is_a_404(example_host: HostProcess) -> None:
    answer = example_host.get("/api/jobs/no-such-job")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
