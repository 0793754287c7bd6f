"""
What goes over the wire to a Storage queue, and what happens when nobody answers there.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from chokaq_core.config import Settings, load_settings
from chokaq_core.engine.wakes import IN_PROCESS
from chokaq_core.hosting import wakes
from chokaq_core.hosting.wakes import StorageConnection, StorageQueueWakes, wake_sender

KEY = "c2VjcmV0"


class QueueService(ThreadingHTTPServer):
    """
    Answers like the queue service; the queue is missing at first.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.requests: list[tuple[str, str, str]] = []
        self.has_queue = False

    @property
    def connection(self) -> str:
        """
        The connection string.
        """
        address = f"http://127.0.0.1:{self.server_address[1]}/account"
        return f"AccountName=account;AccountKey={KEY};QueueEndpoint={address};"


class _Answer(BaseHTTPRequestHandler):
    server: QueueService

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._note(body)
        if not self.server.has_queue:
            self._send(404, "QueueNotFound", b"")
        else:
            self._send(201, None, _list_of(1))

    def do_PUT(self) -> None:
        self._note("")
        self.server.has_queue = True
        self._send(201, None, b"")

    def do_GET(self) -> None:
        self._note("")
        self._send(200, None, _list_of(3))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        pass

    def _note(self, body: str) -> None:
        url = urlsplit(self.path)
        query = "&".join(f"{name}={values[0]}" for name, values in sorted(parse_qs(url.query).items()))
        self.server.requests.append((f"{self.command} {url.path}", query, body))

    def _send(self, status: int, code: str | None, body: bytes) -> None:
        self.send_response(status)
        if code is not None:
            self.send_header("x-ms-error-code", code)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _list_of(messages: int) -> bytes:
    message = "<QueueMessage><MessageId>1</MessageId><MessageText>x</MessageText></QueueMessage>"
    return f"<QueueMessagesList>{message * messages}</QueueMessagesList>".encode()


@pytest.fixture
def service() -> Iterator[QueueService]:
    service = QueueService()
    thread = threading.Thread(target=service.serve_forever, daemon=True)
    thread.start()
    yield service
    service.shutdown()
    service.server_close()
    thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(tmp_path, {})


def sender_to(connection: str) -> StorageQueueWakes:
    found = StorageConnection.find({"AzureWebJobsStorage": connection})
    assert found is not None
    return StorageQueueWakes("chokaq-wake", found)


def test_a_missing_queue_is_made_and_the_wake_is_plain_text(service: QueueService) -> None:
    sender_to(service.connection).send()

    messages = "/account/chokaq-wake/messages"
    assert [line for line, _, _ in service.requests] == [
        f"POST {messages}",
        "PUT /account/chokaq-wake",
        f"POST {messages}",
    ]
    _, query, body = service.requests[-1]
    assert query == "messagettl=120&visibilitytimeout=0"
    assert '<MessageText>{"v":1}</MessageText>' in body


@pytest.mark.case("C-024")
@pytest.mark.parametrize(
    "delay,seconds",
    [
        (timedelta(seconds=20), 20),
        (timedelta(milliseconds=1), 1),
        (timedelta(seconds=2, milliseconds=300), 3),
        (timedelta(minutes=15), 900),
    ],
)
def test_a_delayed_wake_never_expires_and_never_comes_early(
    service: QueueService, delay: timedelta, seconds: int
) -> None:
    service.has_queue = True

    sender_to(service.connection).send(delay=delay)

    assert service.requests[-1][1] == f"messagettl=-1&visibilitytimeout={seconds}"


def test_the_sdk_does_not_log_every_request(service: QueueService, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        sender_to(service.connection).send()

    assert [record.name for record in caplog.records if record.name.startswith("azure")] == []


def test_only_visible_wakes_are_counted_and_none_is_taken(service: QueueService) -> None:
    service.has_queue = True

    assert sender_to(service.connection).waiting() == 3
    assert service.requests == [("GET /account/chokaq-wake/messages", "numofmessages=32&peekonly=true", "")]


@pytest.mark.parametrize(
    "connection", ["AccountName=account", "nonsense", "QueueEndpoint=http://127.0.0.1:1/account;AccountName=a;"]
)
def test_a_bad_connection_string_is_an_error_of_the_wake_and_no_other(connection: str) -> None:
    with pytest.raises(OSError, match="wake queue chokaq-wake"):
        sender_to(connection).send()


def test_a_service_that_is_gone_is_given_up_on() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/account"
        sender = sender_to(f"AccountName=account;AccountKey={KEY};QueueEndpoint={address};")

        with pytest.raises(OSError, match="could not be reached"):
            sender.send()
        with pytest.raises(OSError, match="could not be reached"):
            sender.waiting()


def test_a_service_that_never_answers_is_given_up_on_after_two_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakes, "_READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/account"

        with pytest.raises(OSError, match="could not be reached"):
            sender_to(f"AccountName=account;AccountKey={KEY};QueueEndpoint={address};").send()

        deaf.settimeout(0.2)
        assert _count_connections(deaf) == 2


def _count_connections(listening: socket.socket) -> int:
    count = 0
    while True:
        try:
            listening.accept()[0].close()
        except TimeoutError:
            return count
        count += 1


IDENTITY_FORMS: list[tuple[dict[str, str], str]] = [
    ({"AzureWebJobsStorage__accountName": "acme"}, "https://acme.queue.core.windows.net"),
    ({"AZUREWEBJOBSSTORAGE__ACCOUNTNAME": "acme"}, "https://acme.queue.core.windows.net"),
    ({"AzureWebJobsStorage:accountName": "acme"}, "https://acme.queue.core.windows.net"),
    ({"AzureWebJobsStorage__queueServiceUri": "https://q.acme.example"}, "https://q.acme.example"),
    (
        {"AzureWebJobsStorage__queueServiceUri": "https://q.acme.example", "AzureWebJobsStorage__accountName": "x"},
        "https://q.acme.example",
    ),
]


@pytest.mark.parametrize("environ,uri", IDENTITY_FORMS)
def test_an_identity_reaches_the_service_by_account_or_address(environ: dict[str, str], uri: str) -> None:
    connection = StorageConnection.find(environ)

    assert connection is not None
    assert connection.service_uri == uri
    assert connection.open_queue("chokaq-wake").url == f"{uri}/chokaq-wake"


@pytest.mark.parametrize(
    "extra,expected",
    [
        ({}, ("DefaultAzureCredential", {"managed_identity_client_id": None})),
        ({"__clientId": "id-1"}, ("DefaultAzureCredential", {"managed_identity_client_id": "id-1"})),
        ({"__credential": "managedidentity"}, ("ManagedIdentityCredential", {"client_id": None})),
        (
            {"__credential": "managedIdentity", "__clientId": "id-1"},
            ("ManagedIdentityCredential", {"client_id": "id-1"}),
        ),
    ],
)
def test_the_identity_is_the_one_that_the_settings_name(
    monkeypatch: pytest.MonkeyPatch, extra: Mapping[str, str], expected: tuple[str, dict[str, str | None]]
) -> None:
    made: list[tuple[str, dict[str, str | None]]] = []
    for name in ("DefaultAzureCredential", "ManagedIdentityCredential"):
        monkeypatch.setattr(f"azure.identity.{name}", _recorder(name, made))
    environ = {f"AzureWebJobsStorage{name}": value for name, value in extra.items()}

    connection = StorageConnection.find({**environ, "AzureWebJobsStorage__accountName": "acme"})
    assert connection is not None
    connection.open_queue("chokaq-wake")

    assert made == [expected]


def _recorder(name: str, made: list[tuple[str, dict[str, str | None]]]) -> type:
    class Credential:
        def __init__(self, **options: str | None) -> None:
            made.append((name, options))

        def get_token(self, *scopes: str, **options: object) -> object:
            raise AssertionError("opening a queue asks for no token")

    return Credential


@pytest.mark.parametrize(
    "environ", [{}, {"AzureWebJobsStorage": "  "}, {"AzureWebJobsStorage__blobServiceUri": "https://b.example"}]
)
def test_without_a_queue_service_wakes_stay_in_the_process(settings: Settings, environ: dict[str, str]) -> None:
    assert wake_sender(settings, environ) is IN_PROCESS


def test_with_one_they_go_there(settings: Settings) -> None:
    assert isinstance(wake_sender(settings, {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}), StorageQueueWakes)
