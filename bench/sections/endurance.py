"""
One worker for a million jobs, and several workers on one file: memory stays flat, and so does the cost of a job.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.contenders.chokaq import ChokaQContender
from bench.figures import Figure, promised
from bench.rig import PATIENCE_SECONDS
from bench.size import Size

PORTION = 20_000
GROWTH = 1.15
"""How many times the memory of the first tenth a worker may have in the last."""
PROCESSES = (1, 2, 4, 8)


def measure(size: Size) -> Iterator[Figure]:
    """
    The long run, then the same number of jobs for more and more processes.
    """
    yield from _long_run(size.of(1_000_000, 100_000), size.of(PORTION, 10_000))
    jobs = size.of(20_000, 4_000)
    for processes in PROCESSES:
        rate = _side_by_side(processes, jobs)
        yield Figure(f"{processes} worker {'process' if processes == 1 else 'processes'} on one file", rate, "jobs/s")


def _long_run(jobs: int, portion: int) -> Iterator[Figure]:
    """
    One engine in a process that does nothing else: what other sections left behind would count as its memory.

    The allocator gives back sometimes more and sometimes less, so medians of tenths are compared.
    """
    command = [sys.executable, "-m", "bench.enduring_process", str(jobs), str(portion)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    memory, costs = told["memory"], told["costs"]
    tenth = max(1, len(memory) // 10)
    early, late = statistics.median(memory[:tenth]), statistics.median(memory[-tenth:])
    yield Figure(f"memory during the first {tenth * portion:,} jobs", early, "MiB")
    yield Figure(
        f"memory during the last {tenth * portion:,} of {jobs:,}", late, "MiB", note=f"peak {told['peak']:.0f} MiB"
    )
    yield Figure("memory: last tenth / first tenth", late / early, "×", budget=promised(GROWTH))
    ratio = statistics.mean(costs[-tenth:]) / statistics.mean(costs[:tenth])
    yield Figure("processor time of a job: last tenth / first tenth", ratio, "×")


def _side_by_side(processes: int, jobs: int) -> float:
    """
    Jobs a second of so many workers, each a process, from the moment that all of them are ready.
    """
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        contender = ChokaQContender(Path(folder), capacity=80, prefetch=64)
        contender.enqueue_bulk(jobs)
        command = [sys.executable, "-m", "bench.draining_process", folder]
        workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        try:
            _talk(workers, "ready")
            begun = time.perf_counter()
            _talk(workers, "done", say="go\n")
            seconds = time.perf_counter() - begun
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()
        left = contender.left()
        contender.close()
    if left:
        raise AssertionError(f"{left} of {jobs} jobs are not done")
    return jobs / seconds


def _talk(workers: list[subprocess.Popen[str]], expected: str, *, say: str | None = None) -> None:
    for worker in workers:
        if say is not None and worker.stdin is not None:
            worker.stdin.write(say)
            worker.stdin.flush()
    deadline = time.monotonic() + PATIENCE_SECONDS
    for worker in workers:
        said = worker.stdout.readline().strip() if worker.stdout is not None else ""
        if said != expected or time.monotonic() > deadline:
            raise AssertionError(f"a worker said {said!r} instead of {expected!r}")
