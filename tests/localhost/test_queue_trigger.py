from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from azure.functions.queue import QueueMessage

from chokaq_core.engine.wakes import InProcessWakes, PendingWakes
from chokaq_core.localhost.functions import Handler, QueueFunction
from chokaq_core.localhost.invocation import Invoker
from chokaq_core.localhost.queue_trigger import QueueListener
from chokaq_core.localhost.wake_source import ReceivedMessage
from chokaq_core.localhost.wake_sources import InProcessSource


class ScriptedSource:
    """
    A source that hands out what it was given, then says that it was closed; keeps what happened to each message.
    """

    def __init__(self, *bodies: str) -> None:
        sent_at = datetime(2026, 1, 1, tzinfo=UTC)
        self.waiting = deque(ReceivedMessage(f"m{n}", body, 1, sent_at) for n, body in enumerate(bodies))
        self.events: list[str] = []

    def receive(self) -> ReceivedMessage | None:
        return self.waiting.popleft() if self.waiting else None

    def delete(self, message: ReceivedMessage) -> None:
        self.events.append(f"delete {message.id}")

    def put_back(self, message: ReceivedMessage) -> None:
        self.events.append(f"put back {message.id}")
        again = ReceivedMessage(message.id, message.body, message.delivery + 1, message.inserted_at)
        self.waiting.append(again)

    def bury(self, message: ReceivedMessage) -> None:
        self.events.append(f"bury {message.id}")

    def close(self) -> None:
        self.events.append("close")


def function(handler: Callable[..., object] = print) -> QueueFunction:
    return QueueFunction(Handler("worker", "wake", handler), "chokaq-wake", "AzureWebJobsStorage")


def listen(source: ScriptedSource, handler: Callable[[QueueMessage], object], max_dequeue_count: int = 5) -> None:
    listener = QueueListener(function(handler), source, Invoker(Path("app"), 1), max_dequeue_count)
    asyncio.run(listener.run())


def test_a_message_that_was_handled_is_deleted() -> None:
    source = ScriptedSource('{"v":1}')
    bodies: list[bytes] = []

    def handler(wake: QueueMessage) -> None:
        bodies.append(wake.get_body())

    listen(source, handler)

    assert bodies == [b'{"v":1}']
    assert source.events == ["delete m0"]


def test_a_handler_gets_what_the_platform_tells_it() -> None:
    messages: list[QueueMessage] = []

    def handler(wake: QueueMessage) -> None:
        messages.append(wake)

    listen(ScriptedSource('{"v":1}'), handler)

    (message,) = messages
    assert message.id == "m0"
    assert message.get_json() == {"v": 1}
    assert message.dequeue_count == 1
    assert message.insertion_time == datetime(2026, 1, 1, tzinfo=UTC)
    assert message.expiration_time is None


def test_messages_are_handled_one_at_a_time_each_by_the_same_thread() -> None:
    running, most, threads = 0, 0, set()

    def handler(wake: QueueMessage) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.current_thread().name)
        running -= 1

    listen(ScriptedSource("a", "b", "c"), handler)

    assert most == 1
    assert threads == {"queue-worker_0"}


def test_an_async_handler_runs_on_the_event_loop() -> None:
    threads: list[str] = []

    async def handler(wake: QueueMessage) -> None:
        threads.append(threading.current_thread().name)

    listen(ScriptedSource("a"), handler)

    assert threads == ["MainThread"]


def test_a_failed_message_comes_again_with_a_higher_count() -> None:
    source = ScriptedSource("a")
    counts: list[int] = []

    def fails_once(wake: QueueMessage) -> None:
        counts.append(wake.dequeue_count)
        if len(counts) == 1:
            raise ValueError

    listen(source, fails_once)

    assert counts == [1, 2]
    assert source.events == ["put back m0", "delete m0"]


@pytest.mark.parametrize("max_dequeue_count", [5, 2])
def test_a_message_that_always_fails_is_poisoned_at_the_limit(
    max_dequeue_count: int, all_logs: pytest.LogCaptureFixture
) -> None:
    source = ScriptedSource("a")
    calls = 0

    def broken(wake: QueueMessage) -> None:
        nonlocal calls
        calls += 1
        raise ValueError("no luck")

    listen(source, broken, max_dequeue_count)

    assert calls == max_dequeue_count
    assert source.events == ["put back m0"] * (max_dequeue_count - 1) + ["bury m0"]
    assert f"'worker' is poisoned: it failed {max_dequeue_count} times" in all_logs.text
    assert "ValueError: no luck" in all_logs.text


def test_a_failing_message_does_not_hold_up_the_next() -> None:
    source = ScriptedSource("bad", "good")

    def handler(wake: QueueMessage) -> None:
        if wake.get_body() == b"bad":
            raise ValueError

    listen(source, handler, max_dequeue_count=1)

    assert source.events == ["bury m0", "delete m1"]


def test_a_stop_lets_the_message_in_hand_be_finished_and_leaves_the_rest() -> None:
    wakes = InProcessWakes()
    handled: list[str] = []

    async def stop_while_handling() -> None:
        wakes.send()
        wakes.send()

        def handler(wake: QueueMessage) -> None:
            listener.stop()
            handled.append("ended")

        listener = QueueListener(function(handler), InProcessSource(wakes), Invoker(Path("app"), 1), 5)
        await listener.run()

    asyncio.run(stop_while_handling())

    assert handled == ["ended"]
    assert wakes.pending() == PendingWakes(visible=1, hidden=0)


def test_a_stop_ends_a_listener_that_waits() -> None:
    async def stop_while_waiting() -> None:
        listener = QueueListener(function(), InProcessSource(InProcessWakes()), Invoker(Path("app"), 1), 5)
        running = asyncio.create_task(listener.run())
        await asyncio.sleep(0)
        listener.stop()
        await asyncio.wait_for(running, 60)

    asyncio.run(stop_while_waiting())
