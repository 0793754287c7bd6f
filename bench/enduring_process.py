"""
One worker that drains portion after portion, in a process of its own: `python -m bench.enduring_process JOBS PORTION`.

Prints as JSON, for each portion, the memory after it in MiB and the processor time of a job in µs; and the peak in MiB.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from bench.contenders.chokaq import ChokaQContender

_STATUS = Path("/proc/self/status")
_BYTES_A_MEGABYTE = 1 << 20


def main(jobs: int, portion: int) -> None:
    """
    Enqueues and drains in turns, so that the backlog is never what fills the memory.

    Raises:
        AssertionError: jobs were left undone.
    """
    memory: list[float] = []
    costs: list[float] = []
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as folder:
        contender = ChokaQContender(Path(folder), capacity=80, prefetch=64, has_telemetry=True)
        for _ in range(jobs // portion):
            contender.enqueue_bulk(portion)
            begun = time.process_time()
            contender.drain()
            costs.append((time.process_time() - begun) / portion * 1e6)
            memory.append(_megabytes("VmRSS"))
        left = contender.left()
        contender.close()
    if left:
        raise AssertionError(f"{left} of {jobs} jobs are not done")
    print(json.dumps({"memory": memory, "costs": costs, "peak": _megabytes("VmHWM")}))


def _megabytes(what: str) -> float:
    """
    What this process holds now (VmRSS) or has held at most (VmHWM); its peak where the system does not tell.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="ascii").splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith(what))
        return int(kilobytes) / 1024
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _BYTES_A_MEGABYTE


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
