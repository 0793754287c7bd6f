"""
A port in front of a SQL Server that counts what is asked of it: one request a round trip.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HEADER_BYTES = 8
END_OF_MESSAGE = 1
TABULAR_REQUESTS = frozenset({1, 3})
"""Types of TDS messages that ask for work: a batch of text, and a call by name or handle (MS-TDS 2.2.3.1.1)."""


class TdsProxy:
    """
    Passes all bytes on, and counts whole requests from the client.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.requests = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """
        Closes the port and all connections through it.
        """
        for each in (self._server, *self._sockets):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            self._sockets += [client, server]
            threading.Thread(target=self._pass_on, args=(client, server, _Requests(self)), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(server, client, None), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, heard: _Requests | None) -> None:
        while True:
            try:
                data = source.recv(65_536)
                if heard is not None:
                    heard.hear(data)
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(data)
            except OSError:
                return

    def count(self) -> None:
        """
        One request more.
        """
        with self._lock:
            self.requests += 1


class _Requests:
    """
    Finds the ends of requests in what one client sends.
    """

    def __init__(self, proxy: TdsProxy) -> None:
        self._proxy = proxy
        self._unread = b""

    def hear(self, data: bytes) -> None:
        """
        Counts the requests that end in this piece.
        """
        self._unread += data
        while len(self._unread) >= HEADER_BYTES:
            kind, status = self._unread[0], self._unread[1]
            length = int.from_bytes(self._unread[2:4], "big")
            if len(self._unread) < length:
                return
            if kind in TABULAR_REQUESTS and status & END_OF_MESSAGE:
                self._proxy.count()
            self._unread = self._unread[max(length, HEADER_BYTES) :]


@contextmanager
def counting_requests(host: str, port: int) -> Iterator[TdsProxy]:
    """
    A proxy for a while.
    """
    proxy = TdsProxy((host, port))
    try:
        yield proxy
    finally:
        proxy.close()
