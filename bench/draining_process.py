"""
One of several worker processes on a file: says that it is ready, drains when it is told to, says that it is done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.contenders.chokaq import ChokaQContender


def main() -> None:
    """
    Drains the file in the folder that is named on the command line.
    """
    contender = ChokaQContender(Path(sys.argv[1]), capacity=80, prefetch=64)
    print("ready", flush=True)
    sys.stdin.readline()
    contender.drain()
    print("done", flush=True)
    contender.close()


if __name__ == "__main__":
    main()
