"""
Kusto's own parser, for the queries of alerts, workbook and documents.

It is Microsoft's, runs on Node.js, and knows the columns that `tests/infra/kusto/tables.json` lists.

    python -m tests.support.kusto    installs it, where Node.js can
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.absent import Thing, without

HOME = Path(__file__).parents[1] / "infra" / "kusto"
PACKAGE = HOME / "node_modules" / "@kusto" / "language-service-next" / "Kusto.Language.Bridge.min.js"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What the parser makes of one query.

    Attributes:
        faults: everything that it objects to.
        columns: the columns of the result with their types.
    """

    faults: tuple[str, ...]
    columns: dict[str, str]


def is_installed() -> bool:
    """
    Whether the parser is here.
    """
    return PACKAGE.exists() and shutil.which("node") is not None


def install() -> None:
    """
    Installs the parser, or says why tests with it are skipped.
    """
    if is_installed():
        return
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not on the path: queries are not checked by Kusto's parser")  # noqa: T201 - a command's answer
        return
    done = subprocess.run([npm, "ci"], cwd=HOME, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"npm ci failed in {HOME}: queries are not checked by Kusto's parser")  # noqa: T201 - the same


def need() -> None:
    """
    Skips the test where the parser is not here, unless REQUIRE_KUSTO says that it must be.
    """
    if not is_installed():
        without(Thing.KUSTO, "Kusto's parser is not installed: python -m tests.support.kusto (needs Node.js)")


def analyse(queries: dict[str, str]) -> dict[str, Finding]:
    """
    Has the parser look at queries, by name.
    """
    done = subprocess.run(
        ["node", str(HOME / "analyse.js")],  # noqa: S607 - whichever Node.js the path names
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    return {name: Finding(tuple(one["faults"]), one["columns"]) for name, one in answer.items()}


if __name__ == "__main__":
    install()
