"""
Planted secrets, searched for in everything that the configuration says.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config import Settings, load_settings
from chokaq_core.config.check import run_check
from chokaq_core.domain.errors import ConfigurationError
from chokaq_core.domain.value import asdict
from tests.support.setting_cases import CASES, Case

PASSWORD = "PLANTEDpassword;with=pieces}"
READ_KEY = "PLANTEDreadkeyPLANTEDreadkeyPLANTED"
OPERATE_KEY = "PLANTEDoperatekeyPLANTEDoperatekey"
SECRETS = {
    "ChokaQ__SqlServer__ConnectionString": f"Server=db;Database=jobs;User ID=app;Password='{PASSWORD}'",
    "ChokaQ__Deck__ReadKey": READ_KEY,
    "ChokaQ__Deck__OperateKey": OPERATE_KEY,
}
BROKEN = {
    **SECRETS,
    "ChokaQ__SqlServer__ConnectionString": f"Server=db;Password={PASSWORD}",
    "ChokaQ__Deck__ReadKey": "PLANTED short",
    "ChokaQ__Deck__OperateKeys": OPERATE_KEY,
    "chokaq:deck:readkey": READ_KEY,
}


def test_the_settings_hold_the_secrets_and_show_none(app_folder: Path) -> None:
    settings = load_settings(app_folder, SECRETS)
    assert settings.sqlserver is not None
    assert settings.sqlserver.connection.password is not None
    assert settings.sqlserver.connection.password.reveal() == "PLANTEDpassword;with=pieces}"
    assert _nothing_planted(_shown(settings))


def test_the_effective_settings_mask_them(app_folder: Path) -> None:
    rows = load_settings(app_folder, SECRETS).effective()
    assert [row for row in rows if row.shown == "***"] == [
        ("SqlServer.ConnectionString", "***", "environment variable ChokaQ__SqlServer__ConnectionString"),
        ("Deck.ReadKey", "***", "environment variable ChokaQ__Deck__ReadKey"),
        ("Deck.OperateKey", "***", "environment variable ChokaQ__Deck__OperateKey"),
    ]


@pytest.mark.parametrize("name", ["SqlServer.ConnectionString", "Deck.ReadKey", "Deck.OperateKey"])
def test_a_secret_that_nobody_gives_is_told_apart_from_a_masked_one(name: str, app_folder: Path) -> None:
    [shown] = [row.shown for row in load_settings(app_folder, {}).effective() if row.name == name]
    assert shown in {"null", "not set"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_with_each_setting_broken_it_is_named_and_no_secret_shown(case: Case, app_folder: Path) -> None:
    lines: list[str] = []
    broken = next(iter(case.refused))
    assert run_check(app_folder, {**SECRETS, case.variable: broken}, lines.append) == 1
    assert any(line.startswith(f"  - {case.name}: ") for line in lines)
    assert _nothing_planted(lines)


def test_broken_secrets_are_named_and_not_shown(app_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_settings(app_folder, BROKEN)
    logging.getLogger("test").error("configuration", exc_info=refused.value)
    assert {problem.partition(":")[0] for problem in refused.value.problems} == {
        "SqlServer.ConnectionString",
        "Deck.ReadKey",
        "Deck.OperateKeys",
    }
    assert _nothing_planted([str(refused.value), repr(refused.value), caplog.text, *map(str, refused.value.args)])


@pytest.mark.parametrize("source", ["file", "code"])
def test_neither_does_another_source_show_them(
    source: str, app_folder: Path, write_settings: Callable[[Any], None]
) -> None:
    connection, keys = BROKEN["ChokaQ__SqlServer__ConnectionString"], [READ_KEY]
    overrides: dict[str, object] = {"SqlServer.ConnectionString": connection, "Deck.ReadKey": keys}
    if source == "file":
        write_settings({"SqlServer": {"ConnectionString": connection}, "Deck": {"ReadKey": keys}})
        overrides = {}
    with pytest.raises(ConfigurationError) as refused:
        load_settings(app_folder, {}, overrides)
    assert {problem.partition(":")[0] for problem in refused.value.problems} == {
        "SqlServer.ConnectionString",
        "Deck.ReadKey",
    }
    assert _nothing_planted([str(refused.value)])


def test_the_check_prints_masks(app_folder: Path) -> None:
    lines: list[str] = []
    assert run_check(app_folder, SECRETS, lines.append) == 0
    assert sum("***" in line for line in lines) == 3
    assert _nothing_planted(lines)


def _shown(settings: Settings) -> list[str]:
    return [
        str(settings),
        repr(settings),
        f"{settings}",
        repr(settings.effective()),
        repr(settings.sqlserver),
        repr(settings.deck),
        repr(asdict(settings.deck)),
        json.dumps(asdict(settings.deck), default=str),
        repr(settings.warnings),
    ]


def _nothing_planted(texts: list[str]) -> bool:
    found = [text for text in texts if "PLANTED" in text or "pieces" in text]
    assert found == []
    return True
