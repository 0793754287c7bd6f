"""
Sends e-mails: `email.send.v1`.

App settings, read by each run:

    SMTP_HOST       mail server; without it, mails are written into a folder instead of being sent
    SMTP_PORT       default 587; 465 speaks TLS from the first byte
    SMTP_STARTTLS   default true: go over to TLS and refuse to go on without it; false for a relay inside your network
    SMTP_USER       log in as; without it, the server is used without a login
    SMTP_PASSWORD   the password for SMTP_USER; best a Key Vault reference
    MAIL_FROM       sender, e.g. `Shop <orders@example.org>`; needed with SMTP_HOST
    MAIL_OUTBOX     folder for mails when there is no SMTP_HOST, relative to the working directory; default `outbox`

What this module shows:

    * A payload is a pydantic model that refuses what can never work, before it is stored.
    * A failure is sorted where it is understood: what passes is a `TransientJobError`, what does not a `FatalJobError`.
    * A handler may run more than once for one job, so each run must have the same effect. The outbox file and the
      Message-ID are named by the job's id: a second run overwrites the first one's file. A mail server can have taken
      a mail whose run was lost before it was recorded; then the recipient may see it twice, under one Message-ID.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from chokaq_core.contracts import FatalJobError, Job, JobContext, Profile, TransientJobError
from jobs.app_settings import app_setting
from jobs.atomic_file import replacing
from jobs.mailbox import one_line, parse_mailbox

MAX_RECIPIENTS = 100
"""What every mail server must accept, RFC 5321, 4.5.3.1.8."""
MAX_SUBJECT_CHARACTERS = 500
SMTP_PATIENCE = timedelta(seconds=30)
"""For each answer of the mail server, shortened to the time that the job has left."""
SHORTEST_PATIENCE = timedelta(milliseconds=100)
DEFERRED_DELAY = timedelta(minutes=5)
"""Before recipients whom the server put off are tried again; greylisting asks for some minutes."""
DEFAULT_PORT = 587
TLS_PORT = 465
OUTBOX_SENDER = "chokaq@localhost"
MAX_ANSWER_CHARACTERS = 300

FIRST_PERMANENT_CODE = 500
"""SMTP answers from here on say "never", those from 400 say "not now"."""

_SEVEN_BIT = policy.SMTP.clone(cte_type="7bit")


def _checked_mailbox(text: str) -> str:
    parse_mailbox(text)
    return text


def _checked_mailboxes(to: str | list[str]) -> str | list[str]:
    mailboxes = _as_list(to)
    if not 1 <= len(mailboxes) <= MAX_RECIPIENTS:
        raise ValueError(f"has {len(mailboxes)} addresses; 1 to {MAX_RECIPIENTS} are allowed")
    for mailbox in mailboxes:
        parse_mailbox(mailbox)
    return to


class SendEmail(Job):
    """
    One e-mail. All recipients see each other; send a job for each if they shall not.

    Attributes:
        to: one address or up to 100, each `ada@example.org` or `Ada Lovelace <ada@example.org>`.
        subject: one line.
        body: plain text.
        reply_to: where answers go, if not to the sender.
        html: the same content as HTML, for readers that prefer it.
    """

    to: Annotated[str | list[str], AfterValidator(_checked_mailboxes)]
    subject: Annotated[str, Field(max_length=MAX_SUBJECT_CHARACTERS), AfterValidator(one_line)]
    body: str
    reply_to: Annotated[str, AfterValidator(_checked_mailbox)] | None = None
    html: str | None = None


mailing = Profile("mailing")


@mailing.handler("email.send.v1", queue="mail", rerun_after_loss=True)
def send(job: SendEmail, ctx: JobContext) -> dict[str, object]:
    """
    Sends the mail, or writes it into the outbox folder when no mail server is configured.

    Returns:
        `message_id`, and `path` of the file or `accepted`, `deferred` and `refused` recipients. Recipients whom the
        server put off get a job of their own; a retry of this one would send to the accepted ones again.
    """
    settings = MailSettings.read()
    message = compose(job, settings.sender, ctx.job_id)
    ctx.raise_if_cancelled()
    message_id = str(message["Message-ID"])
    if not settings.host:
        return {"message_id": message_id, "path": _put_in_outbox(message, settings.outbox, ctx.job_id)}
    refusals = _transmit(message, settings, min(SMTP_PATIENCE, ctx.remaining))
    deferred = [address for address, (code, _) in refusals.items() if code < FIRST_PERMANENT_CODE]
    if deferred:
        _send_later(job, deferred, ctx)
    return {"message_id": message_id, **_answers(message, refusals)}


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


def compose(job: SendEmail, sender: Address, job_id: str) -> EmailMessage:
    """
    The mail in standard form, 7-bit clean. Its Message-ID is the same for each run of one job.
    """
    message = EmailMessage(_SEVEN_BIT)
    message["From"] = sender
    message["To"] = [parse_mailbox(mailbox) for mailbox in _as_list(job.to)]
    if job.reply_to is not None:
        message["Reply-To"] = parse_mailbox(job.reply_to)
    message["Subject"] = job.subject
    message["Date"] = datetime.now(UTC)
    message["Message-ID"] = message_id_of(job_id, sender.domain)
    message.set_content(job.body)
    if job.html is not None:
        message.add_alternative(job.html, subtype="html")
    return message


def message_id_of(job_id: str, domain: str) -> str:
    """
    The Message-ID for a job. Dots are escaped: ids may hold them where RFC 5322 allows none, as in `.a` or `a..b`.
    """
    return f"<{job_id.replace('.', '=2E')}@{domain}>"


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


def _put_in_outbox(message: EmailMessage, outbox: Path, job_id: str) -> str:
    path = outbox / f"{job_id}.eml"
    with replacing(path) as file:
        file.write(message.as_bytes())
    return path.as_posix()


def _transmit(message: EmailMessage, settings: MailSettings, patience: timedelta) -> dict[str, tuple[int, bytes]]:
    """
    Hands the mail to the server; tells who of several recipients was refused.
    """
    try:
        with _session(settings, max(patience, SHORTEST_PATIENCE).total_seconds()) as client:
            return client.send_message(message)
    except OSError as error:
        raise signal_for(error) from error


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


def _send_later(job: SendEmail, recipients: list[str], ctx: JobContext) -> None:
    ctx.logger.warning("%d recipients were put off by the mail server and get a job of their own", len(recipients))
    rest = job.model_copy(update={"to": recipients})
    ctx.enqueue(rest, queue=ctx.queue, delay=DEFERRED_DELAY, idempotency_key=f"email.deferred:{ctx.job_id}")


def _answers(message: EmailMessage, refusals: Mapping[str, tuple[int, bytes]]) -> dict[str, object]:
    recipients = [address.addr_spec for address in message["To"].addresses]
    texts = {address: _answer(*answer) for address, answer in refusals.items()}
    return {
        "accepted": [address for address in recipients if address not in refusals],
        "deferred": {address: text for address, text in texts.items() if refusals[address][0] < FIRST_PERMANENT_CODE},
        "refused": {address: text for address, text in texts.items() if refusals[address][0] >= FIRST_PERMANENT_CODE},
    }


def _signal(text: str, *, is_final: bool) -> FatalJobError | TransientJobError:
    return FatalJobError(text) if is_final else TransientJobError(text)


def _answer(code: int, text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())}"[:MAX_ANSWER_CHARACTERS]


def _as_list(to: str | list[str]) -> list[str]:
    return [to] if isinstance(to, str) else to


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
