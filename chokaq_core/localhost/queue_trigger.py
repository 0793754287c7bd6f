"""
Queue triggers: one listener per function, one message at a time (as batchSize 1 and newBatchThreshold 0 ask for).

A handler that raises sees the message again, until it has been handed out `maxDequeueCount` times; then the message
is poisoned.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from azure.functions.queue import QueueMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from chokaq_core.localhost.functions import QueueFunction
    from chokaq_core.localhost.invocation import Invoker
    from chokaq_core.localhost.wake_source import ReceivedMessage, WakeSource

T = TypeVar("T")

_log = logging.getLogger(__name__)


class QueueListener:
    """
    The life of one queue function.
    """

    def __init__(self, function: QueueFunction, source: WakeSource, invoker: Invoker, max_dequeue_count: int) -> None:
        self._handler = function.handler
        self._source = source
        self._invoker = invoker
        self._max_dequeue_count = max_dequeue_count
        # The same thread waits for messages and runs the handler, so a busy function takes no thread from HTTP.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"queue-{function.handler.name}")

    async def run(self) -> None:
        """
        Listens until `stop` is called; a message that is being handled then is finished first.
        """
        try:
            while (message := await self._in_thread(self._source.receive)) is not None:
                await self._handle(message)
        finally:
            self._thread.shutdown(wait=False)

    def stop(self) -> None:
        """
        Ends the listener after the message that is being handled, if any.
        """
        self._source.close()

    async def _handle(self, message: ReceivedMessage) -> None:
        try:
            await self._invoker.invoke(self._handler, _queue_message(message), threads=self._thread)
        except Exception:  # noqa: BLE001 - whatever a handler raises ends its own call only
            _log.exception("Queue function '%s' failed, delivery %d", self._handler.name, message.delivery)
            await self._give_up_or_repeat(message)
        else:
            await self._in_thread(self._source.delete, message)

    async def _give_up_or_repeat(self, message: ReceivedMessage) -> None:
        if message.delivery < self._max_dequeue_count:
            await self._in_thread(self._source.put_back, message)
            return
        await self._in_thread(self._source.bury, message)
        _log.error(
            "Message %s of queue function '%s' is poisoned: it failed %d times and is not delivered again",
            message.id,
            self._handler.name,
            message.delivery,
        )

    async def _in_thread(self, call: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


def _queue_message(message: ReceivedMessage) -> QueueMessage:
    return QueueMessage(  # type: ignore[no-untyped-call] # the library leaves its constructor bare
        id=message.id,
        body=message.body,
        dequeue_count=message.delivery,
        insertion_time=message.inserted_at,
        expiration_time=message.expires_at,
        time_next_visible=message.next_visible_at,
        pop_receipt=message.receipt,
    )
