"""
Opening the store that the settings name. Opening connects to nothing; the first call does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import StoreError, StoreRefusedError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.ports import QueueChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chokaq_core.config import Settings
    from chokaq_core.policy.sqlserver import SqlServerSettings
    from chokaq_core.ports import Events, SchemaState, Store


def open_store(settings: Settings, events: Events) -> Store:
    """
    The store of the settings; told with a warning when it is not durable.

    Raises:
        StoreRefusedError: the libraries that SQL Server needs cannot be loaded.
    """
    if settings.sqlserver is not None:
        events.publish([Event(EventName.STORE_CHOSEN, facts={"store": "sqlserver", "is_durable": True})])
        return _open_sqlserver(settings, settings.sqlserver)
    path = Path(settings.sqlite_path) if settings.sqlite_path is not None else None
    events.publish([Event(EventName.STORE_CHOSEN, facts={"store": "sqlite", "is_durable": path is not None})])
    return _open_sqlite(settings, path)


def make_ready(store: Store, settings: Settings, events: Events) -> None:
    """
    Brings the schema up to date where that is allowed, and writes the first limits of queues.

    Raises:
        StoreRefusedError: the schema is not what the code needs.
        StoreError: the database did not answer.
    """
    state = prepare(store, events)
    if not state.is_ready:
        msg = f"the schema is version {state.version}, the code needs {state.expected_version}"
        raise StoreRefusedError(f"{msg}; missing tables: {', '.join(state.missing_tables) or 'none'}")
    _write_first_limits(store, settings)


def prepare(store: Store, events: Events) -> SchemaState:
    """
    Applies the migrations that are missing, where that is allowed, and tells how it goes.

    Raises:
        StoreError: it went wrong, or the database did not answer.
    """
    scripts: list[str] = []

    def begin(script: str) -> None:
        if not scripts:
            events.publish([Event(EventName.SQL_INITIALIZATION_STARTED, facts={"first_script": script})])
        scripts.append(script)

    try:
        state = store.prepare(begin)
    except StoreError as error:
        events.publish(_failures(scripts, error))
        raise
    if scripts:
        facts = {"version": state.version, "scripts": len(scripts)}
        events.publish([Event(EventName.SQL_INITIALIZATION_COMPLETED, facts=facts)])
    return state


def _failures(scripts: Sequence[str], error: StoreError) -> list[Event]:
    """
    What a failure is told as. A database that is away before anything began is told by whoever needed it.
    """
    if not scripts and not isinstance(error, StoreRefusedError):
        return []
    failed = Event(EventName.SQL_INITIALIZATION_FAILED, error=error)
    if not scripts:
        return [failed]
    return [Event(EventName.SQL_SCRIPT_EXECUTION_FAILED, facts={"script": scripts[-1]}, error=error), failed]


def _open_sqlserver(settings: Settings, server: SqlServerSettings) -> Store:
    from chokaq_core.stores.sqlserver import SqlServerStore  # noqa: PLC0415 - only the store that is used is imported

    return SqlServerStore(server, circuit_rules=settings.circuit, beat_timeout=settings.heartbeat.interval_min)


def _open_sqlite(settings: Settings, path: Path | None) -> Store:
    from chokaq_core.stores.sqlite import SqliteStore  # noqa: PLC0415 - only the store that is used is imported

    max_jobs = settings.in_memory_max_capacity if path is None else None
    return SqliteStore(path, circuit_rules=settings.circuit, max_jobs=max_jobs)


def _write_first_limits(store: Store, settings: Settings) -> None:
    """
    Gives queues that have no row yet the limits of the settings; a row, once there, is changed at run time only.
    """
    known = {queue.name for queue in store.queues()}
    for name, rules in settings.queues.items():
        if name not in known and (rules.max_workers is not None or rules.zombie_timeout is not None):
            store.change_queue(name, QueueChange(max_workers=rules.max_workers, zombie_timeout=rules.zombie_timeout))
