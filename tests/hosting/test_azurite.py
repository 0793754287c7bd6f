"""
The whole way with a real queue service: HTTP, a message, the queue listener, the archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.storage.queue import QueueClient

from tests.support.azurite import Azurite
from tests.support.host_process import HostProcess, write_app
from tests.support.queues import count_of, queue_of, start_azurite, texts_of

HANDLERS = """
from chokaq_core.contracts import Job, JobContext, Profile


class Mark(Job):
    name: str


work = Profile("work")


@work.handler("mark.v1")
def mark(job: Mark, ctx: JobContext) -> None:
    with (Path(__file__).parent / "runs.txt").open("a", encoding="utf-8") as runs:
        runs.write(f"{job.name}\\n")


PROFILES = [work]
"""
SETTINGS = {
    "ChokaQ__Functions__IdleLinger": "00:00:00",
    "ChokaQ__Functions__PollInterval": "00:00:01",
    "ChokaQ__SqlServer__PollingInterval": "00:00:00.1",
}
NO_POLL = {**SETTINGS, "ChokaQ__Functions__PollInterval": "01:00:00"}


@pytest.fixture
def azurite(tmp_path: Path) -> Iterator[Azurite]:
    azurite = start_azurite(tmp_path / "azurite")
    yield azurite
    azurite.kill()


@pytest.fixture
def wakes(azurite: Azurite) -> Iterator[QueueClient]:
    """
    The wake queue, which nobody has made yet.
    """
    with queue_of(azurite, "chokaq-wake") as queue:
        yield queue


@pytest.fixture
def poison(azurite: Azurite) -> Iterator[QueueClient]:
    with queue_of(azurite, "chokaq-wake-poison") as queue:
        yield queue


def host_of(azurite: Azurite, folder: Path, settings: dict[str, str] = NO_POLL) -> HostProcess:
    environ = {**settings, "AzureWebJobsStorage": azurite.connection}
    return HostProcess(write_app(folder / "app", HANDLERS), environ).start()


def post(host: HostProcess, name: str, **options: object) -> None:
    answer = host.post("/api/jobs", {"type": "mark.v1", "payload": {"name": name}, "id": name, **options})
    assert answer.status_code == 202, answer.text


def runs(host: HostProcess) -> Counter[str]:
    path = host.folder / "runs.txt"
    return Counter(path.read_text(encoding="utf-8").split()) if path.exists() else Counter()


def test_an_enqueue_sends_a_real_message_that_brings_a_worker(
    azurite: Azurite, wakes: QueueClient, poison: QueueClient, tmp_path: Path
) -> None:
    host = host_of(azurite, tmp_path)
    try:
        post(host, "first")

        assert host.wait_for_status("first", "Succeeded")["attempts"] == 1
        host.wait_for(lambda: count_of(wakes) == 0, "the message to be gone")
        assert (count_of(poison), runs(host)) == (0, Counter(["first"]))
    finally:
        assert host.stop() == 0, host.output()


def test_with_the_poll_off_a_delayed_job_starts_by_its_own_wake_and_not_early(azurite: Azurite, tmp_path: Path) -> None:
    host = host_of(azurite, tmp_path)
    try:
        post(host, "later", delay="00:00:20")

        job = host.wait_for_status("later", "Succeeded")

        assert job["started_at"] >= job["due_at"]
        assert job["due_at"] > job["created_at"]
    finally:
        assert host.stop() == 0, host.output()


def test_a_queue_service_that_dies_in_the_middle_loses_nothing(azurite: Azurite, tmp_path: Path) -> None:
    """
    Without it no wake is sent or received: the poll finds the jobs and drains them itself.
    """
    host = host_of(azurite, tmp_path, SETTINGS)
    try:
        post(host, "before")
        host.wait_for_status("before", "Succeeded")

        azurite.kill()
        names = [f"during-{n}" for n in range(10)]
        for name in names:
            post(host, name)
        for name in names:
            assert host.wait_for_status(name, "Succeeded")["attempts"] == 1

        azurite.start()
        post(host, "after")
        assert host.wait_for_status("after", "Succeeded")["attempts"] == 1
        assert runs(host) == Counter(["before", *names, "after"])
        assert '"event_id": 3001' in host.output() or "EnqueueNotificationFailed" in host.output()
    finally:
        assert host.stop() == 0, host.output()


BAD_WAKES = {
    "base64 twice": "ZXlKMklqb3hmUT09",
    "bytes as Python prints them": "b'{\"v\":1}'",
    "noise": "\u00fe" * 20_000,
    "an old version": '{"v":0}',
    "not an object": "[1]",
}


@pytest.mark.case("C-056")
def test_bad_wakes_are_told_once_and_end_in_no_poison_queue_and_good_ones_work(
    azurite: Azurite, wakes: QueueClient, poison: QueueClient, tmp_path: Path
) -> None:
    wakes.create_queue()
    host = host_of(azurite, tmp_path)
    try:
        for text in (*BAD_WAKES.values(), '{"v":1,"queue":"no-such-queue"}', *['{"v":1}'] * 50):
            wakes.send_message(text)
        host.wait_for(lambda: count_of(wakes) == 0, "all messages to be gone")
        assert (texts_of(poison), host.output().count("WakeMalformed")) == ([], len(BAD_WAKES))

        post(host, "plain")
        host.wait_for_status("plain", "Succeeded")
        wakes.send_message("eyJ2IjoxfQ==")
        host.wait_for(lambda: count_of(wakes) == 0, "the base64 wake to be gone")
        assert host.output().count("WakeMalformed") == len(BAD_WAKES)
        assert runs(host) == Counter(["plain"])
    finally:
        assert host.stop() == 0, host.output()


@pytest.mark.case("C-056")
def test_a_host_json_with_another_encoding_than_the_senders_is_refused(azurite: Azurite, tmp_path: Path) -> None:
    folder = write_app(tmp_path / "app", HANDLERS)
    text = (folder / "host.json").read_text(encoding="utf-8")
    (folder / "host.json").write_text(text.replace('"messageEncoding": "none"', '"messageEncoding": "base64"'))
    host = HostProcess(folder, {**NO_POLL, "AzureWebJobsStorage": azurite.connection}).start()
    try:
        refused = host.post("/api/jobs", {"type": "mark.v1", "payload": {"name": "x"}})

        assert refused.status_code == 503
        assert any("messageEncoding" in problem for problem in refused.json()["problems"])
    finally:
        host.kill()
