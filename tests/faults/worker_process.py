"""
A worker in a process of its own, to be killed: `python -m tests.faults.worker_process FOLDER CAPACITY`.

It works on `jobs.db` in the folder until a file `stop` appears there, and writes every run to `runs.txt` before the
handler does anything else.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path

from chokaq_core.contracts import Job, JobContext, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.engine.scans import Rescue
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.policy.backoff import RetryRules
from chokaq_core.policy.heartbeat import HeartbeatRules
from chokaq_core.policy.rescue import RescueRules
from chokaq_core.policy.running import WorkerRules
from chokaq_core.stores.sqlite import SqliteStore
from tests.support.engine import RecordedEvents, RecordedWakes
from tests.support.polling import looks, wait_until

SECOND = timedelta(seconds=1)
RETRY = RetryRules(max_attempts=3, base_delay=timedelta(0), jitter_max_delay=timedelta(0))
RESCUE = RescueRules(fetched_job_timeout=SECOND, processing_zombie_timeout=1.5 * SECOND, scan_interval=20 * SECOND)
LIFETIME_SECONDS = 300.0
"""Nobody leaves a worker alone for so long."""
HEARTBEAT = HeartbeatRules(interval_min=0.1 * SECOND, interval_max=0.1 * SECOND)


class Quick(Job):
    """
    Done at once.
    """


class Long(Job):
    """
    Done when a file `go` appears.
    """


class LongAgain(Long):
    """
    The same, and may run again after a loss.
    """


class Deadly(Job):
    """
    Ends the process.
    """


class DeadlyAgain(Deadly):
    """
    The same, and may run again after a loss.
    """


def profile_for(folder: Path) -> Profile:
    """
    The handlers, which tell of their runs in the folder.
    """
    profile = Profile("faults")

    def note(ctx: JobContext) -> None:
        with (folder / "runs.txt").open("a", encoding="ascii") as runs:
            runs.write(f"{ctx.job_id} {ctx.attempt}\n")

    @profile.handler("quick.v1", job_type=Quick)
    def quick(job: Quick, ctx: JobContext) -> None:
        note(ctx)

    @profile.handler("long.v1", job_type=Long)
    @profile.handler("long_again.v1", job_type=LongAgain, rerun_after_loss=True)
    def long(job: Long, ctx: JobContext) -> None:
        note(ctx)
        wait_until((folder / "go").exists)

    @profile.handler("deadly.v1", job_type=Deadly)
    @profile.handler("deadly_again.v1", job_type=DeadlyAgain, rerun_after_loss=True)
    def deadly(job: Deadly, ctx: JobContext) -> None:
        note(ctx)
        os._exit(137)

    return profile


def runs_in(folder: Path) -> Counter[str]:
    """
    How often each job has been started.
    """
    path = folder / "runs.txt"
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return Counter(line.split()[0] for line in lines)


def rules_for(capacity: int) -> EngineRules:
    """
    A worker of short waits that fetches two jobs more than it runs.
    """
    worker = WorkerRules(max_concurrency=capacity, prefetch=2, polling_interval=0.02 * SECOND, idle_linger=timedelta(0))
    return EngineRules(worker=worker, retry=RETRY, heartbeat=HEARTBEAT)


def work(folder: Path, capacity: int) -> None:
    """
    Visits and scans until it is told to stop.
    """
    store = SqliteStore(folder / "jobs.db")
    store.prepare()
    catalog, events = Catalog([profile_for(folder)]), RecordedEvents()
    engine = Engine(store, catalog, RecordedWakes(), events, rules=rules_for(capacity))
    rescue = Rescue(store, catalog, RESCUE, RETRY, events)
    has_ended = threading.Event()

    def scan() -> None:
        for _ in looks(LIFETIME_SECONDS):
            if has_ended.is_set():
                return
            rescue.scan()

    threading.Thread(target=scan, daemon=True).start()
    for _ in looks(LIFETIME_SECONDS):
        if (folder / "stop").exists():
            break
        engine.attend()
    has_ended.set()
    engine.stop()


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
