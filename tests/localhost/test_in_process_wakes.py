from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.engine.wakes import IN_PROCESS, MAX_VISIBLE_WAKES, InProcessWakes, PendingWakes


class Monotonic:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Monotonic:
    return Monotonic()


@pytest.fixture
def wakes(clock: Monotonic) -> InProcessWakes:
    return InProcessWakes(monotonic=clock)


def test_a_sent_wake_is_received_once(wakes: InProcessWakes) -> None:
    wakes.send()

    wake = wakes.receive(0)

    assert wake is not None
    assert wake.text == '{"v":1}'
    assert wake.delivery == 1
    assert wakes.receive(0) is None


def test_a_wake_tells_when_it_was_sent_and_which_one_it_is(wakes: InProcessWakes) -> None:
    before = datetime.now(UTC)
    wakes.send()
    wakes.send()

    first, second = wakes.receive(0), wakes.receive(0)

    assert first is not None
    assert second is not None
    assert before <= first.sent_at <= second.sent_at <= datetime.now(UTC)
    assert first.id != second.id


def test_a_delayed_wake_stays_hidden_until_its_delay_is_over(wakes: InProcessWakes, clock: Monotonic) -> None:
    wakes.send(delay=timedelta(seconds=10))

    clock.seconds += 9.9
    early = wakes.receive(0)
    clock.seconds += 0.1
    ripe = wakes.receive(0)

    assert early is None
    assert ripe is not None


def test_delayed_wakes_become_visible_in_the_order_of_their_times(wakes: InProcessWakes, clock: Monotonic) -> None:
    wakes.send(delay=timedelta(seconds=20))
    wakes.send(delay=timedelta(seconds=10))

    clock.seconds += 15
    assert wakes.pending() == PendingWakes(visible=1, hidden=1)
    clock.seconds += 15
    assert wakes.pending() == PendingWakes(visible=2, hidden=0)


@pytest.mark.parametrize("delay", [timedelta(0), timedelta(seconds=-3), None])
def test_a_wake_without_a_delay_is_visible_at_once(wakes: InProcessWakes, delay: timedelta | None) -> None:
    wakes.send(delay=delay)

    assert wakes.pending() == PendingWakes(visible=1, hidden=0)


def test_pending_wakes_are_counted_by_visibility(wakes: InProcessWakes) -> None:
    wakes.send()
    wakes.send()
    wakes.send(delay=timedelta(minutes=1))

    assert wakes.pending() == PendingWakes(visible=2, hidden=1)


def test_a_crowd_of_immediate_wakes_is_folded_into_sixty_four(wakes: InProcessWakes) -> None:
    for _ in range(1000):
        wakes.send()

    assert MAX_VISIBLE_WAKES == 64
    assert wakes.pending() == PendingWakes(visible=64, hidden=0)


def test_ripe_wakes_are_folded_like_immediate_ones(wakes: InProcessWakes, clock: Monotonic) -> None:
    for _ in range(100):
        wakes.send(delay=timedelta(seconds=1))

    clock.seconds += 2

    assert wakes.pending() == PendingWakes(visible=64, hidden=0)


def test_a_wake_that_was_put_back_counts_its_deliveries(wakes: InProcessWakes) -> None:
    wakes.send()
    first = wakes.receive(0)
    assert first is not None

    wakes.put_back(first)
    again = wakes.receive(0)

    assert again is not None
    assert (again.id, again.delivery) == (first.id, 2)


def test_a_wake_can_be_put_back_with_a_delay(wakes: InProcessWakes) -> None:
    wakes.send()
    wake = wakes.receive(0)
    assert wake is not None

    wakes.put_back(wake, delay=timedelta(seconds=5))

    assert wakes.pending() == PendingWakes(visible=0, hidden=1)


def test_a_waiting_receiver_gets_a_wake_that_is_sent_meanwhile() -> None:
    wakes = InProcessWakes()
    received: list[str] = []
    receiver = threading.Thread(target=lambda: received.append(getattr(wakes.receive(60), "text", "none")))
    receiver.start()

    wakes.send()
    receiver.join(60)

    assert received == ['{"v":1}']


def test_a_waiting_receiver_gets_a_delayed_wake_when_it_ripens() -> None:
    wakes = InProcessWakes()
    wakes.send(delay=timedelta(milliseconds=20))

    assert wakes.receive(60) is not None


def test_a_receiver_gives_up_when_its_time_is_over() -> None:
    assert InProcessWakes().receive(0.01) is None


def test_a_receiver_that_is_stopped_leaves_the_wakes_to_others(wakes: InProcessWakes) -> None:
    stop = threading.Event()
    stop.set()
    wakes.send()

    assert wakes.receive(stop=stop) is None
    assert wakes.pending() == PendingWakes(visible=1, hidden=0)


def test_an_interrupt_ends_an_endless_wait_of_a_stopped_receiver() -> None:
    wakes = InProcessWakes()
    stop = threading.Event()
    received: list[object] = []
    receiver = threading.Thread(target=lambda: received.append(wakes.receive(stop=stop)))
    receiver.start()

    stop.set()
    wakes.interrupt()
    receiver.join(60)

    assert received == [None]


def test_every_wake_goes_to_exactly_one_of_many_receivers() -> None:
    wakes = InProcessWakes()
    received: list[str] = []

    def receive_all() -> None:
        while (wake := wakes.receive(0.2)) is not None:
            received.append(wake.id)

    receivers = [threading.Thread(target=receive_all) for _ in range(4)]
    for _ in range(50):
        wakes.send()
    for receiver in receivers:
        receiver.start()
    for receiver in receivers:
        receiver.join(60)

    assert len(received) == 50
    assert len(set(received)) == 50


def test_the_process_has_one_common_queue_of_wakes() -> None:
    assert isinstance(IN_PROCESS, InProcessWakes)
