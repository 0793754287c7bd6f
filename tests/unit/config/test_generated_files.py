from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from chokaq_core.config import load_settings
from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from chokaq_core.config.check import run_check
from chokaq_core.config.docs import generated_files

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs/configuration.md"


@pytest.mark.parametrize("path", ["docs/configuration.md", "appsettings.sample.json", "local.settings.sample.json"])
def test_a_generated_file_is_in_step_with_the_list_of_settings(path: str) -> None:
    written = (ROOT / path).read_text(encoding="utf-8")
    assert written == generated_files()[path], "run: python -m chokaq_core.config.docs"


def test_the_sample_of_the_settings_file_is_complete_and_valid(tmp_path: Path) -> None:
    sample = (ROOT / "appsettings.sample.json").read_text(encoding="utf-8")
    (tmp_path / "appsettings.json").write_text(sample, encoding="utf-8")
    (tmp_path / "host.json").write_bytes((ROOT / "host.json").read_bytes())
    settings = load_settings(tmp_path, {})
    assert all(row.source == "appsettings.json" for row in settings.effective())
    assert settings.warnings == ()
    assert settings.sqlserver is not None


def test_the_sample_for_local_work_is_complete_and_valid() -> None:
    sample = json.loads((ROOT / "local.settings.sample.json").read_text(encoding="utf-8"))
    settings = load_settings(ROOT, sample["Values"])
    missing = [row.name for row in settings.effective() if row.source == "default"]
    assert missing == ["SqlServer.ConnectionString"]
    assert settings.warnings == ()
    assert settings.sqlite_path == ".chokaq/jobs.db"
    assert settings.deck.allow_anonymous
    assert all(isinstance(value, str) for value in sample["Values"].values())


def test_the_manuals_example_for_production_passes_the_check_in_azure(tmp_path: Path) -> None:
    example = MANUAL.read_text(encoding="utf-8").partition("## An example for production")[2]
    file, app_settings = re.findall(r"```json\n(.*?)```", example, flags=re.DOTALL)[:2]
    (tmp_path / "appsettings.json").write_text(file, encoding="utf-8")
    (tmp_path / "host.json").write_bytes((ROOT / "host.json").read_bytes())
    environ = {**json.loads(app_settings), "WEBSITE_SITE_NAME": "billing", "WEBSITE_INSTANCE_ID": "4f2c"}
    lines: list[str] = []
    assert (run_check(tmp_path, environ, lines.append), lines[-1]) == (
        0,
        "The configuration is valid: 74 settings, 18 of them given.",
    )
    assert not [line for line in lines if line.startswith("Warning")]


@pytest.mark.parametrize("setting", [*SETTINGS, *QUEUE_SETTINGS], ids=lambda setting: setting.name)
def test_the_manual_tells_all_of_a_setting(setting: object) -> None:
    name = getattr(setting, "name", "")
    entry = MANUAL.read_text(encoding="utf-8").partition(f"### {name}\n\n")[2].partition("\n\n### ")[0]
    for line in ("- Environment: `ChokaQ__", "- Type: ", "- Default: ", "- Rule: must be ", "- Change it when "):
        assert entry.count(line) >= 1
