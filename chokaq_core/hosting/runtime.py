"""
The connected parts of a process: store, engine and scans, made from valid settings.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.config.host import is_in_azure
from chokaq_core.domain.errors import StoreRefusedError
from chokaq_core.domain.events import Event, EventName
from chokaq_core.engine.scans import Poll, Pulse, Rescue
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.hosting.wakes import wake_sender
from chokaq_core.ports import QueueChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.config import Settings
    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.engine.producer import Producer
    from chokaq_core.ports import Events, Store

EXIT_EXHAUSTED = 70
"""Exit status of a process whose every slot is held by a handler that ignores its timeout (EX_SOFTWARE)."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """
    What the functions work with.
    """

    store: Store
    engine: Engine
    rescue: Rescue
    poll: Poll
    pulse: Pulse

    @property
    def producer(self) -> Producer:
        """
        Accepts jobs.
        """
        return self.engine.producer

    def stop(self) -> None:
        """
        Drains the engine and closes the store; a store that running handlers still beat to stays open.
        """
        if self.engine.stop():
            self.store.close()


def build_runtime(
    settings: Settings,
    catalog: Catalog,
    events: Events,
    environ: Mapping[str, str],
    *,
    middleware: Sequence[Middleware],
    serializer: JobSerializer | None,
) -> Runtime:
    """
    Opens the store and puts the engine and the scans on it.

    Raises:
        StoreError: the store could not be made ready.
    """
    store = _open_store(settings, events)
    wakes = wake_sender(settings, environ)
    rules = EngineRules(settings.worker, settings.execution, settings.retry, settings.heartbeat, settings.envelope)
    engine = Engine(
        store,
        catalog,
        wakes,
        events,
        rules=rules,
        middleware=middleware,
        serializer=serializer,
        on_exhausted=_end_process if is_in_azure(environ) else None,
    )
    return Runtime(
        store=store,
        engine=engine,
        rescue=Rescue(store, catalog, settings.rescue, settings.retry, events),
        poll=Poll(store, wakes, settings.functions.max_wakes_per_poll, events),
        pulse=Pulse(store),
    )


def _open_store(settings: Settings, events: Events) -> Store:
    from chokaq_core.stores.sqlite import SqliteStore  # noqa: PLC0415 - only the store that is used is imported

    path = Path(settings.sqlite_path) if settings.sqlite_path is not None else None
    store = SqliteStore(path)
    state = store.prepare()
    if not state.is_ready:
        raise StoreRefusedError(
            f"the schema is not ready: version {state.version}, code needs {state.expected_version}"
        )
    facts = {"store": "sqlite", "is_durable": path is not None}
    events.publish([Event(EventName.STORE_CHOSEN, facts=facts)])
    _write_first_limits(settings, store)
    return store


def _write_first_limits(settings: Settings, store: Store) -> None:
    """
    Gives queues that have no row yet the limits of the settings; a row, once there, is changed at run time only.
    """
    known = {queue.name for queue in store.queues()}
    for name, rules in settings.queues.items():
        if name not in known and (rules.max_workers is not None or rules.zombie_timeout is not None):
            change = QueueChange(max_workers=rules.max_workers, zombie_timeout=rules.zombie_timeout)
            store.change_queue(name, change)


def _end_process() -> None:
    """
    Ends the process at once: the host starts another one, and nothing else frees a thread.
    """
    os._exit(EXIT_EXHAUSTED)
