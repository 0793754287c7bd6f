"""
The operators' commands, put together from valid settings.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from chokaq_core.operations.job_commands import JobCommands
from chokaq_core.operations.queue_commands import QueueCommands
from chokaq_core.operations.seals import Seals

if TYPE_CHECKING:
    from chokaq_core.config import Settings
    from chokaq_core.engine.worker import Engine
    from chokaq_core.ports import Events, Store


def job_commands(store: Store, engine: Engine, settings: Settings, events: Events) -> JobCommands:
    """
    The commands to jobs.
    """
    return JobCommands(
        store,
        events,
        Seals(_seal_key(settings)),
        check_payload=engine.producer.stored_text,
        wake=engine.expect_work,
    )


def queue_commands(store: Store, engine: Engine, settings: Settings, events: Events) -> QueueCommands:
    """
    The commands to queues.
    """
    return QueueCommands(store, events, longest_beat=settings.heartbeat.interval_max, wake=engine.expect_work)


def _seal_key(settings: Settings) -> bytes:
    """
    A key that all instances of the app share, since a preview and its command may reach different ones.

    It is as secret as what the settings hold. A token is no credential: it shows that its bearer, whose role is checked
    each time, has seen a preview.
    """
    keys = [key.reveal() for key in (settings.deck.operate_key, settings.deck.read_key) if key is not None]
    if (sql := settings.sqlserver) is not None:
        connection = sql.connection
        password = connection.password.reveal() if connection.password is not None else ""
        keys += [connection.server, connection.database, password]
    elif settings.sqlite_path is not None:
        keys.append(settings.sqlite_path)
    return hashlib.sha256("\0".join(["chokaq preview", *keys]).encode()).digest() if keys else os.urandom(32)
