"""
What an app says of its settings at its start: all of them, in as many lines as that takes.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config.catalog import SETTINGS
from chokaq_core.hosting import ChokaQ


def facts_of(caplog: pytest.LogCaptureFixture, event_id: int) -> list[dict[str, Any]]:
    start = f'{{"event_id":{event_id},'
    lines = [record.getMessage() for record in caplog.records if start in record.getMessage()]
    assert all(len(line) < 32_768 for line in lines)
    return [json.loads(line[line.index(start) :]) for line in lines]


@pytest.mark.case("C-054")
def test_every_problem_is_told_however_many_there_are(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    unknown = [f"ChokaQ__Wrong__Setting{number}" for number in range(75)]

    with caplog.at_level(logging.INFO, "chokaq"):
        ChokaQ(tmp_path, environ=dict.fromkeys(unknown, "1"))

    told = [problem for facts in facts_of(caplog, 7000) for problem in facts["problems"]]
    assert len(told) == 75
    assert all(any(f"Setting{number}:" in problem for problem in told) for number in range(75))


def test_the_effective_value_of_every_setting_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "chokaq"):
        ChokaQ(tmp_path, environ={"ChokaQ__Retry__MaxAttempts": "7"})

    lines = facts_of(caplog, 7004)
    assert {name for facts in lines for name in facts["effective"]} >= {setting.name for setting in SETTINGS}
    assert [facts["sources"] for facts in lines if facts["sources"]] == [
        {"Retry.MaxAttempts": "environment variable ChokaQ__Retry__MaxAttempts"}
    ]
