from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from chokaq_core.contracts import (
    FatalJobError,
    JobCancelledError,
    JsonSerializer,
    ThrottledError,
    TransientJobError,
)
from jobs.webhook import Answer, DeliverWebhook, deliver, parse_retry_after, signal_for
from tests.support.certificates import server_tls
from tests.support.recorded_run import RecordedRun
from tests.support.webhook_receiver import Receiver

NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


def a_delivery(**fields: object) -> DeliverWebhook:
    return DeliverWebhook.model_validate({"url": "https://example.org/hook", "body": {}, **fields})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().listening() as receiver:
        yield receiver


class TestThePayload:
    @pytest.mark.parametrize(
        "url",
        [
            "http://example.org",
            "https://example.org:8443/hook?a=b&c=%C3%A4#part",
            "http://127.0.0.1:8000/",
            "http://[::1]:8000/x",
            "HTTPS://EXAMPLE.ORG/x",
        ],
    )
    def test_an_http_address_is_taken(self, url: str) -> None:
        assert a_delivery(url=url).url == url

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "example.org/hook",
            "ftp://example.org/",
            "file:///etc/passwd",
            "http://",
            "http:///path",
            "https://user:secret@example.org/",
            "https://example.org/a b",
            "https://example.org/\r\nX-Evil: 1",
            "https://example.org:99999/",
            "https://example.org:0/",
            "https://example.org:http/",
            "https://bücher.example/",
            "https://example.org/ä",
            "http://[::1",
            "https://example.org/" + "a" * 2040,
        ],
    )
    def test_anything_else_is_refused(self, url: str) -> None:
        with pytest.raises(ValidationError) as refused:
            a_delivery(url=url)
        assert refused.value.errors()[0]["loc"] == ("url",)

    @pytest.mark.parametrize("body", ["text", ["a"], None, 7, {"a": float}])
    def test_the_body_must_be_a_json_object(self, body: object) -> None:
        with pytest.raises(ValidationError):
            a_delivery(body=body)

    @pytest.mark.parametrize(
        "headers",
        [
            {"X Y": "a"},
            {"": "a"},
            {"X:": "a"},
            {"X-A": "a\r\nX-B: b"},
            {"X-A": "ä"},
            {"X-A": "a\0"},
            {"Host": "example.com"},
            {"content-length": "5"},
            {"IDEMPOTENCY-KEY": "mine"},
            {"X-ChokaQ-Signature": "sha256=0"},
            {f"X-{number}": "a" for number in range(51)},
        ],
    )
    def test_headers_that_could_break_the_request_are_refused(self, headers: dict[str, str]) -> None:
        with pytest.raises(ValidationError):
            a_delivery(headers=headers)

    @pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A\n", "A" * 101])
    def test_a_secret_is_named_as_an_app_setting(self, name: str) -> None:
        with pytest.raises(ValidationError):
            a_delivery(secret_name=name)

    def test_it_travels_as_json(self) -> None:
        text = '{"url":"https://example.org/","body":{"b":[1,2.5,null,{"ä":true}],"a":"x"},"headers":{},"secret_name":"HOOK"}'
        assert JsonSerializer().dumps(JsonSerializer().loads(DeliverWebhook, text)) == text


class TestADelivery:
    def test_the_receiver_gets_the_body_and_the_headers(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.status, receiver.body = 202, b"thanks"
        job = a_delivery(
            url=f"{receiver.url}/hooks/orders?shop=7#ignored",
            body={"order": 17, "name": "Grüße", "lines": [{"amount": "12.50"}], "note": None},
            headers={"X-Shop": "7", "content-type": "application/cloudevents+json"},
        )
        assert deliver(job, run.context(job_id="job-17")) == {"status": 202, "bytes": 6}
        [delivery] = receiver.deliveries
        assert delivery.path == "/hooks/orders?shop=7"
        assert delivery.body.decode() == '{"order":17,"name":"Grüße","lines":[{"amount":"12.50"}],"note":null}'
        assert delivery.headers["Idempotency-Key"] == "job-17"
        assert delivery.headers["X-Shop"] == "7"
        assert delivery.headers["content-type"] == "application/cloudevents+json"
        assert "Content-Type" not in delivery.headers
        assert delivery.headers["Host"] == receiver.url.removeprefix("http://")
        assert "X-ChokaQ-Signature" not in delivery.headers

    def test_the_body_is_json_unless_the_job_says_otherwise(self, run: RecordedRun, receiver: Receiver) -> None:
        deliver(a_delivery(url=receiver.url), run.context())
        [delivery] = receiver.deliveries
        assert (delivery.path, delivery.body) == ("/", b"{}")
        assert delivery.headers["Content-Type"] == "application/json"

    def test_the_signature_can_be_checked_over_the_bytes_that_came(
        self, run: RecordedRun, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ORDERS_HOOK_SECRET", "pässword")
        job = a_delivery(url=receiver.url, body={"ä": 1}, secret_name="ORDERS_HOOK_SECRET")
        deliver(job, run.context())
        [delivery] = receiver.deliveries
        expected = hmac.new("pässword".encode(), delivery.body, hashlib.sha256).hexdigest()
        assert delivery.headers["X-ChokaQ-Signature"] == f"sha256={expected}"

    def test_the_signature_is_the_known_one(
        self, run: RecordedRun, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOOK", "key")
        deliver(a_delivery(url=receiver.url, body={"a": 1}, secret_name="HOOK"), run.context())
        assert receiver.deliveries[0].headers["X-ChokaQ-Signature"] == (
            "sha256=88a67f24bbcdaed0e6c997404bb79a743baf44c6bab2f4c27328e3009d22e342"
        )

    @pytest.mark.parametrize("value", [None, "", " ", "@Microsoft.KeyVault(SecretUri=https://v/s)"])
    def test_nothing_is_sent_unsigned_when_the_secret_is_missing(
        self, run: RecordedRun, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, value: str | None
    ) -> None:
        if value is not None:
            monkeypatch.setenv("HOOK", value)
        with pytest.raises(FatalJobError, match="app setting HOOK"):
            deliver(a_delivery(url=receiver.url, secret_name="HOOK"), run.context())
        assert receiver.deliveries == []

    def test_a_cancelled_job_sends_nothing(self, receiver: Receiver) -> None:
        with pytest.raises(JobCancelledError):
            deliver(a_delivery(url=receiver.url), RecordedRun(checks_until_cancel=0).context())
        assert receiver.deliveries == []

    def test_a_large_answer_is_not_read_to_its_end(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.body = b"x" * 5_000_000
        assert deliver(a_delivery(url=receiver.url), run.context()) == {"status": 200, "bytes": 65_536}

    def test_tls_is_verified(self, run: RecordedRun, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with Receiver().listening(server_tls(workdir / "server.pem")) as receiver:
            with pytest.raises(FatalJobError, match="certificate is not valid: self"):
                deliver(a_delivery(url=receiver.url), run.context())
            assert receiver.deliveries == []
            monkeypatch.setenv("SSL_CERT_FILE", str(workdir / "server.pem"))
            assert deliver(a_delivery(url=receiver.url), run.context()) == {"status": 200, "bytes": 0}


class TestAnAnswer:
    def test_too_many_requests_with_seconds_is_throttled(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.status, receiver.headers = 429, {"Retry-After": "120"}
        with pytest.raises(ThrottledError, match="429 Too Many Requests") as raised:
            deliver(a_delivery(url=receiver.url), run.context())
        assert raised.value.retry_after == timedelta(seconds=120)

    def test_too_many_requests_with_a_date_is_throttled(self, run: RecordedRun, receiver: Receiver) -> None:
        later = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
        receiver.status, receiver.headers = 429, {"Retry-After": later}
        with pytest.raises(ThrottledError) as raised:
            deliver(a_delivery(url=receiver.url), run.context())
        assert raised.value.retry_after is not None
        assert timedelta(minutes=5) < raised.value.retry_after <= timedelta(minutes=10)

    def test_service_unavailable_is_throttled_without_a_delay_of_its_own(
        self, run: RecordedRun, receiver: Receiver
    ) -> None:
        receiver.status = 503
        with pytest.raises(ThrottledError, match="503 Service Unavailable") as raised:
            deliver(a_delivery(url=receiver.url), run.context())
        assert raised.value.retry_after is None

    def test_a_server_error_is_transient_and_shows_the_beginning_of_the_answer(
        self, run: RecordedRun, receiver: Receiver
    ) -> None:
        receiver.status, receiver.body = 500, b"stack\n  overflow " + b"\xff" + b"x" * 1000
        with pytest.raises(TransientJobError, match=r"500 Internal Server Error: stack overflow \ufffdx{50}") as raised:
            deliver(a_delivery(url=receiver.url), run.context())
        assert len(str(raised.value)) < 300

    def test_not_found_is_fatal(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.status = 404
        with pytest.raises(FatalJobError, match=r"404 Not Found: \(no body\)"):
            deliver(a_delivery(url=receiver.url), run.context())

    def test_a_redirect_is_fatal_and_not_followed(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.status, receiver.headers = 302, {"Location": f"{receiver.url}/elsewhere"}
        with pytest.raises(FatalJobError, match="302 Found"):
            deliver(a_delivery(url=f"{receiver.url}/here"), run.context())
        assert [delivery.path for delivery in receiver.deliveries] == ["/here"]

    @pytest.mark.parametrize(
        "status, signal",
        [
            (199, FatalJobError),
            (200, None),
            (204, None),
            (299, None),
            (300, FatalJobError),
            (304, FatalJobError),
            (400, FatalJobError),
            (401, FatalJobError),
            (408, FatalJobError),
            (410, FatalJobError),
            (429, ThrottledError),
            (500, TransientJobError),
            (502, TransientJobError),
            (503, ThrottledError),
            (504, TransientJobError),
            (599, TransientJobError),
        ],
    )
    def test_each_status_has_its_meaning(self, status: int, signal: type[Exception] | None) -> None:
        answer = Answer(status, "Reason", None, b"")
        assert (None if signal is None else signal) == (type(found) if (found := signal_for(answer, NOW)) else None)

    @pytest.mark.parametrize(
        "text, delay",
        [
            (None, None),
            ("0", timedelta(0)),
            (" 7 ", timedelta(seconds=7)),
            ("999999999", timedelta(seconds=999_999_999)),
            ("9" * 5000, None),
            ("-1", None),
            ("1.5", None),
            ("٣", None),
            ("soon", None),
            ("", None),
            ("Mon, 02 Mar 2026 12:01:30 GMT", timedelta(seconds=90)),
            ("Monday, 02-Mar-26 12:01:30 GMT", timedelta(seconds=90)),
            ("Mon Mar  2 12:01:30 2026", timedelta(seconds=90)),
            ("Mon, 02 Mar 2026 13:01:30 +0100", timedelta(seconds=90)),
            ("Mon, 02 Mar 2026 11:00:00 GMT", timedelta(0)),
            ("Mon, 32 Mar 2026 12:01:30 GMT", None),
            ("Mon, 02 Mar 99999 12:01:30 GMT", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", timedelta(days=2_912_382, seconds=43_199)),
        ],
    )
    def test_retry_after_is_read_as_seconds_or_as_a_date(self, text: str | None, delay: timedelta | None) -> None:
        assert parse_retry_after(text, NOW) == delay


class TestTheNetwork:
    def test_a_receiver_that_never_answers_is_given_up_before_the_job_times_out(
        self, run: RecordedRun, receiver: Receiver
    ) -> None:
        receiver.act = hanging(receiver)
        run.time_left = timedelta(seconds=1.3)
        started = time.monotonic()
        with pytest.raises(TransientJobError, match=r"no answer from 127.0.0.1:\d+ within 0.3 s"):
            deliver(a_delivery(url=receiver.url), run.context())
        assert time.monotonic() - started < 30

    def test_an_answer_that_drips_in_is_cut_off(self, run: RecordedRun, receiver: Receiver) -> None:
        receiver.act = dripping(receiver, b"HTTP/1.1 ", b"2")
        run.time_left = timedelta(seconds=1.3)
        with pytest.raises(TransientJobError, match=r"within 0.3 s"):
            deliver(a_delivery(url=receiver.url), run.context())

    @pytest.mark.parametrize(
        "start, drop",
        [
            (b"HTTP/1.1 200 OK\r\n", b"X-Slow: yes\r\n"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", b"x"),
        ],
    )
    def test_a_status_counts_even_if_what_follows_drips_in(
        self, run: RecordedRun, receiver: Receiver, start: bytes, drop: bytes
    ) -> None:
        receiver.act = dripping(receiver, start, drop)
        run.time_left = timedelta(seconds=1.3)
        started = time.monotonic()
        assert deliver(a_delivery(url=receiver.url), run.context())["status"] == 200
        assert time.monotonic() - started < 30

    def test_a_dripping_answer_is_cut_off_over_tls_too(
        self, run: RecordedRun, workdir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(workdir / "server.pem"))
        with Receiver().listening(server_tls(workdir / "server.pem")) as receiver:
            receiver.act = dripping(receiver, b"HTTP/1.1 ", b"2")
            run.time_left = timedelta(seconds=1.5)
            with pytest.raises(TransientJobError, match=r"within 0.5 s"):
                deliver(a_delivery(url=receiver.url), run.context())

    def test_a_delivery_whose_answer_breaks_off_after_the_status_is_delivered(
        self, run: RecordedRun, receiver: Receiver
    ) -> None:
        receiver.act = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        assert deliver(a_delivery(url=receiver.url), run.context())["status"] == 200

    @pytest.mark.parametrize("gibberish", [b"", b"SMTP says hello\r\n", b"HTTP/1.1 abc OK\r\n\r\n"])
    def test_an_answer_that_is_not_http_is_transient(
        self, run: RecordedRun, receiver: Receiver, gibberish: bytes
    ) -> None:
        receiver.act = saying(gibberish)
        with pytest.raises(TransientJobError, match="no answer from"):
            deliver(a_delivery(url=receiver.url), run.context())

    def test_a_refused_connection_is_transient(self, run: RecordedRun) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with pytest.raises(TransientJobError, match=f"no answer from 127.0.0.1:{port}: ConnectionRefusedError"):
            deliver(a_delivery(url=f"http://127.0.0.1:{port}/"), run.context())

    def test_a_job_without_time_left_gets_the_shortest_patience_there_is(
        self, run: RecordedRun, receiver: Receiver
    ) -> None:
        receiver.act = hanging(receiver)
        run.time_left = timedelta(0)
        with pytest.raises(TransientJobError, match=r"within 0.1 s"):
            deliver(a_delivery(url=receiver.url), run.context())


def saying(answer: bytes) -> Callable[[Callable[[bytes], object]], None]:
    def act(send: Callable[[bytes], object]) -> None:
        send(answer)

    return act


def hanging(receiver: Receiver) -> Callable[[Callable[[bytes], object]], None]:
    def act(send: Callable[[bytes], object]) -> None:
        receiver.closed.wait(60)

    return act


def dripping(receiver: Receiver, start: bytes, drop: bytes) -> Callable[[Callable[[bytes], object]], None]:
    """
    Sends the start, then a drop every 20 ms until the client hangs up or the test is over.
    """

    def act(send: Callable[[bytes], object]) -> None:
        send(start)
        while not receiver.closed.wait(0.02):
            send(drop)

    return act


def test_the_body_that_is_sent_is_the_body_that_was_given(run: RecordedRun, receiver: Receiver) -> None:
    body = {"z": 1, "a": [True, None, -0.5, 10**20], "emoji": "☕", "nested": {"deep": {"er": []}}}
    deliver(a_delivery(url=receiver.url, body=body), run.context())
    assert json.loads(receiver.deliveries[0].body) == body
