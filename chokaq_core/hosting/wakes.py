"""
Wakes on a Storage queue, or within the process where no storage is configured.
"""

from __future__ import annotations

import threading
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


def wake_sender(settings: Settings, environ: Mapping[str, str]) -> WakeSender:
    """
    The sender for this environment.
    """
    values = {name.lower(): value for name, value in environ.items() if value.strip()}
    prefix = CONNECTION.lower()
    if any(name in values for name in (prefix, f"{prefix}__accountname", f"{prefix}__queueserviceuri")):
        return StorageQueueWakes(settings.functions.wake_queue_name, values)
    return IN_PROCESS


class StorageQueueWakes:
    """
    Sends wakes as plain text to a Storage queue, which is created if it is missing.

    The SDK and azure-identity are imported at the first wake, so that a process that never sends one stays light.
    """

    def __init__(self, queue: str, values: Mapping[str, str]) -> None:
        self._queue = queue
        self._values = values
        self._lock = threading.Lock()
        self._client: Any = None

    def send(self, *, delay: timedelta | None = None) -> None:
        """
        Sends one wake; immediate ones expire after two minutes, delayed ones never.

        Raises:
            OSError: the queue could not be reached or refused.
        """
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # noqa: PLC0415 - see the class

        seconds = round(delay.total_seconds()) if delay is not None else 0
        ttl = NEVER if seconds else IMMEDIATE_TTL_SECONDS
        try:
            client = self._connected()
            try:
                client.send_message(WAKE_TEXT, visibility_timeout=seconds, time_to_live=ttl)
            except ResourceNotFoundError:
                client.create_queue()
                client.send_message(WAKE_TEXT, visibility_timeout=seconds, time_to_live=ttl)
        except (AzureError, ValueError) as error:
            raise ConnectionError(f"the wake queue {self._queue} could not be reached: {error}") from error

    def _connected(self) -> Any:  # noqa: ANN401 - the SDK's client
        from azure.storage.queue import QueueClient  # noqa: PLC0415

        with self._lock:
            if self._client is None:
                prefix = CONNECTION.lower()
                if prefix in self._values:
                    self._client = QueueClient.from_connection_string(self._values[prefix], self._queue)
                else:
                    self._client = QueueClient(self._service_uri(), self._queue, credential=self._credential())
            return self._client

    def _service_uri(self) -> str:
        prefix = CONNECTION.lower()
        uri = self._values.get(f"{prefix}__queueserviceuri")
        return uri if uri is not None else f"https://{self._values[f'{prefix}__accountname']}.queue.core.windows.net"

    def _credential(self) -> Any:  # noqa: ANN401 - a token credential
        from azure.identity import DefaultAzureCredential, ManagedIdentityCredential  # noqa: PLC0415

        client_id = self._values.get(f"{CONNECTION.lower()}__clientid")
        if self._values.get(f"{CONNECTION.lower()}__credential", "").lower() == "managedidentity":
            return ManagedIdentityCredential(client_id=client_id)
        return DefaultAzureCredential(managed_identity_client_id=client_id)
