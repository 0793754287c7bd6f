"""
Calls to the event loop of handlers, and who has the interpreter meanwhile.
"""

from __future__ import annotations

import threading

import pytest

from chokaq_core.engine import threads
from chokaq_core.engine.threads import LoopThread
from tests.support.polling import wait_until


def test_a_short_call_is_over_when_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOMENT_SECONDS", 60.0)
    loop, seen = LoopThread(), list[str]()

    for name in ("first", "second"):
        loop.call(seen.append, name)
        assert seen[-1] == name


def test_a_call_that_fails_is_over_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOMENT_SECONDS", 60.0)
    loop, seen = LoopThread(), list[object]()

    def fail() -> None:
        seen.append("ran")
        raise ValueError

    loop.call(fail)

    assert seen == ["ran"]


def test_nobody_waits_for_a_call_that_blocks_the_loop() -> None:
    loop, may_end, seen = LoopThread(), threading.Event(), list[str]()

    def block() -> None:
        may_end.wait(60)
        seen.append("ended")

    loop.call(block)

    assert seen == []
    may_end.set()
    wait_until(lambda: seen == ["ended"])
