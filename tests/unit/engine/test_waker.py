from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.domain.events import EventName
from chokaq_core.engine.waker import Waker
from tests.support.engine import SECOND, RecordedEvents, RecordedWakes

NOW: timedelta | None = None


class Clock:
    """
    Seconds that pass when a test says so.
    """

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wakes() -> RecordedWakes:
    return RecordedWakes()


@pytest.fixture
def events() -> RecordedEvents:
    return RecordedEvents()


@pytest.fixture
def waker(clock: Clock, wakes: RecordedWakes, events: RecordedEvents) -> Waker:
    return Waker(wakes, events, monotonic=clock)


def enqueued(waker: Waker, *, is_due: bool = True, looking: bool = False, wake_in: timedelta | None = None) -> None:
    waker.enqueued(is_due=is_due, is_worker_looking=looking, wake_in=wake_in)


class TestEnqueue:
    @pytest.mark.parametrize(
        "is_due,looking,wake_in,sent",
        [
            (True, False, None, [NOW]),
            (True, True, None, []),
            (False, False, None, []),
            (False, False, 20 * SECOND, [20 * SECOND]),
            (False, True, 20 * SECOND, [20 * SECOND]),
            (True, False, 20 * SECOND, [NOW, 20 * SECOND]),
        ],
    )
    def test_somebody_is_called_only_for_what_nobody_else_comes_for(
        self,
        waker: Waker,
        wakes: RecordedWakes,
        is_due: bool,
        looking: bool,
        wake_in: timedelta | None,
        sent: list[timedelta | None],
    ) -> None:
        enqueued(waker, is_due=is_due, looking=looking, wake_in=wake_in)

        assert wakes.delays == sent

    def test_a_burst_sends_one_wake_now_and_one_for_two_seconds_later(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        for _ in range(1000):
            enqueued(waker)
            clock.seconds += 0.001

        assert len(wakes.delays) == 2
        assert wakes.delays[0] is NOW
        assert wakes.delays[1] is not None
        assert wakes.delays[1] == pytest.approx(1.999 * SECOND, abs=timedelta(milliseconds=1))

    def test_ten_seconds_of_enqueues_send_six_wakes(self, waker: Waker, wakes: RecordedWakes, clock: Clock) -> None:
        for _ in range(100):
            enqueued(waker)
            clock.seconds += 0.1

        assert len(wakes.delays) == 6

    def test_after_a_quiet_time_the_next_wake_is_sent_at_once(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        enqueued(waker)
        clock.seconds += 2.0
        enqueued(waker)

        assert wakes.delays == [NOW, NOW]

    def test_while_a_wake_waits_to_be_taken_no_further_one_is_sent(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        enqueued(waker)
        wakes.visible = 1
        for _ in range(50):
            clock.seconds += 0.2
            enqueued(waker)
        assert wakes.delays == [NOW]

        wakes.visible = 0
        clock.seconds += 0.2
        enqueued(waker)
        assert wakes.delays == [NOW, NOW]

    def test_a_dense_stream_looks_for_waiting_wakes_only_now_and_then(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[float] = []

        def waiting() -> int:
            looks.append(clock.seconds)
            return 1

        monkeypatch.setattr(wakes, "waiting", waiting)
        for _ in range(10_000):
            enqueued(waker)
            clock.seconds += 0.001

        assert len(looks) <= 200
        assert len(wakes.delays) <= 6

    def test_wakes_that_cannot_be_counted_are_taken_to_be_none(
        self, waker: Waker, wakes: RecordedWakes, events: RecordedEvents
    ) -> None:
        wakes.error = ConnectionError("the queue is away")

        enqueued(waker)

        assert len(events.of(EventName.ENQUEUE_NOTIFICATION_FAILED)) == 1


class TestWorker:
    def test_one_whose_looks_were_full_for_a_second_recruits_another_one(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        waker.looked(is_full=True)
        clock.seconds += 0.99
        waker.looked(is_full=True)
        assert wakes.delays == []

        clock.seconds += 0.01
        waker.looked(is_full=True)
        assert wakes.delays == [NOW]

    def test_it_recruits_at_most_once_in_two_seconds(self, waker: Waker, wakes: RecordedWakes, clock: Clock) -> None:
        for _ in range(111):
            waker.looked(is_full=True)
            clock.seconds += 0.1

        assert len(wakes.delays) == 7

    def test_it_recruits_nobody_for_what_nobody_may_claim_and_asks_once_a_second_at_most(
        self, wakes: RecordedWakes, events: RecordedEvents, clock: Clock
    ) -> None:
        answers = [False, False, True]
        waker = Waker(wakes, events, is_work_left=lambda: answers.pop(0), monotonic=clock)

        for _ in range(25):
            waker.looked(is_full=True)
            clock.seconds += 0.125

        assert answers == []
        assert wakes.delays == [NOW]

    def test_a_look_that_was_not_full_starts_the_count_again(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        for is_full in (True, False, True, False, True):
            waker.looked(is_full=is_full)
            clock.seconds += 0.9

        assert wakes.delays == []

    def test_a_thousand_looks_that_find_nothing_wake_nobody(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        for _ in range(1000):
            waker.looked(is_full=False)
            clock.seconds += 1.0
        waker.hand_over(None)

        assert wakes.delays == []

    def test_a_retry_asks_for_its_own_time(self, waker: Waker, wakes: RecordedWakes) -> None:
        waker.put_off(3 * SECOND)

        assert wakes.delays == [3 * SECOND]


class TestHandOver:
    def test_a_full_last_look_hands_over_at_once(self, waker: Waker, wakes: RecordedWakes) -> None:
        waker.looked(is_full=True)
        waker.hand_over(30 * SECOND)

        assert wakes.delays == [NOW]

    def test_otherwise_one_wake_is_asked_for_the_next_due_time(self, waker: Waker, wakes: RecordedWakes) -> None:
        waker.looked(is_full=True)
        waker.looked(is_full=False)
        waker.hand_over(30 * SECOND)

        assert wakes.delays == [30 * SECOND]

    def test_a_visit_is_not_judged_by_the_looks_of_an_earlier_one(
        self, waker: Waker, wakes: RecordedWakes, clock: Clock
    ) -> None:
        waker.looked(is_full=True)
        waker.hand_over(None)
        clock.seconds += 60.0
        waker.looked(is_full=True)
        waker.looked(is_full=False)
        waker.hand_over(None)

        assert wakes.delays == [NOW]


class TestFailure:
    def test_a_wake_that_cannot_be_sent_is_told_as_an_event_and_nothing_more(
        self, waker: Waker, wakes: RecordedWakes, events: RecordedEvents
    ) -> None:
        wakes.error = ConnectionError("the queue is away")

        enqueued(waker, wake_in=SECOND)
        waker.put_off(SECOND)
        waker.looked(is_full=True)
        waker.hand_over(None)

        assert [event.name for event in events.of(EventName.ENQUEUE_NOTIFICATION_FAILED)] == [
            EventName.ENQUEUE_NOTIFICATION_FAILED
        ] * 2
        assert len(events.of(EventName.NOTIFICATION_FAILED)) == 2
        assert int(EventName.ENQUEUE_NOTIFICATION_FAILED.id) == 3001
        assert int(EventName.NOTIFICATION_FAILED.id) == 2110
