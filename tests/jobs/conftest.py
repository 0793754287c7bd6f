"""
Gives each test of a handler a working directory of its own, and no app settings but its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.recorded_run import RecordedRun

SETTINGS = (
    "MAIL_FROM",
    "MAIL_OUTBOX",
    "REPORTS_DIR",
    "SMTP_HOST",
    "SMTP_PASSWORD",
    "SMTP_PORT",
    "SMTP_STARTTLS",
    "SMTP_USER",
    "SSL_CERT_FILE",
)


@pytest.fixture(autouse=True)
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> RecordedRun:
    return RecordedRun()
