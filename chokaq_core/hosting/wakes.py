"""
Wakes on a Storage queue, or within the process where no storage is configured.
"""

from __future__ import annotations

import logging
import math
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from chokaq_core.engine.wakes import IN_PROCESS, WAKE_TEXT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from chokaq_core.config import Settings
    from chokaq_core.ports import WakeSender

CONNECTION = "AzureWebJobsStorage"
IMMEDIATE_TTL_SECONDS = 120
NEVER = -1
MAX_PEEKED = 32
"""The service shows no more messages than this at once."""

_CONNECT_SECONDS = 2
_READ_SECONDS = 5
_RETRIES = 1
"""One more try serves a connection that had gone stale. The SDK's own three, 15 s apart, would hold up an enqueue."""


def wake_sender(settings: Settings, environ: Mapping[str, str]) -> WakeSender:
    """
    The sender for this environment.
    """
    connection = StorageConnection.find(environ)
    return IN_PROCESS if connection is None else StorageQueueWakes(settings.functions.wake_queue_name, connection)


class StorageConnection:
    """
    How the platform's own storage account is reached: a connection string, or an identity.

    The names are those of the Functions host, in any letter case, with `:` or `__`: `AzureWebJobsStorage`, or
    `AzureWebJobsStorage__accountName` or `__queueServiceUri`, with `__credential` and `__clientId` beside them.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    @classmethod
    def find(cls, environ: Mapping[str, str], name: str = CONNECTION) -> StorageConnection | None:
        """
        The connection of this name; None when there is none, or a blank one.
        """
        folded = {key.replace(":", "__").lower(): value.strip() for key, value in environ.items()}
        prefix = name.lower()
        values = {key.removeprefix(prefix): value for key, value in folded.items() if key.startswith(prefix) and value}
        return cls(values) if values.keys() & {"", "__accountname", "__queueserviceuri"} else None

    def open_queue(self, queue: str) -> Any:  # noqa: ANN401 - the SDK's client
        """
        A client of one queue, which sends text as it is and gives up soon. Opening it connects to nothing.

        Raises:
            ValueError: the connection string is none.
        """
        from azure.storage.queue import LinearRetry, QueueClient  # noqa: PLC0415 - a process that sends none stays light

        _quieten_sdk()
        patience: dict[str, Any] = {
            "connection_timeout": _CONNECT_SECONDS,
            "read_timeout": _READ_SECONDS,
            "retry_policy": LinearRetry(backoff=0, random_jitter_range=0, retry_total=_RETRIES),
        }
        if "" in self._values:
            return QueueClient.from_connection_string(self._values[""], queue, **patience)
        return QueueClient(self.service_uri, queue, credential=self._credential(), **patience)

    @property
    def service_uri(self) -> str:
        """
        The queue service's address, where an identity is used.
        """
        uri = self._values.get("__queueserviceuri")
        return uri if uri is not None else f"https://{self._values['__accountname']}.queue.core.windows.net"

    def _credential(self) -> Any:  # noqa: ANN401 - a token credential
        from azure.identity import DefaultAzureCredential, ManagedIdentityCredential  # noqa: PLC0415 - see open_queue

        client_id = self._values.get("__clientid")
        if self._values.get("__credential", "").lower() == "managedidentity":
            return ManagedIdentityCredential(client_id=client_id)
        return DefaultAzureCredential(managed_identity_client_id=client_id)


class StorageQueueWakes:
    """
    Sends wakes as plain text to a Storage queue, which is created if it is missing.

    The SDK and azure-identity are imported at the first wake, and a service that does not answer is given up on within
    a few seconds: an enqueue waits for its wake, and must not hang on it.
    """

    def __init__(self, queue: str, connection: StorageConnection) -> None:
        self._queue = queue
        self._connection = connection
        self._lock = threading.Lock()
        self._opened: Any = None

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Sends one wake; immediate ones expire after two minutes, delayed ones never and come no sooner than asked for.

        Raises:
            OSError: the queue could not be reached or refused.
        """
        # Rounded up: a wake that came before the due time would find nothing and be gone.
        seconds = math.ceil(delay.total_seconds()) if delay is not None else 0
        options = {"visibility_timeout": seconds, "time_to_live": NEVER if seconds else IMMEDIATE_TTL_SECONDS}
        self._ask(lambda client: client.send_message(WAKE_TEXT, **options))

    def waiting(self) -> int:
        """
        Wakes that a worker could take now, counted up to 32.

        The queue's own count would not do, since it includes hidden ones: of running workers, and of later times.

        Raises:
            OSError: the queue could not be reached or refused.
        """
        return len(self._ask(lambda client: client.peek_messages(max_messages=MAX_PEEKED)))

    def _ask(self, call: Any) -> Any:  # noqa: ANN401 - the SDK's client and answers
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # noqa: PLC0415 - see the class

        try:
            client = self._client()
            try:
                return call(client)
            except ResourceNotFoundError:
                _create(client)
                return call(client)
        except (AzureError, ValueError) as error:
            raise ConnectionError(f"the wake queue {self._queue} could not be reached: {error}") from error

    def _client(self) -> Any:  # noqa: ANN401 - the SDK's client
        with self._lock:
            if self._opened is None:
                self._opened = self._connection.open_queue(self._queue)
            return self._opened


def _quieten_sdk() -> None:
    """
    Keeps the SDK from logging the headers of every request, unless somebody has set its level.
    """
    sdk = logging.getLogger("azure")
    if sdk.level == logging.NOTSET:
        sdk.setLevel(logging.WARNING)


def _create(client: Any) -> None:  # noqa: ANN401 - the SDK's client
    from azure.core.exceptions import ResourceExistsError  # noqa: PLC0415 - see the class

    with suppress(ResourceExistsError):
        client.create_queue()
