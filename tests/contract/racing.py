"""
Many callers at once, as threads and as processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from chokaq_core.domain.job import DEFAULT_QUEUE, Lease
from chokaq_core.domain.moves import complete
from chokaq_core.ports import Beat, Store, Turn

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

_ROOT = Path(__file__).parents[2]
_HANG = 240
"""Seconds that tell a hang from an answer."""


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """
    Makes all calls at the same moment, each on a thread of its own; answers in the order of the calls.
    """
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait(_HANG)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def race(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """
    Makes two calls at the same moment.
    """
    calls: list[Callable[[], Any]] = [first, second]
    answer, other_answer = at_once(calls)
    return answer, other_answer


def in_processes(count: int, task: str, address: str, **values: object) -> list[Any]:
    """
    Runs a task of `racer` in several processes that set out together; answers what each found.
    """
    racers = [_start(task, address, {**values, "name": f"p{number}"}) for number in range(count)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n", racer.communicate()
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    return [_answer(racer) for racer in racers]


def drain(store: Store, worker_id: str, is_over: Callable[[], bool] | None = None) -> list[str]:
    """
    Claims and completes until nothing is left, or until it is over, beating in between; answers every id it started.
    """
    is_over = is_over if is_over is not None else lambda: store.counts().hot == 0
    started: list[str] = []
    leases: tuple[Lease, ...] = ()
    for seq in range(1, 100_000):
        answer = store.turn(Turn(worker_id, seq, tuple(complete(lease, 1.0) for lease in leases), want=7))
        assert answer.stale == frozenset()
        leases = tuple(job.lease for job in answer.claimed)
        ids = [lease.job_id for lease in leases]
        started += ids
        assert set(store.beat(Beat(worker_id)).held) == set(ids)
        if not ids and is_over():
            return started
    raise AssertionError("the queue never ran dry")


def has_succeeded(store: Store, count: int) -> bool:
    """
    Whether so many jobs of the default queue have succeeded in all.
    """
    totals = store.totals().get(DEFAULT_QUEUE)
    return totals is not None and totals.succeeded >= count


def _start(task: str, address: str, values: dict[str, object]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.contract.racer", task, address, json.dumps(values)],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _answer(racer: subprocess.Popen[str]) -> Any:  # noqa: ANN401 - whatever the task found
    out, err = racer.communicate(timeout=_HANG)
    assert (racer.returncode, err) == (0, "")
    return json.loads(out)
