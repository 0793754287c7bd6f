"""
Azurite for tests, and its queues as tests look at them.
"""

from __future__ import annotations

from pathlib import Path

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import LinearRetry, QueueClient

from tests.support import azurite
from tests.support.absent import Thing, without
from tests.support.azurite import Azurite


def start_azurite(folder: Path, *, logs_requests: bool = False) -> Azurite:
    """
    An Azurite of the test's own; skips the test where it is not installed, unless REQUIRE_AZURITE says that it must be.
    """
    if not azurite.is_installed():
        without(Thing.AZURITE, "Azurite is not installed: python -m tests.support.azurite (needs Node.js 20)")
    folder.mkdir(parents=True, exist_ok=True)
    return Azurite(folder, logs_requests=logs_requests).start()


def queue_of(azurite: Azurite, name: str) -> QueueClient:
    """
    A client of one queue.
    """
    retries = LinearRetry(backoff=0, random_jitter_range=0, retry_total=1)
    return QueueClient.from_connection_string(azurite.connection, name, retry_policy=retries)


def count_of(queue: QueueClient) -> int:
    """
    All messages of a queue, hidden ones included; none where there is no such queue.
    """
    try:
        return queue.get_queue_properties().approximate_message_count or 0
    except ResourceNotFoundError:
        return 0


def texts_of(queue: QueueClient) -> list[str]:
    """
    The texts of up to 32 visible messages, which stay where they are.
    """
    try:
        return [str(message.content) for message in queue.peek_messages(max_messages=32)]
    except ResourceNotFoundError:
        return []
