"""
Delivers webhooks: `webhook.deliver.v1`.

The body is sent by POST as JSON. A receiver should

    * answer with a 2xx status once it has stored the message; 429 or 503 with `Retry-After` asks for patience;
    * drop repeats by the header `Idempotency-Key`, the job's id: a delivery whose answer was lost is made again;
    * check the header `X-ChokaQ-Signature`, when it shares a secret, over the bytes as they came:

        expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
        hmac.compare_digest(expected, request.headers["X-ChokaQ-Signature"])

What this module shows:

    * A secret never travels in a payload, which operators can read: the job names an app setting, and the handler
      reads it.
    * Answers are sorted by one pure function, `signal_for`; the code that talks to the network decides nothing.
    * The wait for the other side ends before the job's own timeout: the first is a retry, the second is not.

Redirects are not followed and proxies are not used. Whoever may enqueue this job may have any address called that the
app can reach; the answer's first characters show up in the error of a failed job.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, JsonValue

from chokaq_core.contracts import FatalJobError, Job, JobContext, Profile, ThrottledError, TransientJobError
from jobs.app_settings import app_setting

PATIENCE = timedelta(seconds=30)
"""For one delivery as a whole, shortened to the time that the job has left."""
SETTLING_MARGIN = timedelta(seconds=1)
"""Kept of the job's own time, so that a slow receiver means a retry and not a timeout of the job."""
SHORTEST_PATIENCE = timedelta(milliseconds=100)
MAX_RESPONSE_BYTES = 64 * 1024
MAX_EXCERPT_CHARACTERS = 200
MAX_URL_CHARACTERS = 2_048
MAX_HEADERS = 50

OWN_HEADERS = frozenset(
    {"connection", "content-length", "host", "idempotency-key", "transfer-encoding", "x-chokaq-signature"}
)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\t -~]*")
_PRINTABLE = re.compile(r"[!-~]+")
_SECONDS = re.compile(r"\d{1,9}", re.ASCII)


def _http_url(url: str) -> str:
    parts = urlsplit(url) if _PRINTABLE.fullmatch(url) else None
    # Reading the port checks it.
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("must be an http or https address in ASCII, percent-encoded where needed")
    if parts.username is not None:
        raise ValueError("must not carry a user name or password; operators can read it")
    return url


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if _TOKEN.fullmatch(name) is None or _FIELD_VALUE.fullmatch(value) is None:
            raise ValueError(f"{name[:100]!r} is not a header of printable ASCII on one line")
        if name.lower() in OWN_HEADERS:
            raise ValueError(f"{name!r} is set by the delivery itself")
    return headers


class DeliverWebhook(Job):
    """
    One message for one receiver.

    Attributes:
        url: http or https, e.g. `https://example.org/hooks/orders?shop=7`.
        body: any JSON object.
        headers: more headers to send. Operators can read them: no passwords here.
        secret_name: app setting whose value signs the body.
    """

    url: Annotated[str, Field(max_length=MAX_URL_CHARACTERS), AfterValidator(_http_url)]
    body: dict[str, JsonValue]
    headers: Annotated[dict[str, str], AfterValidator(_sendable)] = Field(default_factory=dict, max_length=MAX_HEADERS)
    secret_name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What the receiver said.
    """

    status: int
    reason: str
    retry_after: str | None
    body: bytes


webhooks = Profile("webhooks")


@webhooks.handler("webhook.deliver.v1", queue="webhooks", rerun_after_loss=True)
def deliver(job: DeliverWebhook, ctx: JobContext) -> dict[str, object]:
    """
    Posts the body once.

    Returns:
        The answer's `status`, and how many `bytes` of its body were read, 64 KiB at most.
    """
    ctx.raise_if_cancelled()
    body = json.dumps(job.body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    headers = headers_for(job, body, ctx.job_id)
    answer = _post(job.url, body, headers, max(SHORTEST_PATIENCE, min(PATIENCE, ctx.remaining - SETTLING_MARGIN)))
    signal = signal_for(answer, datetime.now(UTC))
    if signal is not None:
        raise signal
    return {"status": answer.status, "bytes": len(answer.body)}


def headers_for(job: DeliverWebhook, body: bytes, job_id: str) -> dict[str, str]:
    """
    The request's headers; the job's own win over the defaults, in any letter case.
    """
    given = {name.lower() for name in job.headers}
    defaults = {"Content-Type": "application/json", "User-Agent": "ChokaQ"}
    headers = {name: value for name, value in defaults.items() if name.lower() not in given} | job.headers
    headers |= {"Idempotency-Key": job_id, "Connection": "close"}
    if job.secret_name is not None:
        headers["X-ChokaQ-Signature"] = signature(_secret(job.secret_name), body)
    return headers


def signature(secret: bytes, body: bytes) -> str:
    """
    HMAC-SHA256 of the body, as `sha256=` and 64 hexadecimal digits.
    """
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def signal_for(answer: Answer, now: datetime) -> FatalJobError | ThrottledError | TransientJobError | None:
    """
    What the receiver's answer means for the job; None means delivered.
    """
    text = f"the receiver answered {answer.status} {answer.reason}: {_excerpt(answer.body)}"
    match answer.status:
        case status if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return None
        case HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.SERVICE_UNAVAILABLE:
            return ThrottledError(text, parse_retry_after(answer.retry_after, now))
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return TransientJobError(text)
        case _:
            return FatalJobError(text)


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """
    The delay that a `Retry-After` header asks for, in seconds or as a date (RFC 9110, 10.2.3); None if unreadable.
    """
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return timedelta(seconds=int(text))
    try:
        date = parsedate_to_datetime(text)
        # A date without a zone is meant in UTC: the old asctime form has none.
        return max(timedelta(0), (date if date.tzinfo else date.replace(tzinfo=UTC)) - now)
    except (ValueError, OverflowError):
        return None


def _secret(name: str) -> bytes:
    secret = app_setting(name)
    if not secret:
        raise FatalJobError(f"app setting {name}, named by secret_name, is absent or blank; nothing was sent")
    return secret.encode()


def _post(url: str, body: bytes, headers: Mapping[str, str], patience: timedelta) -> Answer:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    deadline = time.monotonic() + patience.total_seconds()
    try:
        with closing(_connect(url, patience)) as connection, _hung_up_at(deadline, connection):
            connection.request("POST", target, body, dict(headers))
            return _read(connection.getresponse())
    except ssl.SSLCertVerificationError as error:
        raise FatalJobError(f"the receiver's certificate is not valid: {error.verify_message}") from error
    except (OSError, HTTPException) as error:
        within = f" within {patience.total_seconds():g} s" if time.monotonic() >= deadline else ""
        raise TransientJobError(f"no answer from {parts.netloc}{within}: {type(error).__name__}: {error}") from error


def _connect(url: str, patience: timedelta) -> HTTPConnection:
    parts = urlsplit(url)
    host, seconds = parts.hostname or "", patience.total_seconds()
    if parts.scheme == "https":
        return HTTPSConnection(host, parts.port, timeout=seconds, context=ssl.create_default_context())
    return HTTPConnection(host, parts.port, timeout=seconds)


@contextmanager
def _hung_up_at(deadline: float, connection: HTTPConnection) -> Iterator[None]:
    """
    Connects, and cuts the line at the deadline. A socket's own timeout starts anew with every byte that drips in.
    """
    connection.connect()
    timer = threading.Timer(max(0, deadline - time.monotonic()), _cut, [connection.sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(line: socket.socket) -> None:
    # The plain socket's method: the one of a TLS socket takes its reader's state away instead of waking it.
    with suppress(OSError):
        socket.socket.shutdown(line, socket.SHUT_RDWR)


def _read(response: HTTPResponse) -> Answer:
    # The status decides; a body that breaks off must not make a delivered message be sent again.
    body = b""
    with suppress(OSError, HTTPException):
        body = response.read(MAX_RESPONSE_BYTES)
    return Answer(response.status, response.reason, response.getheader("Retry-After"), body)


def _excerpt(body: bytes) -> str:
    return " ".join(body.decode("utf-8", "replace").split())[:MAX_EXCERPT_CHARACTERS] or "(no body)"
