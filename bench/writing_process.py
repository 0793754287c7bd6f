"""
A process that enqueues to a file until it is killed: `python -m bench.writing_process FILE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from chokaq_core.domain.job import NewJob, new_job_id
from chokaq_core.stores.sqlite import SqliteStore

BATCH = 20


def write_for_ever(path: Path) -> None:
    """
    Says a word once it has written, then goes on and on.
    """
    store = SqliteStore(path)
    _write(store)
    print("writing", flush=True)
    while True:
        _write(store)


def _write(store: SqliteStore) -> None:
    jobs = [NewJob(new_job_id(), "bench.other.v1", '{"n":1}', queue="other") for _ in range(BATCH)]
    store.enqueue(jobs)


if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]))
