"""
Many enqueues over HTTP at once, one job each, through a real queue service.
"""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.azurite import Azurite
from tests.support.host_process import HANG_SECONDS, HostProcess, write_app

HANDLERS = """
from chokaq_core.contracts import Job, Profile


class Nothing(Job):
    number: int


work = Profile("work")


@work.handler("nothing.v1")
async def nothing(job: Nothing) -> None:
    pass


PROFILES = [work]
"""
CLIENTS = 8
_ENDED = "SELECT (SELECT count(*) FROM JobsArchive WHERE AttemptCount = 1), (SELECT count(*) FROM JobsHot)"


@dataclass(frozen=True, slots=True)
class Burst:
    """
    What came of a burst.

    Attributes:
        archived: jobs that were archived after exactly one attempt.
        wakes: messages that were sent to the wake queue.
    """

    archived: int
    wakes: int
    seconds_to_accept: float
    seconds_to_archive: float


def run_burst(azurite: Azurite, folder: Path, count: int) -> Burst:
    """
    Posts so many jobs as fast as a few clients can, and waits until all are archived. Azurite must log its requests.
    """
    database = folder / "jobs.db"
    settings = {"AzureWebJobsStorage": azurite.connection, "ChokaQ__Sqlite__Path": str(database)}
    host = HostProcess(write_app(folder / "app", HANDLERS), settings).start()
    try:
        begun = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda first: _post(host, range(first, count, CLIENTS)), range(CLIENTS)))
        accepted = time.monotonic()
        host.wait_for(lambda: _counts(database)[1] == 0, "all jobs to be archived")
        archived = time.monotonic()
        sent = azurite.sent_to("chokaq-wake")
        return Burst(_counts(database)[0], sent, accepted - begun, archived - begun)
    finally:
        host.kill()


def _post(host: HostProcess, numbers: range) -> None:
    with httpx.Client(timeout=HANG_SECONDS) as client:
        for number in numbers:
            body = {"type": "nothing.v1", "payload": {"number": number}, "id": f"burst-{number}"}
            answer = client.post(host.url("/api/jobs"), json=body)
            assert answer.status_code == 202, answer.text


def _counts(database: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(database, timeout=HANG_SECONDS)) as connection:
        archived, hot = connection.execute(_ENDED).fetchone()
        return int(archived), int(hot)
