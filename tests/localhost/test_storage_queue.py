"""
A Storage queue as the local host reads it, with Azurite behind it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.queue import QueueClient

from chokaq_core.domain.value import replace
from chokaq_core.localhost import storage_queue
from chokaq_core.localhost.host_json import HostJson
from chokaq_core.localhost.storage_queue import StorageQueueSource
from tests.support.azurite import Azurite
from tests.support.polling import looks, wait_until
from tests.support.queues import count_of, queue_of, start_azurite, texts_of

PLAIN = HostJson(message_encoding="none", max_polling_interval=timedelta(milliseconds=100))
BASE64 = replace(PLAIN, message_encoding="base64")
WAKE = '{"v":1}'


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """
    One Azurite for the module.
    """
    azurite = start_azurite(tmp_path_factory.mktemp("azurite"))
    yield azurite
    azurite.kill()


@pytest.fixture
def queue(azurite: Azurite, request: pytest.FixtureRequest) -> Iterator[QueueClient]:
    """
    An empty queue of the test's own.
    """
    name = f"wake-{abs(hash(request.node.nodeid)):x}"[:40]
    with queue_of(azurite, name) as queue:
        queue.create_queue()
        yield queue


@pytest.fixture
def poison(azurite: Azurite, queue: QueueClient) -> Iterator[QueueClient]:
    """
    Its poison queue, which nobody has made.
    """
    with queue_of(azurite, f"{queue.queue_name}-poison") as poison:
        yield poison


def source_of(azurite: Azurite, queue: QueueClient, settings: HostJson = PLAIN) -> StorageQueueSource:
    return StorageQueueSource(azurite.connection, queue.queue_name, settings)


def test_a_message_is_hidden_for_ten_minutes_and_gone_when_it_was_handled(azurite: Azurite, queue: QueueClient) -> None:
    queue.send_message(WAKE)
    source = source_of(azurite, queue)

    message = source.receive()

    assert message is not None
    assert (message.body, message.delivery) == (WAKE, 1)
    assert message.next_visible_at is not None
    hidden = message.next_visible_at - datetime.now(UTC)
    assert timedelta(minutes=9) < hidden <= timedelta(minutes=10, seconds=5)
    assert (texts_of(queue), count_of(queue)) == ([], 1)
    source.delete(message)
    assert count_of(queue) == 0


def test_a_message_that_was_put_back_comes_again_with_a_higher_count(azurite: Azurite, queue: QueueClient) -> None:
    queue.send_message(WAKE)
    source = source_of(azurite, queue)

    deliveries = []
    for _ in range(3):
        message = source.receive()
        assert message is not None
        deliveries.append(message.delivery)
        source.put_back(message)

    assert deliveries == [1, 2, 3]


def test_after_a_failure_it_stays_hidden_for_the_time_that_host_json_sets(azurite: Azurite, queue: QueueClient) -> None:
    queue.send_message(WAKE)
    source = source_of(azurite, queue, replace(PLAIN, visibility_timeout=timedelta(hours=1)))
    message = source.receive()
    assert message is not None

    source.put_back(message)

    assert (texts_of(queue), count_of(queue)) == ([], 1)


def test_a_buried_message_is_in_the_poison_queue(azurite: Azurite, queue: QueueClient, poison: QueueClient) -> None:
    source = source_of(azurite, queue)
    for text in ("one", "two"):
        queue.send_message(text)
        message = source.receive()
        assert message is not None
        source.bury(message)

    assert texts_of(poison) == ["one", "two"]
    assert count_of(queue) == 0


def test_one_that_was_taken_too_often_goes_there_unhandled(
    azurite: Azurite, queue: QueueClient, poison: QueueClient
) -> None:
    queue.send_message("crashes every host")
    for _ in range(2):
        queue.receive_message(visibility_timeout=1)
        wait_until(lambda: texts_of(queue))
    queue.send_message(WAKE)
    source = source_of(azurite, queue, replace(PLAIN, max_dequeue_count=2))

    message = source.receive()

    assert message is not None
    assert message.body == WAKE
    assert texts_of(poison) == ["crashes every host"]


@pytest.mark.case("C-056")
def test_with_base64_expected_plain_text_goes_to_the_poison_queue_unhandled(
    azurite: Azurite, queue: QueueClient, poison: QueueClient, all_logs: pytest.LogCaptureFixture
) -> None:
    queue.send_message(WAKE)
    queue.send_message("eyJ2IjoxfQ==")
    source = source_of(azurite, queue, BASE64)

    message = source.receive()

    assert message is not None
    assert message.body == WAKE
    assert texts_of(poison) == [WAKE]
    assert all_logs.text.count("Message decoding has failed! Check MessageEncoding settings") == 1


def test_a_message_stays_hidden_as_long_as_its_function_runs(
    azurite: Azurite, queue: QueueClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_queue, "HIDDEN_SECONDS", 2)
    monkeypatch.setattr(storage_queue, "RENEW_SECONDS", 0.2)
    queue.send_message(WAKE)
    source = source_of(azurite, queue)
    message = source.receive()
    assert message is not None
    hold = source._hold  # noqa: SLF001 - each renewal changes its receipt
    assert hold is not None

    others, receipts = list[object](), set[object]()
    for _ in looks():
        others.append(queue.receive_message(visibility_timeout=1))
        receipts.add(hold._message.pop_receipt)  # noqa: SLF001 - the same
        if len(receipts) * storage_queue.RENEW_SECONDS > 2 * storage_queue.HIDDEN_SECONDS:
            break
    source.delete(message)

    assert others == [None] * len(others)
    assert count_of(queue) == 0


def test_a_missing_queue_is_waited_for_and_not_made(azurite: Azurite) -> None:
    with queue_of(azurite, "made-later") as queue:
        source = source_of(azurite, queue)
        received: list[object] = []
        thread = threading.Thread(target=lambda: received.append(source.receive()), daemon=True)
        thread.start()
        assert texts_of(queue) == []
        with pytest.raises(Exception, match="specified queue does not exist"):
            queue.get_queue_properties()

        queue.create_queue()
        queue.send_message(WAKE)
        thread.join(60)

        assert len(received) == 1
        assert received[0] is not None


def test_closing_ends_the_waiting(azurite: Azurite, queue: QueueClient) -> None:
    source = source_of(azurite, queue)
    received: list[object] = []
    thread = threading.Thread(target=lambda: received.append(source.receive()), daemon=True)
    thread.start()

    source.close()
    thread.join(60)

    assert received == [None]


def test_a_service_that_is_away_is_told_once_and_found_again(
    tmp_path_factory: pytest.TempPathFactory, all_logs: pytest.LogCaptureFixture
) -> None:
    azurite = start_azurite(tmp_path_factory.mktemp("azurite"))
    with queue_of(azurite, "chokaq-wake") as queue:
        queue.create_queue()
        source = source_of(azurite, queue)
        azurite.kill()
        received: list[object] = []
        thread = threading.Thread(target=lambda: received.append(source.receive()), daemon=True)
        thread.start()
        wait_until(lambda: "cannot be reached" in all_logs.text)

        azurite.start()
        try:
            # Azurite writes to the disk every few seconds only, so the queue itself may be forgotten.
            with suppress(ResourceExistsError):
                queue.create_queue()
            queue.send_message(WAKE)
            thread.join(60)
        finally:
            azurite.kill()

    assert received
    assert all_logs.text.count("cannot be reached") == 1
