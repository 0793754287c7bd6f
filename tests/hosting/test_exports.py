"""
When telemetry begins to be exported: at the first use, once, and whatever else is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from chokaq_core.domain.errors import ConfigurationError, StoreUnavailableError
from chokaq_core.hosting import core as core_module
from chokaq_core.hosting import runtime as runtime_module
from chokaq_core.hosting.core import Core
from chokaq_core.telemetry.setup import Targets

INVALID = {"Retry.MaxAttempts": 0}


@pytest.fixture
def turned_on(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """
    The environments that exports were turned on for.
    """
    calls: list[Mapping[str, str]] = []

    def turn_on(environ: Mapping[str, str], azure_monitor: object) -> Targets:
        calls.append(environ)
        return Targets(console=True)

    monkeypatch.setattr(core_module, "turn_on", turn_on)
    return calls


def test_making_an_app_exports_nothing_yet(turned_on: list[Mapping[str, str]], tmp_path: Path) -> None:
    assert not Core(tmp_path, environ={}).exports
    assert turned_on == []


def test_invalid_settings_are_told_to_whoever_listens(turned_on: list[Mapping[str, str]], tmp_path: Path) -> None:
    core = Core(tmp_path, overrides=INVALID, environ={})
    for _ in range(3):
        with pytest.raises(ConfigurationError):
            core.runtime()
    assert len(turned_on) == 1
    assert core.exports == Targets(console=True)


def test_exports_are_turned_on_once_however_often_the_store_is_away(
    turned_on: list[Mapping[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(runtime_module, "build_runtime", away)
    core = Core(tmp_path, environ={})
    for _ in range(3):
        with pytest.raises(StoreUnavailableError):
            core.runtime()
    assert len(turned_on) == 1


def test_a_process_that_ends_itself_sends_its_last_words_first(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(runtime_module, "flush", lambda timeout: steps.append(f"flush within {timeout.seconds} s"))
    monkeypatch.setattr(os, "_exit", lambda status: steps.append(f"exit {status}"))
    runtime_module._end_process()  # noqa: SLF001 - nothing public reaches it without ending the tests
    assert steps == ["flush within 3 s", "exit 70"]
