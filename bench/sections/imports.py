"""
What a cold start pays for importing the app.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, at_most, spread
from bench.size import Size

ROOT = Path(__file__).parents[2]
MODULES = ("azure.functions", "function_app")
TOP = 8
RATIO = 2.0

_PROGRAM = "import time; begun = time.perf_counter(); import {module}; print(time.perf_counter() - begun)"
_LINE = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)$", re.MULTILINE)


class ImportFailedError(Exception):
    """
    A module could not be imported; the text is the last line of what Python said.
    """


def measure(size: Size) -> Iterator[Figure]:
    """
    Both imports in fresh interpreters in turns, then who takes the time.
    """
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(size.of(7, 3)):
        for module, own in times.items():
            own.append(_milliseconds(module))
    for module, own in times.items():
        yield spread(f"import {module}", own, "ms")
    base, app = (statistics.median(own) for own in times.values())
    yield Figure("function_app / azure.functions", app / base, "×", budget=at_most(RATIO))
    runs = size.of(5, 2)
    ours = _by_package(MODULES[1], runs) - _by_package(MODULES[0], runs)
    for package, microseconds in ours.most_common(TOP):
        yield Figure(f"beyond azure.functions, in {package}", microseconds / 1_000, "ms", note="by -X importtime")


def _milliseconds(module: str) -> float:
    return float(_python("-c", _PROGRAM.format(module=module)).stdout) * 1_000


def _by_package(module: str, runs: int) -> Counter[str]:
    """
    Microseconds that each top-level package's own modules take, their imports not included; the best of several runs.
    """
    best: dict[str, int] = {}
    for _ in range(runs):
        report = _python("-X", "importtime", "-c", f"import {module}").stderr
        for microseconds, name in _LINE.findall(report):
            best[name] = min(best.get(name, int(microseconds)), int(microseconds))
    totals: Counter[str] = Counter()
    for name, microseconds in best.items():
        totals[name.partition(".")[0]] += microseconds
    return totals


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    process = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        raise ImportFailedError(process.stderr.strip().splitlines()[-1])
    return process
