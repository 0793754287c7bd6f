"""
The bounded pool: who gets which connection, and when one is not used again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.stores.sqlserver.batches import Batch
from chokaq_core.stores.sqlserver.pool import Pool, Session

PATIENCE = timedelta(seconds=30)
BATCH = Batch("one", "SELECT ?;", ())


class FakeCursor:
    def __init__(self, connection: FakeConnection) -> None:
        self.connection = connection
        self.description: object = None
        self.results: list[list[tuple[Any, ...]]] = []
        self.is_closed = False

    def setinputsizes(self, sizes: object) -> None:
        self.connection.log.append(f"sizes {sizes}")

    def execute(self, text: str, values: tuple[object, ...] = ()) -> None:
        self.connection.log.append(f"execute {text} {values}")
        self.results = [[(1,)], [], [(2,), (3,)]]
        self.description = "yes"

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.results[0]

    def nextset(self) -> bool:
        del self.results[0]
        return bool(self.results)

    def close(self) -> None:
        self.is_closed = True


class FakeConnection:
    def __init__(self, number: int) -> None:
        self.number = number
        self.is_closed = False
        self.log: list[str] = []
        self.cursors: list[FakeCursor] = []

    def cursor(self) -> FakeCursor:
        self.cursors.append(FakeCursor(self))
        return self.cursors[-1]

    def close(self) -> None:
        self.is_closed = True


class Server:
    def __init__(self) -> None:
        self.opened: list[FakeConnection] = []
        self.fault: Exception | None = None
        self.time = 1000.0

    def connect(self) -> tuple[FakeConnection, int]:
        if self.fault is not None:
            raise self.fault
        self.opened.append(FakeConnection(len(self.opened)))
        return self.opened[-1], 2

    def open_now(self) -> list[int]:
        return [connection.number for connection in self.opened if not connection.is_closed]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def pool(server: Server) -> Iterator[Pool]:
    pool = Pool(server.connect, 2, PATIENCE, clock=lambda: server.time)
    yield pool
    pool.close()


def _number(session: Session) -> int:
    number: int = session._connection.number  # noqa: SLF001 - which connection it is
    return number


def _fail_harmlessly(session: Session) -> None:
    session.is_lost = False
    raise ValueError("boom")


class TestHandingOut:
    def test_nothing_is_opened_before_it_is_asked_for(self, server: Server, pool: Pool) -> None:
        assert server.opened == []

    def test_a_connection_given_back_is_used_again(self, server: Server, pool: Pool) -> None:
        for _ in range(3):
            with pool.session():
                pass

        assert server.open_now() == [0]

    def test_the_one_used_last_goes_first(self, pool: Pool) -> None:
        with pool.session() as first, pool.session() as second:
            numbers = [_number(first), _number(second)]
        with pool.session() as again:
            assert (numbers, _number(again)) == ([0, 1], 0)

    def test_two_callers_never_hold_the_same_one(self, pool: Pool) -> None:
        with pool.session() as first, pool.session() as second:
            assert _number(first) != _number(second)

    def test_a_caller_beyond_the_bound_waits_for_one_that_is_given_back(self, server: Server, pool: Pool) -> None:
        got: list[int] = []
        is_waiting = threading.Event()

        def want() -> None:
            is_waiting.set()
            with pool.session() as session:
                got.append(_number(session))

        with ExitStack() as stack:
            stack.enter_context(pool.session())
            with pool.session():
                caller = threading.Thread(target=want)
                caller.start()
                is_waiting.wait(30)
                assert got == []
            caller.join(30)

        assert got == [1]
        assert len(server.opened) == 2

    def test_a_caller_whose_patience_ends_is_told(self, server: Server) -> None:
        pool = Pool(server.connect, 1, timedelta(0))

        with pool.session(), pytest.raises(StoreUnavailableError, match=r"^all 1 connections are busy"):
            pool.session().__enter__()

    def test_one_that_cannot_be_opened_leaves_its_place_free(self, server: Server, pool: Pool) -> None:
        server.fault = OSError("away")
        for _ in range(5):
            with pytest.raises(OSError, match="away"), pool.session():
                pass
        server.fault = None

        with pool.session() as first, pool.session() as second:
            assert [_number(first), _number(second)] == [0, 1]


class TestNotUsingAgain:
    def test_one_that_failed_is_closed(self, server: Server, pool: Pool) -> None:
        with pytest.raises(ValueError, match="boom"), pool.session():
            raise ValueError("boom")

        assert server.open_now() == []

    def test_one_whose_fault_did_not_harm_it_is_kept(self, server: Server, pool: Pool) -> None:
        with pytest.raises(ValueError, match="boom"), pool.session() as session:
            _fail_harmlessly(session)

        assert server.open_now() == [0]

    @pytest.mark.parametrize("rest,expected", [(59.0, [0]), (60.0, [1])])
    def test_one_that_rested_for_a_minute_is_opened_anew(
        self, server: Server, pool: Pool, rest: float, expected: list[int]
    ) -> None:
        with pool.session():
            pass
        server.time += rest
        with pool.session():
            pass

        assert server.open_now() == expected

    def test_one_is_replaced_after_half_an_hour_however_busy_it_was(self, server: Server, pool: Pool) -> None:
        for _ in range(60):
            with pool.session():
                server.time += 30

        with pool.session():
            pass

        assert server.open_now() == [1]

    def test_rest_closes_the_idle_ones_now_and_the_busy_ones_when_they_come_back(
        self, server: Server, pool: Pool
    ) -> None:
        with pool.session():
            pass
        with pool.session(), pool.session():
            pool.rest()
            assert server.open_now() == [0, 1]

        assert server.open_now() == []
        with pool.session() as session:
            assert _number(session) == 2

    def test_a_closed_pool_hands_out_nothing(self, server: Server, pool: Pool) -> None:
        with pool.session():
            pass
        pool.close()

        with pytest.raises(StoreRefusedError, match=r"^the store is closed$"), pool.session():
            pass
        assert server.open_now() == []

    def test_closing_wakes_those_who_wait(self, server: Server) -> None:
        pool = Pool(server.connect, 1, PATIENCE)
        told: list[Exception] = []

        def want() -> None:
            try:
                with pool.session():
                    pass
            except StoreRefusedError as error:
                told.append(error)

        with pool.session():
            caller = threading.Thread(target=want)
            caller.start()
            pool.close()
            caller.join(30)

        assert len(told) == 1


class TestSessions:
    def test_each_batch_has_a_cursor_of_its_own_on_which_it_stays_prepared(self, server: Server, pool: Pool) -> None:
        other = Batch("two", "SELECT 2;", ())
        with pool.session() as session:
            for batch in (BATCH, other, BATCH, BATCH):
                session.run(batch, [5], [(4, 0, 0)])

        assert len(server.opened[0].cursors) == 2

    def test_values_are_bound_with_their_sizes_each_time(self, server: Server, pool: Pool) -> None:
        with pool.session() as session:
            session.run(BATCH, [5], [(4, 0, 0)])

        assert server.opened[0].log == ["sizes [(4, 0, 0)]", "execute SELECT ?; (5,)"]

    def test_all_results_are_read(self, pool: Pool) -> None:
        with pool.session() as session:
            assert session.run(BATCH, [5], [(4, 0, 0)]) == [[(1,)], [], [(2,), (3,)]]

    def test_a_text_leaves_no_cursor_behind(self, server: Server, pool: Pool) -> None:
        with pool.session() as session:
            session.run_text("BEGIN TRANSACTION;")

        assert [cursor.is_closed for cursor in server.opened[0].cursors] == [True]
