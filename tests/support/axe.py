"""
axe-core, which finds faults of accessibility in a page: installed by npm for the tests in `tests/deck`.

    python -m tests.support.axe     installs it, where npm can
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HOME = Path(__file__).parents[1] / "deck"
SCRIPT = HOME / "node_modules" / "axe-core" / "axe.min.js"
LOCK = HOME / "package-lock.json"
STAMP = HOME / "node_modules" / ".installed-lock.json"


def is_installed() -> bool:
    """
    Whether axe-core is here, as the lock file says.
    """
    return SCRIPT.exists() and STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes()


def install() -> None:
    """
    Installs axe-core, or says why the tests with it are skipped.
    """
    if is_installed():
        return
    fault = "npm does not run here" if shutil.which("npm") is None else _npm_ci()
    if fault is None:
        shutil.copyfile(LOCK, STAMP)
    else:
        print(f"{fault}: tests of accessibility are skipped")  # noqa: T201


def _npm_ci() -> str | None:
    print("Installing axe-core into tests/deck/node_modules ...", flush=True)  # noqa: T201
    done = subprocess.run(["npm", "ci", "--silent"], cwd=HOME, check=False)  # noqa: S607
    return None if done.returncode == 0 else f"npm ci failed in {HOME}"


if __name__ == "__main__":
    install()
