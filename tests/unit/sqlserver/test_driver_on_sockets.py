"""
The real pyodbc and Microsoft's ODBC driver against sockets that refuse, hang, reset or close.

What the store says, how long it takes, and that nothing is repeated for ever.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest

from chokaq_core.domain.errors import StoreRefusedError, StoreUnavailableError
from chokaq_core.domain.secret import Secret
from chokaq_core.policy.sqlserver import Authentication, Encryption, SqlServerConnection, SqlServerSettings
from chokaq_core.ports import Beat
from chokaq_core.stores.sqlserver import SqlServerStore
from chokaq_core.stores.sqlserver.connecting import Connector
from chokaq_core.stores.sqlserver.database import Database
from tests.unit.sqlserver.test_tokens import FakeCredential

HANG_OR_ANSWER = 30.0
"""Seconds that tell a hang from an answer."""

Behave = Callable[[socket.socket], None]


@contextmanager
def _listening(behave: Behave) -> Iterator[tuple[int, list[float]]]:
    """
    A port on which each caller meets the same behaviour, with the times of the calls.
    """
    calls: list[float] = []
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                calls.append(time.monotonic())
                held.append(caller)
                behave(caller)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], calls
        server.shutdown(socket.SHUT_RDWR)
        thread.join(HANG_OR_ANSWER)
    for caller in held:
        caller.close()


def _hang(caller: socket.socket) -> None:
    pass


def _close(caller: socket.socket) -> None:
    caller.close()


def _reset(caller: socket.socket) -> None:
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller.close()


def _close_after_hearing(caller: socket.socket) -> None:
    caller.recv(1)
    caller.close()


def _answer_nonsense(caller: socket.socket) -> None:
    caller.recv(1)
    caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _store(port: int, retries: int = 0, **login: object) -> SqlServerStore:
    connection = SqlServerConnection(
        "127.0.0.1",
        port,
        "jobs",
        Authentication.SQL_LOGIN,
        user="app",
        password=Secret("secret-pass"),
        encrypt=Encryption.NO,
        connect_timeout=timedelta(seconds=1),
    )
    settings = SqlServerSettings(
        connection, max_transient_retries=retries, transient_retry_base_delay=timedelta(milliseconds=1)
    )
    return SqlServerStore(settings, beat_timeout=timedelta(seconds=1))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_making_a_store_connects_to_nothing() -> None:
    with _listening(_hang) as (port, calls), closing(_store(port)):
        assert calls == []


def test_a_port_that_nobody_listens_on_is_unavailable() -> None:
    with closing(_store(_free_port())) as store, pytest.raises(StoreUnavailableError, match=r"^SQL Server: "):
        store.counts()


@pytest.mark.case("C-057")
@pytest.mark.parametrize("behave", [_hang, _close, _reset, _close_after_hearing, _answer_nonsense])
def test_a_server_that_does_not_answer_is_unavailable_within_the_login_timeout(behave: Behave) -> None:
    with _listening(behave) as (port, _), closing(_store(port)) as store:
        started = time.monotonic()
        with pytest.raises(StoreUnavailableError) as caught:
            store.counts()

        assert time.monotonic() - started < HANG_OR_ANSWER
        assert "secret-pass" not in str(caught.value)
        assert "127.0.0.1" not in str(caught.value)


def test_a_call_is_repeated_as_often_as_the_settings_say() -> None:
    with _listening(_close_after_hearing) as (port, calls), closing(_store(port, retries=3)) as store:
        with pytest.raises(StoreUnavailableError):
            store.counts()

        assert len(calls) == 4


def test_a_heartbeat_is_not_repeated_and_ends_within_its_own_timeout() -> None:
    with _listening(_hang) as (port, calls), closing(_store(port, retries=3)) as store:
        started = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            store.beat(Beat("worker-1"))

        assert len(calls) == 1
        assert time.monotonic() - started < HANG_OR_ANSWER


def test_a_heartbeat_does_not_wait_for_the_other_connections() -> None:
    with _listening(_hang) as (port, calls), closing(_store(port)) as store:
        others = [threading.Thread(target=_swallow, args=(store.counts,)) for _ in range(4)]
        for other in others:
            other.start()
        with pytest.raises(StoreUnavailableError):
            store.beat(Beat("worker-1"))
        for other in others:
            other.join(HANG_OR_ANSWER)

        assert len(calls) == 5


def _swallow(call: Callable[[], object]) -> None:
    with pytest.raises(StoreUnavailableError):
        call()


def test_a_driver_that_is_not_there_is_refused_without_a_connection() -> None:
    connection = SqlServerConnection("127.0.0.1", 1, "jobs", Authentication.INTEGRATED, driver="No Such Driver")
    store = SqlServerStore(SqlServerSettings(connection, max_transient_retries=3))

    with closing(store), pytest.raises(StoreRefusedError, match="'No Such Driver' is not installed"):
        store.counts()


def test_a_library_that_is_no_driver_is_refused(tmp_path: object) -> None:
    connection = SqlServerConnection("127.0.0.1", 1, "jobs", Authentication.INTEGRATED, driver=__file__)
    store = SqlServerStore(SqlServerSettings(connection, max_transient_retries=3))

    with closing(store), pytest.raises(StoreRefusedError):
        store.counts()


def test_a_token_is_asked_for_at_each_login_and_is_taken_by_the_driver() -> None:
    credential = FakeCredential(["first-token", "second-token"])
    with _listening(_close_after_hearing) as (port, calls):
        connection = SqlServerConnection(
            "127.0.0.1", port, "jobs", Authentication.ENTRA_DEFAULT, connect_timeout=timedelta(seconds=1)
        )
        settings = SqlServerSettings(
            connection, max_transient_retries=1, transient_retry_base_delay=timedelta(milliseconds=1)
        )
        database = Database(settings, beat_timeout=timedelta(seconds=1), connector=Connector(connection, credential))
        with closing(SqlServerStore(settings, database=database)) as store, pytest.raises(StoreUnavailableError):
            store.counts()

        assert len(calls) == 2
        assert credential.answers == []
