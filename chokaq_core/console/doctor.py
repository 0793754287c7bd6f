"""
`doctor`: whether the app can work here, each check with what to do about it.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.config import load_settings
from chokaq_core.config.host import HOST_FILE
from chokaq_core.console.exits import Exit
from chokaq_core.console.opening import enter
from chokaq_core.console.printing import write_json
from chokaq_core.domain.errors import ConfigurationError, StoreError, StoreRefusedError
from chokaq_core.domain.value import Value, asdict
from chokaq_core.hosting.stores import open_store
from chokaq_core.hosting.wakes import StorageConnection, wake_sender
from chokaq_core.telemetry import build_events
from chokaq_core.telemetry.text import safe_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from chokaq_core.config import Settings
    from chokaq_core.ports import Vitals

CLOCK_TOLERANCE = timedelta(seconds=5)
"""Every time that matters is the database's; a host's clock that is further off still confuses readers of its log."""


class Finding(Value):
    """
    What one check found; without advice all is well.
    """

    check: str
    found: str
    advice: str | None = None


def run_doctor(given: argparse.Namespace) -> int:
    """
    Prints every finding.
    """
    findings = list(_examine(given.app))
    if given.json:
        write_json([{"ok": finding.advice is None, **asdict(finding)} for finding in findings])
    else:
        for finding in findings:
            print(f"{'OK  ' if finding.advice is None else 'FAIL'}  {finding.check}: {safe_text(finding.found)}")
            if finding.advice is not None:
                print(f"      {safe_text(finding.advice)}")
    return Exit.FAILED if any(finding.advice is not None for finding in findings) else Exit.DONE


def _examine(app: Path) -> Iterator[Finding]:
    folder = enter(app)
    try:
        settings = load_settings(folder, os.environ)
    except ConfigurationError as error:
        yield from (Finding("settings", problem, "correct it and look again") for problem in error.problems)
        return
    yield Finding("settings", f"valid; {len(settings.warnings)} warning(s)")
    yield from (Finding("settings", warning) for warning in settings.warnings)
    yield _host_file(folder)
    yield from _driver(settings)
    yield from _database(settings)
    yield _wakes(settings)


def _host_file(folder: Path) -> Finding:
    """
    The file itself; its options are judged with the settings.
    """
    if (folder / HOST_FILE).is_file():
        return Finding(HOST_FILE, "fits the settings")
    return Finding(HOST_FILE, "is missing", "copy the one of this project; Azure Functions and the local host need it")


def _driver(settings: Settings) -> Iterator[Finding]:
    if settings.sqlserver is None:
        yield Finding("driver", "none needed by the embedded store")
        return
    from chokaq_core.stores.sqlserver.drivers import carried_driver, choose_driver  # noqa: PLC0415 - only where needed

    try:
        from chokaq_core.stores.sqlserver.odbc import pyodbc  # noqa: PLC0415 - raises where it cannot be loaded

        wanted = settings.sqlserver.connection.driver
        yield Finding("driver", choose_driver(wanted, pyodbc.drivers(), carried_driver()))
    except StoreRefusedError as error:
        yield Finding("driver", "none", str(error))


def _database(settings: Settings) -> Iterator[Finding]:
    try:
        store = open_store(settings, build_events(settings.metrics))
        with closing(store):
            before = time.time()
            vitals = store.vitals()
            middle = (before + time.time()) / 2
    except StoreRefusedError as error:
        yield Finding("database", f"refuses: {error}", "a person must look at schema, permissions or disk")
    except StoreError as error:
        yield Finding("database", f"does not answer: {error}", "check server name, firewall, network and credentials")
    else:
        yield Finding("database", "answers" if settings.sqlite_path or settings.sqlserver else "answers; in memory")
        yield _schema(vitals, is_embedded=settings.sqlserver is None)
        yield _clock(vitals.now, middle)


def _schema(vitals: Vitals, *, is_embedded: bool) -> Finding:
    state = vitals.schema
    if state.is_ready:
        return Finding("schema", f"version {state.version}")
    if is_embedded and state.version < state.expected_version:
        return Finding("schema", f"version {state.version}; the next start brings it to {state.expected_version}")
    missing = f"; missing tables: {', '.join(state.missing_tables)}" if state.missing_tables else ""
    found = f"version {state.version}, the code needs {state.expected_version}{missing}"
    return Finding("schema", found, "run: python -m chokaq_core schema apply")


def _clock(database_now: datetime, here: float) -> Finding:
    difference = database_now - datetime.fromtimestamp(here, UTC)
    found = f"this machine is {abs(difference.total_seconds()):.1f} s off the database"
    if abs(difference) <= CLOCK_TOLERANCE:
        return Finding("clock", found)
    return Finding("clock", found, "set this machine's clock; jobs go by the database's and are safe")


def _wakes(settings: Settings) -> Finding:
    name = f"storage queue {settings.functions.wake_queue_name}"
    if StorageConnection.find(os.environ) is None:
        return Finding("storage queue", "none configured; wakes stay within the process, and the poll finds the rest")
    try:
        waiting = wake_sender(settings, os.environ).waiting()
    except OSError as error:
        advice = "check AzureWebJobsStorage, the network, and the role Storage Queue Data Contributor"
        return Finding("storage queue", f"{name} cannot be reached: {error}", advice)
    return Finding("storage queue", f"{name} answers; {waiting} wake(s) wait")
