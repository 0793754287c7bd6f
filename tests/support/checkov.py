"""
checkov, which looks at the templates from outside, in an environment of its own.

It pins an older parser of Bicep than the tests use, so it cannot stand beside them.

    python -m tests.support.checkov    installs it into .venv-infra, for every Python that tests here
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.absent import Thing, without
from tests.support.infra import INFRA, ROOT

HOME = ROOT / ".venv-infra"
PROGRAM = HOME / "bin" / "checkov"
REQUIREMENTS = ROOT / "requirements-infra.txt"
SETTINGS = INFRA / ".checkov.yaml"
READY = HOME / ".ready"
"""A copy of the requirements that the environment meets, so that nothing is installed twice."""

_BROKEN_DOWN = re.compile(r"Failed to run check (\w+) on ")


@dataclass(frozen=True, slots=True)
class Findings:
    """
    What checkov makes of the templates when nothing is left out.

    Attributes:
        failed: the checks that some resource fails, or that break down over one.
        passed: how many checks of resources passed.
        unread: the files that its parser cannot read, from the folder of templates.
    """

    failed: frozenset[str]
    passed: int
    unread: tuple[str, ...]


def is_installed() -> bool:
    """
    Whether the version that is asked for is here.
    """
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    return PROGRAM.exists() and READY.exists() and READY.read_text(encoding="utf-8") == wanted


def install() -> None:
    """
    Installs it, or says why tests with it are skipped.
    """
    if is_installed():
        return
    print(f"Installing {REQUIREMENTS.name} into {HOME.name} ...", flush=True)  # noqa: T201 - a command's answer
    pip = [str(HOME / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(HOME)], [*pip, "-r", str(REQUIREMENTS)]):
        if subprocess.run(command, check=False).returncode:
            print("the installation failed: templates are not checked by checkov")  # noqa: T201 - the same
            return
    READY.write_text(REQUIREMENTS.read_text(encoding="utf-8"), encoding="utf-8")


def need() -> None:
    """
    Skips the test where it is not here, unless REQUIRE_CHECKOV says that it must be.
    """
    if not is_installed():
        without(Thing.CHECKOV, "checkov is not installed: python -m tests.support.checkov")


def look() -> Findings:
    """
    Has it check every template with every check that it knows for Bicep. Asks nothing of the network.
    """
    with tempfile.TemporaryDirectory() as folder:
        # It would find the settings beside the templates by itself.
        copy = shutil.copytree(INFRA, Path(folder, "infra"), ignore=shutil.ignore_patterns(SETTINGS.name))
        command = [
            str(PROGRAM),
            "--directory",
            str(copy),
            "--framework",
            "bicep",
            "--skip-download",
            "--output",
            "json",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout)["results"]
        unread = tuple(Path(path).relative_to(copy).as_posix() for path in answer["parsing_errors"])
    failed = {entry["check_id"] for entry in answer["failed_checks"]} | set(_BROKEN_DOWN.findall(done.stderr))
    return Findings(frozenset(failed), len(answer["passed_checks"]), unread)


if __name__ == "__main__":
    install()
