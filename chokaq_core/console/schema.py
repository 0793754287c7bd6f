"""
`schema apply|status|script`.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from chokaq_core.config import load_settings
from chokaq_core.console.exits import Exit
from chokaq_core.console.opening import enter
from chokaq_core.console.printing import tell, write_json
from chokaq_core.domain.value import replace
from chokaq_core.hosting.stores import open_store, prepare
from chokaq_core.telemetry import build_events

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from chokaq_core.config import Settings
    from chokaq_core.ports import SchemaState


def run_apply(given: argparse.Namespace) -> int:
    """
    Brings the schema up to date, whatever `SqlServer.AutoCreateSqlTable` says: this is how it is done by hand.
    """
    settings = _settings(given.app)
    if settings.sqlserver is not None:
        settings = replace(settings, sqlserver=replace(settings.sqlserver, auto_create=True))
    events = build_events(settings.metrics)
    with closing(open_store(settings, events)) as store:
        state = prepare(store, events)
    return _show(state, is_json=given.json)


def run_status(given: argparse.Namespace) -> int:
    """
    Prints the schema's version and what is missing; changes nothing.
    """
    settings = _settings(given.app)
    with closing(open_store(settings, build_events(settings.metrics))) as store:
        state = store.vitals().schema
    return _show(state, is_json=given.json)


def run_script(given: argparse.Namespace) -> int:
    """
    Prints the SQL of all migrations, for whoever applies it by hand; scripts that were applied are skipped.
    """
    settings = _settings(given.app)
    if settings.sqlserver is None:
        tell("error: the embedded store makes its own schema; only SQL Server has a script")
        return Exit.FAILED
    from chokaq_core.stores.sqlserver.script import whole_script  # noqa: PLC0415 - only where SQL Server is used

    print(whole_script(settings.sqlserver.schema_name))
    return Exit.DONE


def _settings(app: Path) -> Settings:
    return load_settings(enter(app), os.environ)


def _show(state: SchemaState, *, is_json: bool) -> int:
    if is_json:
        write_json(
            {
                "version": state.version,
                "expected_version": state.expected_version,
                "missing_tables": list(state.missing_tables),
                "is_ready": state.is_ready,
            }
        )
    else:
        missing = f"; missing tables: {', '.join(state.missing_tables)}" if state.missing_tables else ""
        print(f"schema version {state.version}, needed {state.expected_version}{missing}")
    return Exit.DONE if state.is_ready else Exit.FAILED
