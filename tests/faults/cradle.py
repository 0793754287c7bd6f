"""
Gives birth to processes that are going to be killed.

A new interpreter for each would cost most of a second; one that has imported everything and has no threads forks in
milliseconds. `python -m tests.faults.cradle` reads orders line by line and answers how each life ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.doomed_life import Orders, live

ROOT = Path(__file__).parents[2]
HANG_SECONDS = 60


class Cradle:
    """
    The parent of doomed processes, itself a process of its own.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-W", "error", "-m", "tests.faults.cradle"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, orders: Orders) -> int:
        """
        Lives one life; answers its exit code, negative for a signal.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(orders.as_values()) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """
        Ends the parent.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(HANG_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()


def _serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _live(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _live(values: Mapping[str, Any]) -> None:
    """
    The child's whole life. It never returns, whatever happens.
    """
    signal.alarm(HANG_SECONDS)
    code = 1
    try:
        death = live(Orders(**values))
        met = {str(point): count for point, count in death.met.items()}
        (Path(values["folder"]) / "met.json").write_text(json.dumps(met), encoding="utf-8")
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it was, the parent must hear that the life was not as planned
        (Path(values["folder"]) / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
