"""
Every setting is read by something: a setting that nobody reads is a promise that nobody keeps.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from chokaq_core.config.setting import Setting

ROOT = Path(__file__).parents[2]
DECLARING = "config"
"""The room that fills the values; what it does with them is not a use."""


@cache
def _attributes_read() -> frozenset[str]:
    """
    Every attribute name that the product reads outside of the configuration.
    """
    files = [
        file
        for file in (ROOT / "chokaq_core").rglob("*.py")
        if DECLARING not in file.relative_to(ROOT / "chokaq_core").parts[:1]
    ]
    return frozenset(
        node.attr
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


JOINED = {"grace.embedded": "worker.shutdown_grace_period", "grace.sqlserver": "worker.shutdown_grace_period"}
"""Settings of which the configuration itself picks one."""


def _fields(setting: Setting) -> list[str]:
    return [JOINED.get(path, path).rpartition(".")[2] for path in setting.to]


ALL = [*(SETTINGS.values() if isinstance(SETTINGS, dict) else SETTINGS), *QUEUE_SETTINGS]


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_every_setting_has_a_reader(setting: Setting) -> None:
    unread = [field for field in _fields(setting) if field not in _attributes_read()]

    assert not unread, f"{setting.name} goes to {', '.join(setting.to)}, which nothing reads"
