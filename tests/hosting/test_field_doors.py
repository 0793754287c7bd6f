"""
Faults from the field against a whole host: through HTTP, through the Deck's routes, and beside other processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import azure.functions as func
import httpx
import pytest

from chokaq_core.config.catalog import SETTINGS
from chokaq_core.domain.errors import StoreUnavailableError
from chokaq_core.hosting import deck, http_jobs
from chokaq_core.hosting.core import Core
from chokaq_core.hosting.deck_routes import DECK_ROUTES, DeckRoute
from chokaq_core.hosting.http_health import health, live
from tests.support.host_process import HANG_SECONDS, ROOT, HostProcess, write_app

HANDLERS = """
import os

from chokaq_core.contracts import Job, Profile
from tests.support.polling import wait_until

GATES = Path(os.environ["GATES"])


class Work(Job):
    name: str = ""


class Sleep(Work): ...


class Spin(Work): ...


class Quick(Work): ...


class Exit(Work): ...


class Nul(Work): ...


class Longest(Work): ...


class Tagged(Work):
    tags: set[str]


def is_open(name: str) -> bool:
    return (GATES / name).exists()


work = Profile("work")


@work.handler("capture.v1")
def capture(job: Work) -> None:
    with (GATES / "runs.txt").open("a") as runs:
        runs.write(job.name + "\\n")
    wait_until(lambda: is_open(job.name), 600)


@work.handler("sleeps.v1")
async def sleep_on_the_loop(job: Sleep) -> None:
    wait_until(lambda: is_open(job.name), 600)


@work.handler("spins.v1")
async def spin_on_the_loop(job: Spin) -> None:
    while not is_open(job.name):
        pass


@work.handler("quick.v1")
def quick(job: Quick) -> str:
    return job.name


@work.handler("exits.v1")
def exit_at_once(job: Exit) -> None:
    sys.exit(int(job.name))


@work.handler("nul.v1")
def fail_with_nul(job: Nul) -> None:
    try:
        raise OSError("cause \\x00 of it")
    except OSError as cause:
        raise RuntimeError("upstream said: \\x00\\x01 bad\\x00") from cause


@work.handler("t" * 255)
def longest(job: Longest) -> str:
    return job.name


@work.handler("tagged.v1")
def count_tags(job: Tagged) -> int:
    return len(job.tags)


PROFILES = [work]
"""
KEY = "o" * 32


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """
    A host in India, whose handlers wait for files in its folder `gates`.
    """
    folder = tmp_path_factory.mktemp("field")
    (folder / "gates").mkdir()
    settings = {
        "TZ": "Asia/Kolkata",
        "GATES": str(folder / "gates"),
        "ChokaQ__Sqlite__Path": str(folder / "jobs.db"),
        "ChokaQ__Retry__MaxAttempts": "2",
        "ChokaQ__Retry__BaseDelay": "00:00:00.0100000",
        "ChokaQ__Retry__JitterMaxDelay": "00:00:00",
        "ChokaQ__Execution__HeartbeatIntervalMin": "00:00:01",
        "ChokaQ__Execution__HeartbeatIntervalMax": "00:00:01",
        "ChokaQ__Deck__OperateKey": KEY,
    }
    host = HostProcess(write_app(folder / "app", HANDLERS), settings).start()
    try:
        assert host.get("/api/jobs/nothing").status_code == 404, host.output()
        yield host
        for name in ("sleeps.v1", "spins.v1", "order-7731"):
            _open(host, name)
        assert host.stop() == 0, host.output()
    finally:
        host.kill()


def _gates(host: HostProcess) -> Path:
    return host.folder.parent / "gates"


def _open(host: HostProcess, name: str) -> None:
    (_gates(host) / name).touch()


def _enqueue(host: HostProcess, type_key: str, name: str = "", **options: object) -> str:
    answer = host.post("/api/jobs", {"type": type_key, "payload": {"name": name}, **options})
    assert answer.status_code == 202, answer.text
    job_id: str = answer.json()["id"]
    return job_id


def _on_deck(host: HostProcess, method: str, path: str, body: object = None) -> httpx.Response:
    headers = {"X-ChokaQ-Key": KEY, "X-ChokaQ-Deck": "1"}
    return httpx.request(method, host.url(f"/api/deck/{path}"), json=body, headers=headers, timeout=HANG_SECONDS)


CALLER = """
import json
import sys
from functools import partial
from pathlib import Path

from chokaq_core.contracts import Job
from chokaq_core.stores.sqlite import SqliteStore
from tests.contract.racing import at_once
from tests.support.engine import Setup, build_rig, profile_of


class Work(Job):
    name: str = ""


profile = profile_of(lambda job: None, "capture.v1", job_type=Work)
producer = build_rig(SqliteStore(Path(sys.argv[1])), [profile], Setup()).engine.producer
print("ready", flush=True)
for key in sys.stdin:
    call = partial(producer.enqueue, Work(name=key.strip()), idempotency_key=key.strip())
    print(json.dumps([[answer.job_id, answer.is_duplicate] for answer in at_once([call] * 8)]), flush=True)
"""


class Callers:
    """
    Fifty callers of one key: 26 through HTTP, and 24 through Python in three other processes.
    """

    def __init__(self, host: HostProcess, stack: ExitStack) -> None:
        self._host = host
        command = [sys.executable, "-c", CALLER, str(host.folder.parent / "jobs.db")]
        self._processes = [
            stack.enter_context(
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(3)
        ]
        for process in self._processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"

    def call(self, key: str) -> Counter[tuple[str, bool]]:
        """
        All call at once; answers how often each job id came back, as a duplicate or not.
        """
        with ThreadPoolExecutor(29) as pool:
            apart = [pool.submit(self._through_python, process, key) for process in self._processes]
            posts = [pool.submit(self._through_http, key) for _ in range(26)]
            answers = [answer for found in apart for answer in found.result()] + [post.result() for post in posts]
        assert len(answers) == 50
        return Counter(answers)

    def _through_python(self, process: subprocess.Popen[str], key: str) -> list[tuple[str, bool]]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{key}\n")
        process.stdin.flush()
        return [(job_id, is_duplicate) for job_id, is_duplicate in json.loads(process.stdout.readline())]

    def _through_http(self, key: str) -> tuple[str, bool]:
        body = {"type": "capture.v1", "payload": {"name": key}, "idempotency_key": key}
        answer = self._host.post("/api/jobs", body)
        assert answer.status_code in {200, 202}, answer.text
        found = answer.json()
        assert found["duplicate"] is (answer.status_code == 200)
        return found["id"], found["duplicate"]


@pytest.mark.case("C-020")
def test_fifty_callers_of_one_key_in_four_processes_make_one_job_at_a_time(host: HostProcess) -> None:
    key = "order-7731"
    with ExitStack() as stack:
        callers = Callers(host, stack)
        first = callers.call(key)
        (job_id,) = {job_id for job_id, _ in first}
        host.wait_for_status(job_id, "Processing")
        while_it_runs = callers.call(key)
        _open(host, key)
        host.wait_for_status(job_id, "Succeeded")
        (_gates(host) / key).unlink()
        afterwards = callers.call(key)
        _open(host, key)

    assert first == {(job_id, False): 1, (job_id, True): 49}
    assert while_it_runs == {(job_id, True): 50}
    (again,) = {found for found, _ in afterwards}
    assert afterwards == {(again, False): 1, (again, True): 49}
    host.wait_for_status(again, "Succeeded")
    assert again != job_id
    assert (_gates(host) / "runs.txt").read_text(encoding="utf-8") == f"{key}\n{key}\n"


@pytest.mark.case("C-020")
def test_a_repeat_that_lists_a_set_in_another_order_is_the_same_job(host: HostProcess) -> None:
    tags = [f"tag-{number}" for number in range(200)]
    job = {"type": "tagged.v1", "idempotency_key": "tagged", "delay": "01:00:00"}

    first = host.post("/api/jobs", {**job, "payload": {"tags": tags}})
    again = host.post("/api/jobs", {**job, "payload": {"tags": tags[::-1]}})

    assert (first.status_code, again.status_code) == (202, 200), again.text
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.case("C-003")
@pytest.mark.parametrize("way", ["sleeps.v1", "spins.v1"])
def test_the_host_answers_and_other_queues_go_on_while_a_handler_blocks_the_loop(host: HostProcess, way: str) -> None:
    blocking = _enqueue(host, way, way, queue="blocked")
    host.wait_for_status(blocking, "Processing")
    beats = {_heartbeat(host, blocking)}

    quick = _enqueue(host, "quick.v1", "done", queue="quick")
    assert host.wait_for_status(quick, "Succeeded")["result"] == "done"
    assert [host.get("/api/health/live").status_code for _ in range(5)] == [200] * 5
    host.wait_for(lambda: len(beats.union({_heartbeat(host, blocking)})) > 1, "a heartbeat")
    assert host.job(blocking)["status"] == "Processing"
    _open(host, way)

    ended = host.wait_for_status(blocking, "Succeeded", "Failed", "Zombie")
    assert (ended["status"], ended["attempts"]) == ("Succeeded", 1)


def _heartbeat(host: HostProcess, job_id: str) -> str:
    heartbeat: str = _on_deck(host, "GET", f"jobs/{job_id}").json()["heartbeat_at"]
    return heartbeat


@pytest.mark.case("C-013")
@pytest.mark.parametrize("code", ["0", "1"])
def test_a_handler_that_exits_costs_its_job_an_attempt_and_the_host_nothing(host: HostProcess, code: str) -> None:
    exiting = _enqueue(host, "exits.v1", code)
    others = [_enqueue(host, "quick.v1", str(number)) for number in range(10)]

    dead = host.wait_for_status(exiting, "Failed", "Zombie")

    assert (dead["status"], dead["attempts"], dead["failure"]["reason"]) == ("Failed", 2, "MaxRetriesExceeded")
    assert dead["failure"]["error_type"] == "SystemExit"
    assert {host.wait_for_status(job_id, "Succeeded")["attempts"] for job_id in others} == {1}
    assert host.process.poll() is None


@pytest.mark.case("C-016")
def test_an_error_with_nul_is_shown_by_api_and_deck_and_its_job_can_be_resurrected(host: HostProcess) -> None:
    job_id = _enqueue(host, "nul.v1")

    dead = host.wait_for_status(job_id, "Failed", "Zombie")
    shown = _on_deck(host, "GET", f"jobs/{job_id}").json()

    assert (dead["attempts"], dead["failure"]["reason"]) == (2, "MaxRetriesExceeded")
    for text in (dead["failure"]["details"], json.dumps(shown)):
        assert "upstream said" in text
        assert " bad" in text
        assert "of it" in text
        assert "\x00" not in text
    answer = _on_deck(host, "POST", "commands", {"command": "resurrect", "ids": [job_id]})
    assert answer.status_code == 200
    host.wait_for(lambda: host.job(job_id)["attempts"] == 2 and host.job(job_id)["failed_at"] != dead["failed_at"], "")


@pytest.mark.case("C-026")
@pytest.mark.parametrize(
    "due_at", ["2030-05-10T12:00:00Z", "2030-05-10T17:30:00+05:30", "2030-05-10T07:00:00-05:00", "2030-05-10t12:00:00z"]
)
def test_a_due_time_is_the_same_instant_in_utc_on_a_host_in_india(host: HostProcess, due_at: str) -> None:
    job_id = _enqueue(host, "quick.v1", due_at=due_at)

    assert host.job(job_id)["due_at"] == "2030-05-10T12:00:00.000000Z"
    assert _on_deck(host, "GET", f"jobs/{job_id}").json()["due_at"] == "2030-05-10T12:00:00.000000Z"


@pytest.mark.case("C-026")
def test_a_due_time_without_a_zone_is_refused_on_a_host_in_india(host: HostProcess) -> None:
    answer = host.post("/api/jobs", {"type": "quick.v1", "payload": {}, "due_at": "2030-05-10T12:00:00"})

    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, ["due_at"])


@pytest.mark.case("C-029")
def test_the_longest_names_work_from_end_to_end_and_are_told_apart_to_the_last_character(host: HostProcess) -> None:
    ids = [_enqueue(host, "t" * 255, name, queue="q" * 254 + name, id=name * 50) for name in "ab"]

    ended = [host.wait_for_status(job_id, "Succeeded") for job_id in ids]

    assert [job["result"] for job in ended] == ["a", "b"]
    assert [job["queue"] for job in ended] == ["q" * 254 + "a", "q" * 254 + "b"]


@pytest.mark.case("C-060")
def test_a_pause_holds_on_every_host_and_over_a_restart_until_it_is_taken_back(host: HostProcess) -> None:
    host.wait_for_status(_enqueue(host, "quick.v1", queue="sms"), "Succeeded")
    assert _on_deck(host, "PATCH", "queues/sms", {"is_paused": True}).status_code == 200
    other = HostProcess(host.folder, host.settings).start()
    try:
        waiting = [_enqueue(each, "quick.v1", queue="sms") for each in (host, other)]
        _run_beside(host, other)
        assert other.stop() == 0
        other.start()
        _run_beside(host, other)

        assert [host.job(job_id)["status"] for job_id in waiting] == ["Pending"] * 2
        queues = {row["name"]: row for row in _on_deck(other, "GET", "queues").json()["queues"]}
        assert (queues["sms"]["is_paused"], queues["sms"]["pending"]) == (True, 2)
        assert _on_deck(other, "PATCH", "queues/sms", {"is_paused": False}).status_code == 200
        assert [host.wait_for_status(job_id, "Succeeded")["attempts"] for job_id in waiting] == [1, 1]
    finally:
        other.kill()


def _run_beside(*hosts: HostProcess) -> None:
    """
    Each host has looked for work and done some.
    """
    for each in hosts:
        each.wait_for_status(_enqueue(each, "quick.v1", queue="beside"), "Succeeded")


class StoreAway:
    """
    A store that answers every call as a driver does whose server is away.
    """

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method
        raise StoreUnavailableError("[08S01] Server=tcp:db.example.net;Uid=app;Pwd=s3cret;")


@pytest.mark.case("C-057")
@pytest.mark.case("C-062")
def test_a_store_that_is_away_is_503_for_producers_and_not_for_liveness(tmp_path: Path) -> None:
    core = Core(tmp_path, environ={})
    core._store = StoreAway()  # noqa: SLF001 - a store in a state of the test's choosing
    job = _request("POST", "jobs", {"type": "quick.v1", "payload": {}})
    batch = _request("POST", "jobs/batch", {"jobs": [{"type": "quick.v1", "payload": {}}]})

    answers = [
        http_jobs.enqueue(job, core),
        http_jobs.enqueue_batch(batch, core),
        http_jobs.show(_request("GET", "jobs/a"), core),
        http_jobs.cancel(_request("DELETE", "jobs/a"), core),
        health(core),
    ]

    assert [answer.status_code for answer in answers] == [503] * 5
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers[:4])
    assert [word for answer in answers for word in (b"s3cret", b"db.example") if word in answer.get_body()] == []
    assert live().status_code == 200


@pytest.mark.case("C-057")
@pytest.mark.parametrize("route", DECK_ROUTES, ids=lambda route: route.name)
def test_the_deck_of_a_store_that_is_away_answers_503_and_names_nothing(tmp_path: Path, route: DeckRoute) -> None:
    core = Core(tmp_path, environ={"ChokaQ__Deck__OperateKey": KEY})
    core._store = StoreAway()  # noqa: SLF001 - as above
    body = {"is_paused": True} if route.name == "change_queue" else {"command": "purge", "ids": ["a"]}
    headers = {"X-ChokaQ-Key": KEY, "X-ChokaQ-Deck": "1"}
    request = _request(route.method, route.route, body, headers, name="default", pillar="hot")

    answer = deck.serve(route, request, core)

    assert answer.status_code == 503
    assert b"s3cret" not in answer.get_body()
    assert b"db.example" not in answer.get_body()


@pytest.mark.case("C-050")
def test_the_effective_settings_are_logged_once_with_secrets_masked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="chokaq"):
        core = Core(tmp_path, environ={"ChokaQ__Retry__MaxDelay": "1.00:00:00", "ChokaQ__Deck__OperateKey": KEY})
        core.runtime()
        core.runtime()
        core.stop()

    lines = [record.getMessage() for record in caplog.records if "ConfigurationLoaded" in record.getMessage()]
    told = [pair for line in lines for pair in json.loads(line[line.index("{") :])["effective"].items()]
    assert len(told) == len(dict(told))
    assert {setting.name for setting in SETTINGS} - dict(told).keys() == set()
    assert dict(told)["Retry.MaxDelay"] == "1.00:00:00"
    assert dict(told)["Retry.BaseDelay"] == "00:00:03"
    assert dict(told)["Deck.OperateKey"] == "***"
    assert KEY not in "".join(lines)


@pytest.mark.case("C-052")
@pytest.mark.parametrize(
    "reference",
    [
        "@Microsoft.KeyVault(SecretUri=https://kv-example.vault.azure.net/secrets/db/)",
        "@Microsoft.KeyVault(VaultName=kv-example;SecretName=db)",
        " @microsoft.keyvault(VaultName=kv-example;SecretName=db)",
    ],
)
def test_a_reference_that_was_not_resolved_is_no_key_of_the_deck(tmp_path: Path, reference: str) -> None:
    core = Core(tmp_path, environ={"ChokaQ__Deck__OperateKey": reference})
    headers = {"X-ChokaQ-Key": reference, "X-ChokaQ-Deck": "1"}

    answers = [deck.serve(route, _request(route.method, route.path, headers=headers), core) for route in DECK_ROUTES]
    shown = health(core)

    assert {answer.status_code for answer in answers} == {503}
    assert shown.status_code == 503
    assert b"Deck.OperateKey: Key Vault reference not resolved" in shown.get_body()


def _request(
    method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None, **values: str
) -> func.HttpRequest:
    return func.HttpRequest(
        method=method,
        url=f"https://app.example/api/{path}",
        headers={"Content-Type": "application/json", **(headers or {})},
        params={name: value for name, value in values.items() if name == "pillar"},
        route_params={"id": "a", **values},
        body=json.dumps(body).encode() if body is not None else b"",
    )
