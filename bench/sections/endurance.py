"""
One worker for a million jobs, and several workers on one file: memory stays flat, and so does the cost of a job.
"""

from __future__ import annotations

import resource
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

PORTION = 50_000
GROWTH = 1.15
"""How many times the memory after the first tenth a worker may have at the end."""
PROCESSES = (1, 2, 4, 8)
_STATM = Path("/proc/self/statm")
_BYTES_A_MEGABYTE = 1 << 20


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
    One engine; jobs are enqueued in portions and drained, so that the backlog is never what fills the memory.
    """
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        contender = ChokaQContender(Path(folder), capacity=80, prefetch=64, has_telemetry=True)
        memory: list[float] = []
        costs: list[float] = []
        for _ in range(jobs // portion):
            contender.enqueue_bulk(portion)
            cpu = time.process_time()
            contender.drain()
            costs.append((time.process_time() - cpu) / portion * 1e6)
            memory.append(_megabytes())
        left = contender.left()
        contender.close()
    if left:
        raise AssertionError(f"{left} of {jobs} jobs are not done")
    tenth = max(1, len(memory) // 10)
    early, late = memory[tenth - 1], memory[-1]
    yield Figure(f"memory after {tenth * portion:,} jobs", early, "MiB")
    yield Figure(f"memory after {jobs:,} jobs", late, "MiB", note=f"peak {_peak_megabytes():.0f} MiB")
    yield Figure("memory: at the end / after the first tenth", late / early, "×", budget=promised(GROWTH))
    yield Figure("processor time of a job: last tenth / first tenth", _mean(costs[-tenth:]) / _mean(costs[:tenth]), "×")


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


def _megabytes() -> float:
    """
    What this process holds now; its peak where the system does not tell.
    """
    if not _STATM.exists():
        return _peak_megabytes()
    pages = int(_STATM.read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / _BYTES_A_MEGABYTE


def _peak_megabytes() -> float:
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _BYTES_A_MEGABYTE


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
