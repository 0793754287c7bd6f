from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chokaq_core.cli import main

ROOT = Path(__file__).parents[3]


def test_valid_settings_are_listed_with_where_they_came_from(app_folder: Path) -> None:
    ended = _run(app_folder, {"ChokaQ__MaxRetries": "5"})
    lines = ended.stdout.splitlines()
    assert ended.returncode == 0
    assert lines[0] == ("Execution.DefaultTimeout                  00:15:00     default")
    assert "Retry.MaxAttempts                         5            environment variable ChokaQ__MaxRetries" in lines
    assert lines[-2:] == [
        (
            "Warning: MaxRetries: is the old name of Retry.MaxAttempts; rename it (environment variable "
            "ChokaQ__MaxRetries)"
        ),
        "The configuration is valid: 70 settings, 1 of them given.",
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


def test_the_folder_may_be_named(
    app_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (app_folder / "appsettings.json").write_text('{"ChokaQ": {"Worker": {"MaxConcurrency": 0}}}')
    for name in list(os.environ):
        if name.lower().startswith(("chokaq", "website_")):
            monkeypatch.delenv(name)
    assert main(["config", "check", "--app", str(app_folder)]) == 1
    assert "Worker.MaxConcurrency: must be a whole number" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["config"], ["config", "chek"], ["config", "check", "--ap"]])
def test_a_command_that_does_not_exist_is_refused_with_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: python -m chokaq_core" in capsys.readouterr().err


def _run(folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "chokaq_core", "config", "check"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
