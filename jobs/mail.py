"""
How mails are written, and how they leave this app. Imported by the first run that sends one.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Protocol

from chokaq_core.contracts import FatalJobError, TransientJobError
from jobs.app_settings import app_setting
from jobs.atomic_file import replacing
from jobs.mailbox import parse_mailbox

SHORTEST_PATIENCE = timedelta(milliseconds=100)
DEFAULT_PORT = 587
TLS_PORT = 465
OUTBOX_SENDER = "chokaq@localhost"
MAX_ANSWER_CHARACTERS = 300

FIRST_PERMANENT_CODE = 500
"""SMTP answers from here on say "never", those from 400 say "not now"."""

_SEVEN_BIT = policy.SMTP.clone(cte_type="7bit")


class Letter(Protocol):
    """
    What a mail is made of.
    """

    @property
    def recipients(self) -> list[str]:
        """
        At least one address.
        """

    subject: str
    body: str
    reply_to: str | None
    html: str | None


@dataclass(frozen=True, slots=True)
class MailSettings:
    """
    How mails leave this app.
    """

    host: str
    port: int
    has_starttls: bool
    user: str
    password: str = field(repr=False)
    sender: Address
    outbox: Path

    @classmethod
    def read(cls) -> MailSettings:
        """
        The app settings as they are now.

        Raises:
            FatalJobError: a setting is missing or unreadable; the message names it.
        """
        host = app_setting("SMTP_HOST")
        return cls(
            host=host,
            port=_port(app_setting("SMTP_PORT", str(DEFAULT_PORT))),
            has_starttls=_flag("SMTP_STARTTLS", app_setting("SMTP_STARTTLS", "true")),
            user=app_setting("SMTP_USER"),
            password=app_setting("SMTP_PASSWORD"),
            sender=_sender(app_setting("MAIL_FROM", "" if host else OUTBOX_SENDER)),
            outbox=Path(app_setting("MAIL_OUTBOX", "outbox")),
        )


def compose(letter: Letter, sender: Address, job_id: str) -> EmailMessage:
    """
    The mail in standard form, 7-bit clean. Its Message-ID is the same for each run of one job.
    """
    message = EmailMessage(_SEVEN_BIT)
    message["From"] = sender
    message["To"] = [parse_mailbox(mailbox) for mailbox in letter.recipients]
    if letter.reply_to is not None:
        message["Reply-To"] = parse_mailbox(letter.reply_to)
    message["Subject"] = letter.subject
    message["Date"] = datetime.now(UTC)
    message["Message-ID"] = message_id_of(job_id, sender.domain)
    message.set_content(letter.body)
    if letter.html is not None:
        message.add_alternative(letter.html, subtype="html")
    return message


def message_id_of(job_id: str, domain: str) -> str:
    """
    The Message-ID for a job. Dots are escaped: ids may hold them where RFC 5322 allows none, as in `.a` or `a..b`.
    """
    return f"<{job_id.replace('.', '=2E')}@{domain}>"


def put_in_outbox(message: EmailMessage, outbox: Path, job_id: str) -> str:
    """
    Writes the mail into a folder; tells the path of its file.
    """
    path = outbox / f"{job_id}.eml"
    with replacing(path) as file:
        file.write(message.as_bytes())
    return path.as_posix()


def transmit(message: EmailMessage, settings: MailSettings, patience: timedelta) -> dict[str, tuple[int, bytes]]:
    """
    Hands the mail to the server; tells who of several recipients was refused, and with which answer.

    Raises:
        FatalJobError, TransientJobError: nobody got the mail.
    """
    try:
        with _session(settings, max(patience, SHORTEST_PATIENCE).total_seconds()) as client:
            return client.send_message(message)
    except OSError as error:
        raise signal_for(error) from error


def answers(message: EmailMessage, refusals: Mapping[str, tuple[int, bytes]]) -> dict[str, Collection[str]]:
    """
    What the server said: the recipients that it accepted, and its words for those that it put off or refused.
    """
    recipients = [address.addr_spec for address in message["To"].addresses]
    texts = {address: _answer(*answer) for address, answer in refusals.items()}
    return {
        "accepted": [address for address in recipients if address not in refusals],
        "deferred": {address: text for address, text in texts.items() if refusals[address][0] < FIRST_PERMANENT_CODE},
        "refused": {address: text for address, text in texts.items() if refusals[address][0] >= FIRST_PERMANENT_CODE},
    }


def signal_for(error: OSError) -> FatalJobError | TransientJobError:
    """
    What a failed conversation with a mail server means for the job. Nobody got the mail.
    """
    match error:
        case smtplib.SMTPRecipientsRefused():
            is_final = all(code >= FIRST_PERMANENT_CODE for code, _ in error.recipients.values())
            text = "; ".join(f"{who}: {_answer(*answer)}" for who, answer in error.recipients.items())
            return _signal(f"every recipient was refused: {text[:MAX_ANSWER_CHARACTERS]}", is_final=is_final)
        case smtplib.SMTPResponseException():
            is_final = error.smtp_code >= FIRST_PERMANENT_CODE
            return _signal(f"the mail server answered {_answer(error.smtp_code, error.smtp_error)}", is_final=is_final)
        case smtplib.SMTPServerDisconnected():
            return TransientJobError(f"the mail server hung up: {error}")
        case smtplib.SMTPException():
            return FatalJobError(f"the mail server lacks what the settings ask for (SMTP_STARTTLS, SMTP_USER): {error}")
        case ssl.SSLCertVerificationError():
            return FatalJobError(f"the mail server's certificate is not valid for SMTP_HOST: {error.verify_message}")
        case _:
            return TransientJobError(f"the mail server cannot be reached: {error}")


@contextmanager
def _session(settings: MailSettings, timeout: float) -> Iterator[smtplib.SMTP]:
    client = _connect(settings, timeout)
    try:
        if settings.has_starttls and settings.port != TLS_PORT:
            client.starttls(context=ssl.create_default_context())
        if settings.user:
            client.login(settings.user, settings.password)
        yield client
        # The server has the mail now; a fault in the farewell must not make the job run again.
        with suppress(OSError):
            client.quit()
    finally:
        client.close()


def _connect(settings: MailSettings, timeout: float) -> smtplib.SMTP:
    if settings.port == TLS_PORT:
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(settings.host, settings.port, timeout=timeout, context=context)
    return smtplib.SMTP(settings.host, settings.port, timeout=timeout)


def _signal(text: str, *, is_final: bool) -> FatalJobError | TransientJobError:
    return FatalJobError(text) if is_final else TransientJobError(text)


def _answer(code: int, text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())}"[:MAX_ANSWER_CHARACTERS]


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:  # noqa: PLR2004 - the range of a TCP port
        raise FatalJobError(f"app setting SMTP_PORT is {text!r}; it must be 1 to 65535")
    return port


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise FatalJobError(f"app setting {name} is {text!r}; it must be true or false")
    return text.lower() == "true"


def _sender(text: str) -> Address:
    try:
        return parse_mailbox(text)
    except ValueError as error:
        raise FatalJobError(f"app setting MAIL_FROM: {error}") from error
