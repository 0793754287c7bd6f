"""
The connected parts of a process: store, engine and scans, made from valid settings.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

from chokaq_core.config.host import is_in_azure
from chokaq_core.domain.value import Value
from chokaq_core.engine.scans import Maintenance, Poll, Pulse, Rescue
from chokaq_core.engine.worker import Engine, EngineRules
from chokaq_core.hosting.commanding import job_commands, queue_commands
from chokaq_core.hosting.health import timer_periods
from chokaq_core.hosting.readings import Readings
from chokaq_core.hosting.stores import make_ready
from chokaq_core.hosting.wakes import wake_sender
from chokaq_core.telemetry.setup import flush

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chokaq_core.config import Settings
    from chokaq_core.contracts.catalog import Catalog
    from chokaq_core.contracts.middleware import Middleware
    from chokaq_core.contracts.serializer import JobSerializer
    from chokaq_core.engine.producer import Producer
    from chokaq_core.operations.job_commands import JobCommands
    from chokaq_core.operations.queue_commands import QueueCommands
    from chokaq_core.ports import Store
    from chokaq_core.telemetry import Telemetry

LAST_WORDS = timedelta(seconds=3)
"""What a process that ends itself waits for its telemetry to be sent."""
EXIT_EXHAUSTED = 70
"""Exit status of a process whose every slot is held by a handler that ignores its timeout (EX_SOFTWARE)."""


class Runtime(Value):
    """
    What the functions work with.
    """

    store: Store
    engine: Engine
    rescue: Rescue
    poll: Poll
    pulse: Pulse
    maintenance: Maintenance
    readings: Readings
    jobs: JobCommands
    queues: QueueCommands

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
    store: Store,
    settings: Settings,
    catalog: Catalog,
    telemetry: Telemetry,
    environ: Mapping[str, str],
    *,
    middleware: Sequence[Middleware],
    serializer: JobSerializer | None,
    mark_thread: Callable[[], object],
) -> Runtime:
    """
    Makes the store ready and puts the engine and the scans on it.

    Raises:
        StoreError: the store could not be made ready.
    """
    events = telemetry.events
    make_ready(store, settings, events)
    wakes = wake_sender(settings, environ)
    rules = EngineRules(
        worker=settings.worker,
        execution=settings.execution,
        retry=settings.retry,
        heartbeat=settings.heartbeat,
        envelope=settings.envelope,
        idempotency=settings.idempotency,
    )
    engine = Engine(
        store,
        catalog,
        wakes,
        events,
        rules=rules,
        middleware=middleware,
        serializer=serializer,
        tracing=telemetry.tracing,
        claims=store,
        mark_thread=mark_thread,
        on_exhausted=_end_process if is_in_azure(environ) else None,
    )
    return Runtime(
        store=store,
        engine=engine,
        rescue=Rescue(store, catalog, settings.rescue, settings.retry, events),
        poll=Poll(store, wakes, settings.functions.max_wakes_per_poll, events),
        pulse=Pulse(store),
        maintenance=Maintenance(store, settings.retention),
        readings=Readings(store, telemetry.gauges, settings.health, timer_periods(settings)),
        jobs=job_commands(store, engine, settings, events),
        queues=queue_commands(store, engine, settings, events),
    )


def _end_process() -> None:
    """
    Ends the process, its last words sent: the host starts another one, and nothing else frees a thread.
    """
    flush(LAST_WORDS)
    os._exit(EXIT_EXHAUSTED)
