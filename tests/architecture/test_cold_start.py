from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED_LATER = (
    # HTTP: the first call
    "chokaq_core.deck",
    "chokaq_core.hosting.answers",
    "chokaq_core.hosting.bodies",
    "chokaq_core.hosting.deck",
    "chokaq_core.hosting.deck_models",
    "chokaq_core.hosting.deck_openapi",
    "chokaq_core.hosting.deck_page",
    "chokaq_core.hosting.health",
    "chokaq_core.hosting.http_health",
    "chokaq_core.hosting.http_jobs",
    "chokaq_core.hosting.http_models",
    "chokaq_core.hosting.openapi",
    "chokaq_core.operations",
    # the first visit or scan
    "chokaq_core.engine.worker",
    "chokaq_core.hosting.runtime",
    "chokaq_core.hosting.wakes",
    "chokaq_core.stores",
    "azure.core",
    "azure.identity",
    "azure.monitor",
    "azure.storage",
    "opentelemetry",
    "portalocker",
    "pyodbc",
    "sqlite3",
    # the first run of such a job
    "jobs.csv_source",
    "jobs.csv_summary",
    "jobs.mail",
    "email.headerregistry",
    "gzip",
    "pydantic.type_adapter",
    "smtplib",
    # a terminal
    "chokaq_core.cli",
    "chokaq_core.console",
    "chokaq_core.localhost",
    "starlette",
    # a misspelt setting
    "difflib",
)


@pytest.fixture(scope="module")
def imported() -> set[str]:
    environ = {name: value for name, value in os.environ.items() if not name.lower().startswith("chokaq")}
    program = "import sys, function_app; print(*sys.modules)"
    return set(_output(program, environ).split())


@pytest.mark.parametrize("module", NEEDED_LATER)
def test_a_start_of_the_app_does_not_wait_for(module: str, imported: set[str]) -> None:
    assert module not in imported


def test_a_start_of_the_app_registers_and_checks(imported: set[str]) -> None:
    assert {"chokaq_core.hosting.triggers", "chokaq_core.config.load", "chokaq_core.contracts.catalog"} <= imported


@pytest.mark.parametrize("module", [name for name in NEEDED_LATER if name.startswith(("chokaq_core", "jobs"))])
def test_a_module_that_is_named_here_exists(module: str) -> None:
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_a_model_of_the_apps_own_jobs_is_not_built_before_its_first_job() -> None:
    program = "import jobs; print([r.job_type.__pydantic_complete__ for profile in jobs.PROFILES for r in profile])"
    assert _output(program, dict(os.environ)).strip() == "[False, False, False]"


def _output(program: str, environ: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
