"""
Every setting changes something: one row for each, with what is seen under its default and under another value.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chokaq_core.config.catalog import QUEUE_SETTINGS, SETTINGS
from tests.support.host_process import ROOT
from tests.support.settings_at_work.accepting import ACCEPTING
from tests.support.settings_at_work.attempts import ATTEMPTS, CIRCUITS
from tests.support.settings_at_work.functions import FUNCTIONS
from tests.support.settings_at_work.heartbeats import HEARTBEATS
from tests.support.settings_at_work.process import PROCESS
from tests.support.settings_at_work.stores import CLEAN_UP, STORES
from tests.support.settings_at_work.trial import Row, Trial
from tests.support.settings_at_work.watching import WATCHING

ROWS = (*ATTEMPTS, *HEARTBEATS, *PROCESS, *CIRCUITS, *ACCEPTING, *STORES, *CLEAN_UP, *WATCHING, *FUNCTIONS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_changed_setting_changes_what_happens(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    trials = [Trial(tmp_path, given) for given in (row.beside, {**row.beside, row.name: row.given})]

    assert [row.observe(trial) for trial in trials] == [row.before, row.after]


def test_every_setting_has_its_row_in_which_something_changes() -> None:
    names = [row.name.replace("Queues.reports.", "Queues.{queue}.") for row in ROWS]

    assert sorted(names) == sorted(setting.name for setting in (*SETTINGS, *QUEUE_SETTINGS))
    assert [row.name for row in ROWS if row.before == row.after] == []
