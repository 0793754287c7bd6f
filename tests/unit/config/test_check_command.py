from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chokaq_core.cli import main

ROOT = Path(__file__).parents[3]


def test_valid_settings_are_listed_with_where_they_came_from(app_folder: Path) -> None:
    database = f"environment variable ChokaQ__Sqlite__Path: {app_folder / '.chokaq' / 'chokaq.db'}"
    ended = _run(app_folder, {"ChokaQ__MaxRetries": "5"})
    lines = ended.stdout.splitlines()
    rows = {name: f"{source}: {value}" for name, value, source in (line.split(maxsplit=2) for line in lines[:70])}
    assert ended.returncode == 0
    assert lines[0].startswith("Execution.DefaultTimeout                  00:15:00  ")
    assert rows["Execution.DefaultTimeout"] == "default: 00:15:00"
    assert rows["Retry.MaxAttempts"] == "environment variable ChokaQ__MaxRetries: 5"
    assert rows["Sqlite.Path"] == database
    assert lines[-2:] == [
        (
            "Warning: MaxRetries: is the old name of Retry.MaxAttempts; rename it (environment variable "
            "ChokaQ__MaxRetries)"
        ),
        "The configuration is valid: 70 settings, 2 of them given.",
    ]


def test_problems_are_listed_and_the_exit_code_tells(app_folder: Path) -> None:
    ended = _run(app_folder, {"ChokaQ__Retry__MaxAttempts": "0", "ChokaQ__Deck__ReadKey": "PLANTED"})
    assert ended.returncode == 1
    assert ended.stdout.splitlines() == [
        "2 invalid setting(s):",
        (
            "  - Retry.MaxAttempts: must be a whole number from 1 to 10000; got '0' (environment variable "
            "ChokaQ__Retry__MaxAttempts); 1 runs a job once, and no value retries without limit"
        ),
        (
            "  - Deck.ReadKey: must be at least 32 printable ASCII characters without blanks; the value is not shown "
            "(environment variable ChokaQ__Deck__ReadKey); make one with: python -c 'import secrets; "
            "print(secrets.token_urlsafe(32))'"
        ),
    ]
    assert ended.stderr == ""


def test_the_folder_may_be_named(app_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (app_folder / "appsettings.json").write_text('{"ChokaQ": {"Worker": {"MaxConcurrency": 0}}}')
    ended = _run(tmp_path_factory.mktemp("elsewhere"), {}, "--app", str(app_folder))
    assert ended.returncode == 1
    assert "Worker.MaxConcurrency: must be a whole number" in ended.stdout


@pytest.mark.parametrize("arguments", [[], ["config"], ["config", "chek"], ["config", "check", "--ap"]])
def test_a_command_that_does_not_exist_is_refused_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m chokaq_core" in capsys.readouterr().err


def _run(folder: Path, environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "chokaq_core", "config", "check", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
