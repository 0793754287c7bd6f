"""
One thread that waits, and who wakes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from chokaq_core.engine.lone_waiter import LoneWaiter

NO_TIME = 0.0


class BusyLock:
    """
    A lock that another thread has had, and done these things under it, before it is taken back.
    """

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []

    def acquire(self) -> None:
        """
        Takes it back; each thing was done once.
        """
        while self.meanwhile:
            self.meanwhile.pop()()

    def release(self) -> None:
        """
        Lets the other thread have it.
        """


def test_who_waits_is_woken_and_holds_the_lock_again() -> None:
    lock = threading.RLock()
    waiter, is_ready, told = LoneWaiter(lock), threading.Event(), list[str]()

    def wait() -> bool:
        with lock:
            is_ready.set()
            is_told = waiter.wait(60)
            assert told == ["told"]
        return is_told

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(wait)
        is_ready.wait(60)
        with lock:  # Free only once the other one waits.
            waiter.notify()
            told.append("told")
        assert answer.result(60) is True


def test_who_is_told_nothing_waits_as_long_as_it_wished() -> None:
    lock = threading.RLock()
    waiter = LoneWaiter(lock)

    with lock:
        assert waiter.wait(NO_TIME) is False


def test_what_was_told_while_nobody_waited_ends_no_wait() -> None:
    lock = threading.RLock()
    waiter = LoneWaiter(lock)

    with lock:
        waiter.notify()
        assert waiter.wait(NO_TIME) is False


def test_what_is_told_when_the_time_is_just_over_is_heard_once() -> None:
    lock = BusyLock()
    waiter = LoneWaiter(lock)  # type: ignore[arg-type]
    lock.meanwhile.append(waiter.notify)

    assert waiter.wait(NO_TIME) is True
    assert waiter.wait(NO_TIME) is False


def test_two_tellings_wake_once() -> None:
    lock = threading.RLock()
    waiter, is_ready = LoneWaiter(lock), threading.Event()

    def wait_twice() -> list[bool]:
        with lock:
            is_ready.set()
            return [waiter.wait(60), waiter.wait(NO_TIME)]

    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(wait_twice)
        is_ready.wait(60)
        with lock:
            waiter.notify()
            waiter.notify()
        assert answers.result(60) == [True, False]
