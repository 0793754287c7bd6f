"""
One of several processes that work on the same database: `python -m tests.contract.racer TASK ADDRESS VALUES`.

It says `ready`, waits for a line, does its task and writes what it found as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from chokaq_core.domain.job import NewJob
from chokaq_core.ports import Store, Turn
from tests.contract.racing import at_once, drain, has_succeeded
from tests.contract.sources import open_address


def drain_with_threads(store: Store, *, name: str, threads: int) -> list[str]:
    """
    Every id that one of the threads started.
    """
    found = at_once([partial(drain, store, f"{name}-t{number}") for number in range(threads)])
    return [job_id for ids in found for job_id in ids]


def drain_until(store: Store, *, name: str, total: int) -> list[str]:
    """
    Every id that this process started until so many jobs had succeeded in all.
    """
    return drain(store, name, partial(has_succeeded, store, total))


def enqueue_keys(store: Store, *, name: str, threads: int, keys: int) -> list[list[str]]:
    """
    Key, outcome and job id of each enqueue; every thread asks for every key, each starting at another one.
    """
    found = at_once([partial(enqueue_each_key, store, f"{name}-t{number}", number, keys) for number in range(threads)])
    return [entry for entries in found for entry in entries]


def enqueue_each_key(store: Store, name: str, first: int, keys: int) -> list[list[str]]:
    """
    Asks for each key once under an id of its own.
    """
    found = []
    for number in range(keys):
        key = f"key-{(number + 7 * first) % keys}"
        (item,) = store.enqueue([NewJob(f"{name}-{key}", "t", "1", idempotency_key=key)]).items
        found.append([key, str(item.outcome), item.job_id])
    return found


def claim_with_threads(store: Store, *, name: str, threads: int, want: int) -> list[list[Any]]:
    """
    Job id of each job that one of the threads claimed in a single turn, and whether it is a probe.
    """
    turns = [Turn(f"{name}-t{number}", 1, want=want) for number in range(threads)]
    answers = at_once([partial(store.turn, turn) for turn in turns])
    return [[job.lease.job_id, job.is_probe] for answer in answers for job in answer.claimed]


def prepare(store: Store, *, name: str) -> dict[str, Any]:
    """
    What state the schema is in once it was made ready.
    """
    state = store.prepare()
    return {"is_ready": state.is_ready, "version": state.version}


TASKS: dict[str, Callable[..., object]] = {
    "claim": claim_with_threads,
    "drain": drain_with_threads,
    "drain_until": drain_until,
    "enqueue_keys": enqueue_keys,
    "prepare": prepare,
}


def _main(task: str, address: str, values: str) -> None:
    with closing(open_address(address)) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        json.dump(TASKS[task](store, **json.loads(values)), sys.stdout)


if __name__ == "__main__":
    _main(*sys.argv[1:])
