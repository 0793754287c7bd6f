"""
Finds, or makes, a Python with the real worker library of Azure Functions, which runs on 3.13 and later only.

`make test` calls this module: `python -m tests.support.worker_library`. Where this Python is older and a newer one is
on the machine, an environment for it is made in .venv313.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENV = ".venv313"
_IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 13))"
_HAS_LIBRARY = f"{_IS_NEW_ENOUGH}\nimport azure_functions_runtime, pydantic"


def find() -> str | None:
    """
    The path of an interpreter that has the library and what the app needs.
    """
    candidates = (sys.executable, str(ROOT / VENV / "bin" / "python"))
    return next((path for path in candidates if _runs(path, _HAS_LIBRARY)), None)


def find_interpreter() -> str | None:
    """
    The path of a Python 3.13 or later that really runs: a pyenv shim may exist and refuse.
    """
    return next((path for path in _candidates() if _runs(path, _IS_NEW_ENOUGH)), None)


def main() -> int:
    """
    Makes the environment where it is missing and can be made; tells why not, and lets the tests be skipped.
    """
    if find() is not None:
        return 0
    interpreter = find_interpreter()
    if interpreter is None:
        print("No Python 3.13 here: tests under the real worker library are skipped")  # noqa: T201
        return 0
    command = ["make", "--no-print-directory", "install", f"PYTHON={interpreter}", f"VENV={VENV}"]
    # The variables of a `make` that called this one would go before those of the command.
    environ = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"}
    }
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


def _candidates() -> Iterator[str]:
    yield sys.executable
    yield "python3.13"
    for root in _pyenv_roots():
        yield from (str(path) for path in sorted(root.glob("versions/3.1[3-9]*/bin/python")))
    yield from ("python3.14", "python3")


def _pyenv_roots() -> Iterator[Path]:
    try:
        answer = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False)  # noqa: S607
    except OSError:
        yield Path.home() / ".pyenv"
    else:
        yield from (Path(answer.stdout.strip() or "."), Path.home() / ".pyenv")


def _runs(path: str, code: str) -> bool:
    try:
        return subprocess.run([path, "-c", code], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
