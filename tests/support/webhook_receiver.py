"""
A web server on this machine that answers as a test wants and keeps what it was sent.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    One request as it came.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """
    What the server answers, and what it was sent.

    Attributes:
        status: of each answer.
        headers: of each answer.
        body: of each answer.
        act: called instead of answering, with a function that sends bytes as they are.
        closed: set when the test is over; whoever waits in `act` waits for it.
        url: where it listens.
        deliveries: every request, in order.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    act: Callable[[Callable[[bytes], object]], None] | None = None
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    deliveries: list[Delivery] = field(default_factory=list)

    @contextmanager
    def listening(self, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
        """
        Serves until the block ends.
        """
        told = self

        class Request(_Request):
            receiver = told

        with _Server(("127.0.0.1", 0), Request) as server:
            if tls is not None:
                server.socket = tls.wrap_socket(server.socket, server_side=True)
            self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield self
            finally:
                self.closed.set()
                server.shutdown()
                thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """
        A client that breaks off is part of some tests.
        """


class _Request(BaseHTTPRequestHandler):
    receiver: Receiver
    timeout = 60

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.receiver.deliveries.append(Delivery(self.path, dict(self.headers.items()), body))
        if self.receiver.act is not None:
            self.receiver.act(self.wfile.write)
            return
        self.send_response(self.receiver.status)
        for name, value in self.receiver.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.receiver.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's own name
        """
        Says nothing; the deliveries are kept.
        """
