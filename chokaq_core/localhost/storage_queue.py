"""
A Storage queue as the platform's queue trigger reads it.

A message that was taken is hidden for ten minutes, and again every five while its function runs. Taken too often, or
not readable in the encoding that host.json names, it goes to the poison queue `NAME-poison`. A queue that does not
exist is not made; it is looked for, like an empty one, at growing intervals.
"""

from __future__ import annotations

import base64
import binascii
import logging
import random
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import LinearRetry, QueueClient

from chokaq_core.domain.value import replace
from chokaq_core.localhost.wake_source import ReceivedMessage

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from azure.storage.queue import QueueMessage

    from chokaq_core.localhost.host_json import HostJson

_log = logging.getLogger(__name__)

HIDDEN_SECONDS = 600
RENEW_SECONDS = HIDDEN_SECONDS / 2
RENEW_AGAIN_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.1
POISON = "-poison"

_PATIENCE: dict[str, Any] = {
    "connection_timeout": 2,
    "read_timeout": 5,
    "retry_policy": LinearRetry(backoff=0, random_jitter_range=0, retry_total=1),
}


class StorageQueueSource:
    """
    One listener on a Storage queue.

    Args:
        connection: the account's connection string.
        queue: the queue's name.
        settings: how the messages are read and repeated.

    Raises:
        ValueError: the connection string is none.
    """

    def __init__(self, connection: str, queue: str, settings: HostJson) -> None:
        # It logs the headers of every request, and an empty queue is asked all the time.
        logging.getLogger("azure.core.pipeline.policies.http_logging_policy").setLevel(logging.WARNING)
        self._queue = QueueClient.from_connection_string(connection, queue, **_PATIENCE)
        self._poison = QueueClient.from_connection_string(connection, queue + POISON, **_PATIENCE)
        self._name = queue
        self._settings = settings
        self._closed = threading.Event()
        self._hold: _Hold | None = None
        self._is_away = False

    def receive(self) -> ReceivedMessage | None:
        """
        Waits for a message that can be handled, and takes it.
        """
        pauses = _Pauses(self._settings.max_polling_interval)
        while not self._closed.is_set():
            taken = self._take()
            if taken is None:
                self._closed.wait(pauses.next())
                continue
            message = self._usable(taken)
            if message is not None:
                self._hold = _Hold(self._queue, taken)
                return message
        return None

    def delete(self, message: ReceivedMessage) -> None:
        """
        Ends a message that was handled.
        """
        receipt = self._release(message)
        self._try(lambda: self._queue.delete_message(message.id, receipt))

    def put_back(self, message: ReceivedMessage) -> None:
        """
        Makes a message whose handler failed visible again, after the time that host.json sets.
        """
        receipt = self._release(message)
        seconds = round(self._settings.visibility_timeout.total_seconds())
        self._try(lambda: self._queue.update_message(message.id, receipt, visibility_timeout=seconds))

    def bury(self, message: ReceivedMessage) -> None:
        """
        Moves a message to the poison queue, which is made if it is missing.
        """
        receipt = self._release(message)
        self._try(lambda: self._move_to_poison(message.id, receipt, message.body))

    def close(self) -> None:
        """
        Ends the waiting of `receive`.
        """
        self._closed.set()

    def _take(self) -> QueueMessage | None:
        try:
            messages = self._queue.receive_messages(max_messages=1, visibility_timeout=HIDDEN_SECONDS)
            taken = next(iter(messages), None)
        except ResourceNotFoundError:
            taken = None
        except AzureError as error:
            self._tell_away(error)
            return None
        self._is_away = False
        return taken

    def _usable(self, taken: QueueMessage) -> ReceivedMessage | None:
        """
        The message as its function gets it; None for one that went to the poison queue instead.
        """
        message = _received(taken)
        if message.delivery > self._settings.max_dequeue_count:
            fault = f"it was taken {message.delivery} times"
        elif self._settings.message_encoding == "none":
            return message
        else:
            try:
                return replace(message, body=base64.b64decode(message.body, validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                fault = "Message decoding has failed! Check MessageEncoding settings"
        _log.warning("Message %s goes to '%s%s': %s", message.id, self._name, POISON, fault)
        self._try(lambda: self._move_to_poison(message.id, message.receipt, message.body))
        return None

    def _move_to_poison(self, message_id: str, receipt: str | None, body: str) -> None:
        try:
            self._poison.send_message(body, time_to_live=-1)
        except ResourceNotFoundError:
            with suppress(ResourceExistsError):
                self._poison.create_queue()
            self._poison.send_message(body, time_to_live=-1)
        self._queue.delete_message(message_id, receipt)

    def _release(self, message: ReceivedMessage) -> str | None:
        """
        Ends the renewals of the message that is held; answers the receipt that is valid now.
        """
        hold, self._hold = self._hold, None
        return message.receipt if hold is None else hold.end()

    def _try(self, step: Callable[[], object]) -> None:
        """
        Does what a lost queue service must not stop: the message would only come again.
        """
        try:
            step()
        except AzureError as error:
            self._tell_away(error)

    def _tell_away(self, error: AzureError) -> None:
        """
        Tells once that the queue service is away, until it has answered again.
        """
        if not self._is_away:
            _log.warning("The queue '%s' cannot be reached, and is looked for again: %s", self._name, _short(error))
        self._is_away = True


class _Hold:
    """
    Keeps one message hidden while its function runs.
    """

    def __init__(self, queue: QueueClient, message: QueueMessage) -> None:
        self._queue = queue
        self._message = message
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="queue-renewal", daemon=True)
        self._thread.start()

    def end(self) -> str | None:
        """
        Stops renewing; answers the last receipt.
        """
        self._ended.set()
        self._thread.join()
        return self._message.pop_receipt

    def _renew(self) -> None:
        pause = RENEW_SECONDS
        while not self._ended.wait(pause):
            try:
                renewed = self._queue.update_message(self._message, visibility_timeout=HIDDEN_SECONDS)
            except AzureError as error:
                _log.warning("A message could not be kept hidden: %s", _short(error))
                pause = RENEW_AGAIN_SECONDS
            else:
                self._message.pop_receipt = renewed.pop_receipt
                pause = RENEW_SECONDS


class _Pauses:
    """
    Growing, slightly random pauses between looks into an empty queue.
    """

    def __init__(self, longest: timedelta) -> None:
        self._longest = longest.total_seconds()
        self._pause = FIRST_PAUSE_SECONDS

    def next(self) -> float:
        """
        The next pause in seconds.
        """
        pause = min(self._pause, self._longest)
        self._pause = pause * 2
        return pause * random.uniform(0.8, 1.0)  # noqa: S311 - spreads listeners, guards nothing


def _received(message: QueueMessage) -> ReceivedMessage:
    return ReceivedMessage(
        id=message.id,
        body=message.content or "",
        delivery=message.dequeue_count or 1,
        inserted_at=message.inserted_on or datetime.now(UTC),
        expires_at=message.expires_on,
        next_visible_at=message.next_visible_on,
        receipt=message.pop_receipt,
    )


def _short(error: AzureError) -> str:
    return str(error).splitlines()[0][:200]
