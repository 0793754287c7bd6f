"""
Which source each queue trigger gets: this process, or a Storage queue where the function's connection names one.
"""

from __future__ import annotations

import logging
from threading import Event
from typing import TYPE_CHECKING

from chokaq_core.engine.wakes import IN_PROCESS, InProcessWakes, Wake
from chokaq_core.localhost.environment import find_setting, resolve_settings
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.host_json import HostJson
from chokaq_core.localhost.wake_source import ReceivedMessage, WakeSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chokaq_core.localhost.functions import QueueFunction

_log = logging.getLogger(__name__)

WAKE_QUEUE_SETTING = "ChokaQ__Functions__WakeQueueName"
DEFAULT_WAKE_QUEUE = "chokaq-wake"


class InProcessSource:
    """
    Wakes that the app sends within this process; they are gone when it ends.
    """

    def __init__(self, wakes: InProcessWakes) -> None:
        self._wakes = wakes
        self._closed = Event()

    def receive(self) -> ReceivedMessage | None:
        """
        Waits for a wake and takes it.
        """
        wake = self._wakes.receive(stop=self._closed)
        return ReceivedMessage(wake.id, wake.text, wake.delivery, wake.sent_at) if wake else None

    def delete(self, message: ReceivedMessage) -> None:
        """
        Nothing is left to do: taking an in-process wake removed it.
        """

    def put_back(self, message: ReceivedMessage) -> None:
        """
        Makes the wake receivable again.
        """
        self._wakes.put_back(Wake(message.id, message.inserted_at, message.delivery, message.body))

    def bury(self, message: ReceivedMessage) -> None:
        """
        Nothing is left to do: there is no poison queue in memory, and the log has the reason.
        """

    def close(self) -> None:
        """
        Ends the waiting of `receive`.
        """
        self._closed.set()
        self._wakes.interrupt()


def open_sources(
    functions: Sequence[QueueFunction], environ: Mapping[str, str], settings: HostJson | None = None
) -> dict[str, WakeSource]:
    """
    Opens the source of every queue function that can be served here, by function name. Connects to nothing.

    A function whose connection names a storage account reads its queue there. In-process wakes stand for one queue of
    the others: their only one, or the wake queue among several.

    Raises:
        HostError: a connection string is none, or an identity is to be used, which this host does not.
    """
    stored: dict[str, WakeSource] = {}
    in_process: dict[str, str] = {}
    for function in functions:
        queue = resolve_settings(function.queue_name, environ)
        connection = _connection_string(function, environ)
        if connection is None:
            in_process[function.handler.name] = queue
        else:
            stored[function.handler.name] = _storage_source(function, connection, queue, settings or HostJson())
    return {**stored, **_in_process_sources(in_process, environ)}


def _storage_source(function: QueueFunction, connection: str, queue: str, settings: HostJson) -> WakeSource:
    # Imported only now, since most runs read no queue and the SDK is slow to load.
    from chokaq_core.localhost.storage_queue import StorageQueueSource  # noqa: PLC0415

    try:
        return StorageQueueSource(connection, queue, settings)
    except ValueError as error:
        raise HostError(f"Function '{function.handler.name}': {_name_of(function)} is no connection string.") from error


def _in_process_sources(queue_names: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, WakeSource]:
    wake_queue = _wake_queue(set(queue_names.values()), environ)
    for name, queue in queue_names.items():
        if queue != wake_queue:
            _log.warning("Function '%s' gets no messages here: only Azure Storage could fill '%s'", name, queue)
    return {name: InProcessSource(IN_PROCESS) for name, queue in queue_names.items() if queue == wake_queue}


def _wake_queue(queue_names: set[str], environ: Mapping[str, str]) -> str:
    if len(queue_names) == 1:
        return next(iter(queue_names))
    return find_setting(environ, WAKE_QUEUE_SETTING) or DEFAULT_WAKE_QUEUE


def _connection_string(function: QueueFunction, environ: Mapping[str, str]) -> str | None:
    """
    The connection string of a function's storage account; None when there is none and wakes stay in the process.
    """
    connection = _name_of(function)
    for spelling in (f"AzureWebJobs{connection}", connection):
        for part in ("__accountName", "__queueServiceUri"):
            if find_setting(environ, spelling + part):
                raise HostError(
                    f"Function '{function.handler.name}' would read its queue with an identity, since {spelling + part}"
                    f" is set, and the local host does not: set {connection} to a connection string, or leave both out."
                )
        value = find_setting(environ, spelling)
        if value and value.strip():
            return value
    return None


def _name_of(function: QueueFunction) -> str:
    return function.connection or "AzureWebJobsStorage"
