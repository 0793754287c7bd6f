"""
A server on this machine that takes whatever is posted to it, as a collector of telemetry does.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = b'{"itemsReceived":1,"itemsAccepted":1,"errors":[]}'
"""What Application Insights answers; collectors of OTLP may answer anything."""


class Collector:
    """
    The bodies that came, by path, decompressed.
    """

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {}
        self.url = ""
        self.answers_after = threading.Event()
        self.answers_after.set()

    def all_of(self, path: str) -> bytes:
        """
        Everything that came to a path.
        """
        return b"".join(self.bodies.get(path, []))


@contextmanager
def collecting() -> Iterator[Collector]:
    """
    A collector that listens inside the block.
    """
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            collector.bodies.setdefault(self.path, []).append(gzip.decompress(body) if is_packed else body)
            collector.answers_after.wait(60)
            self.send_response(200)
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
            """
            Says nothing.
            """

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.answers_after.set()
        server.shutdown()
        server.server_close()
        thread.join()
