"""
What the tests of the configuration share: an app's folder, and the problems that loading it raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config import load_settings
from chokaq_core.domain.errors import ConfigurationError

HOST = {
    "version": "2.0",
    "functionTimeout": "01:30:00",
    "extensions": {"queues": {"batchSize": 1, "newBatchThreshold": 0, "messageEncoding": "none"}},
}

Problems = Callable[..., list[str]]


@pytest.fixture
def app_folder(tmp_path: Path) -> Path:
    """
    The folder of an app whose host.json fits every setting that these tests give.
    """
    (tmp_path / "host.json").write_text(json.dumps(HOST))
    return tmp_path


@pytest.fixture
def problems(app_folder: Path) -> Problems:
    """
    Answers all problems of loading the app with an environment and overrides; an empty list when there are none.
    """

    def of(environ: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None) -> list[str]:
        try:
            load_settings(app_folder, environ or {}, overrides)
        except ConfigurationError as error:
            return list(error.problems)
        return []

    return of


@pytest.fixture
def write_settings(app_folder: Path) -> Callable[[Any], None]:
    """
    Writes appsettings.json: text as it is, anything else as JSON below `ChokaQ`.
    """

    def write(content: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        text = content if isinstance(content, str) else json.dumps({"ChokaQ": content})
        (app_folder / "appsettings.json").write_text(text, encoding="utf-8")

    return write
