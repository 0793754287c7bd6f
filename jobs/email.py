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

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from chokaq_core.contracts import Job, JobContext, Profile
from jobs.mailbox import one_line, parse_mailbox

MAX_RECIPIENTS = 100
"""What every mail server must accept, RFC 5321, 4.5.3.1.8."""
MAX_SUBJECT_CHARACTERS = 500
SMTP_PATIENCE = timedelta(seconds=30)
"""For each answer of the mail server, shortened to the time that the job has left."""
DEFERRED_DELAY = timedelta(minutes=5)
"""Before recipients whom the server put off are tried again; greylisting asks for some minutes."""


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

    @property
    def recipients(self) -> list[str]:
        """
        The addresses as a list, also where there is one.
        """
        return _as_list(self.to)


mailing = Profile("mailing")


@mailing.handler("email.send.v1", queue="mail", rerun_after_loss=True)
def send(job: SendEmail, ctx: JobContext) -> dict[str, object]:
    """
    Sends the mail, or writes it into the outbox folder when no mail server is configured.

    Returns:
        `message_id`, and `path` of the file or `accepted`, `deferred` and `refused` recipients. Recipients whom the
        server put off get a job of their own; a retry of this one would send to the accepted ones again.
    """
    from jobs import mail  # noqa: PLC0415 - smtplib and the like are for runs, and no start of the app waits for them

    settings = mail.MailSettings.read()
    message = mail.compose(job, settings.sender, ctx.job_id)
    ctx.raise_if_cancelled()
    message_id = str(message["Message-ID"])
    if not settings.host:
        return {"message_id": message_id, "path": mail.put_in_outbox(message, settings.outbox, ctx.job_id)}
    refusals = mail.transmit(message, settings, min(SMTP_PATIENCE, ctx.remaining))
    answers = mail.answers(message, refusals)
    if deferred := list(answers["deferred"]):
        _send_later(job, deferred, ctx)
    return {"message_id": message_id, **answers}


def _send_later(job: SendEmail, recipients: list[str], ctx: JobContext) -> None:
    ctx.logger.warning("%d recipients were put off by the mail server and get a job of their own", len(recipients))
    rest = job.model_copy(update={"to": recipients})
    ctx.enqueue(rest, queue=ctx.queue, delay=DEFERRED_DELAY, idempotency_key=f"email.deferred:{ctx.job_id}")


def _as_list(to: str | list[str]) -> list[str]:
    return [to] if isinstance(to, str) else to
