"""
What a cold start pays for importing the app.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, promised, spread
from bench.size import Size

ROOT = Path(__file__).parents[2]
MODULES = ("azure.functions", "function_app")
TOP = 8
RATIO = 2.0

_PROGRAM = "from time import process_time; begun = process_time(); import {module}; print(process_time() - begun)"
_LINE = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)$", re.MULTILINE)


class ImportFailedError(Exception):
    """
    A module could not be imported; the text is the last line of what Python said.
    """


def measure(size: Size) -> Iterator[Figure]:
    """
    Both imports in fresh interpreters in turns, all of it compiled before; then who takes the time.
    """
    with tempfile.TemporaryDirectory(prefix="chokaq-bench-") as cache:
        python = Python(Path(cache))
        for module in MODULES:
            python.milliseconds(module)
        yield from _times(python, size.of(15, 5))
        yield from _packages(python, size.of(5, 2))


def _times(python: Python, runs: int) -> Iterator[Figure]:
    times: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(runs):
        for module, own in times.items():
            own.append(python.milliseconds(module))
    for module, own in times.items():
        yield spread(f"import {module}", own, "ms")
    base, app = (statistics.median(own) for own in times.values())
    yield Figure("function_app / azure.functions", app / base, "×", budget=promised(RATIO))


def _packages(python: Python, runs: int) -> Iterator[Figure]:
    """
    Which packages' own modules take what is beyond the first import.
    """
    first, second = (_by_package(python, module, runs) for module in MODULES)
    for package, microseconds in (second - first).most_common(TOP):
        yield Figure(f"beyond azure.functions, in {package}", microseconds / 1_000, "ms", note="by -X importtime")


def _by_package(python: Python, module: str, runs: int) -> Counter[str]:
    """
    Microseconds of each top-level package's modules, what they import not included; of each module the best run.
    """
    best: dict[str, int] = {}
    for _ in range(runs):
        for name, microseconds in python.own_times(module):
            best[name] = min(best.get(name, microseconds), microseconds)
    totals: Counter[str] = Counter()
    for name, microseconds in best.items():
        totals[name.partition(".")[0]] += microseconds
    return totals


class Python:
    """
    Fresh interpreters in the project's folder, which keep their bytecode in a folder of their own.
    """

    def __init__(self, cache: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = kept | {"PYTHONPYCACHEPREFIX": str(cache)}

    def milliseconds(self, module: str) -> float:
        """
        The processor time of the import; other work on the machine counts for less in it than in the clock's.
        """
        return float(self._run("-c", _PROGRAM.format(module=module)).stdout) * 1_000

    def own_times(self, module: str) -> list[tuple[str, int]]:
        """
        Every module that is imported, with its microseconds.
        """
        report = self._run("-X", "importtime", "-c", f"import {module}").stderr
        return [(name, int(microseconds)) for microseconds, name in _LINE.findall(report)]

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        process = subprocess.run(command, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False)
        if process.returncode:
            raise ImportFailedError(process.stderr.strip().splitlines()[-1])
        return process
