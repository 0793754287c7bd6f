from __future__ import annotations

import email
import email.policy
import smtplib
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import pytest
from pydantic import ValidationError

from chokaq_core.contracts import FatalJobError, JobCancelledError, JsonSerializer, TransientJobError
from jobs.email import SendEmail, send
from jobs.mail import message_id_of, signal_for
from jobs.mailbox import parse_mailbox
from tests.support.certificates import server_tls
from tests.support.recorded_run import RecordedRun
from tests.support.smtp_server import MailServer


def a_mail(**fields: object) -> SendEmail:
    return SendEmail.model_validate({"to": "ada@example.org", "subject": "Hello", "body": "Hi.\n", **fields})


def written(path: object) -> EmailMessage:
    return parsed(Path(str(path)).read_bytes())


def parsed(content: bytes) -> EmailMessage:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    return message


def text_of(part: object) -> str:
    """
    The text of a mail or a part of one, with the line ends of this machine.
    """
    assert isinstance(part, EmailMessage)
    return str(part.get_content()).replace("\r\n", "\n")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    with MailServer().listening() as server:
        configure(monkeypatch, server, SMTP_STARTTLS="false")
        yield server


def configure(monkeypatch: pytest.MonkeyPatch, server: MailServer, **settings: str) -> None:
    fixed = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(server.port), "MAIL_FROM": "Shop <orders@shop.example>"}
    for name, value in (fixed | settings).items():
        monkeypatch.setenv(name, value)


class TestThePayload:
    @pytest.mark.parametrize(
        "address",
        [
            "ada@example.org",
            "Ada Lovelace <ada@example.org>",
            '"Lovelace, Ada" <ada@example.org>',
            "o'neil+tag@mail.example.co.uk",
            "ops@localhost",
            "a@xn--bcher-kva.example",
        ],
    )
    def test_a_usual_address_is_taken(self, address: str) -> None:
        assert a_mail(to=address).to == address

    @pytest.mark.parametrize(
        "address",
        [
            "",
            "ada",
            "ada@",
            "@example.org",
            "ada@example",
            "ada@@example.org",
            "ada lovelace@example.org",
            "ada@example..org",
            "ada@-example.org",
            ".ada@example.org",
            "ada@example.org, bob@example.org",
            "<ada@example.org",
            "ada@bücher.example",
            "ada@example.org\r\nBcc: eve@example.org",
            "ada@example.org\n",
            "Ada\r\nBcc: eve@example.org <ada@example.org>",
            "Ada\u2028Eve <ada@example.org>",
            f"{'a' * 65}@example.org",
            f"ada@{'e' * 63}.{'e' * 63}.{'e' * 63}.{'e' * 63}.org",
            f"{'A' * 600} <ada@example.org>",
        ],
    )
    def test_anything_else_is_refused(self, address: str) -> None:
        with pytest.raises(ValidationError):
            a_mail(to=address)
        with pytest.raises(ValidationError):
            a_mail(to=["bob@example.org", address])
        with pytest.raises(ValidationError):
            a_mail(reply_to=address)

    @pytest.mark.parametrize("count", [0, 101])
    def test_one_to_a_hundred_recipients_are_allowed(self, count: int) -> None:
        with pytest.raises(ValidationError, match="1 to 100"):
            a_mail(to=["ada@example.org"] * count)
        assert len(a_mail(to=["ada@example.org"] * 100).to) == 100

    @pytest.mark.parametrize(
        "subject", ["Hi\r\nBcc: eve@example.org", "Hi\nthere", "Hi\rthere", "a\x0bb", "a\u2029b", "a\0b"]
    )
    def test_a_subject_cannot_smuggle_in_a_header(self, subject: str) -> None:
        with pytest.raises(ValidationError, match="line breaks or control characters"):
            a_mail(subject=subject)

    def test_a_subject_is_bounded(self) -> None:
        with pytest.raises(ValidationError, match="at most 500"):
            a_mail(subject="x" * 501)

    def test_it_travels_as_json(self) -> None:
        text = '{"to":["ada@example.org","Bob <bob@example.org>"],"subject":"ü","body":"a","reply_to":null,"html":null}'
        assert JsonSerializer().dumps(JsonSerializer().loads(SendEmail, text)) == text

    def test_its_problem_names_the_field_and_the_address(self) -> None:
        with pytest.raises(ValidationError) as refused:
            a_mail(to=["ada@example.org", "bob"])
        problem = refused.value.errors()[0]
        assert problem["loc"] == ("to",)
        assert "'bob' is not an e-mail address such as ada@example.org" in problem["msg"]


class TestTheOutbox:
    def test_a_mail_is_a_file_named_by_the_job(self, run: RecordedRun) -> None:
        result = send(a_mail(), run.context(job_id="0198-a"))
        assert result == {"message_id": "<0198-a@localhost>", "path": "outbox/0198-a.eml"}
        message = written(result["path"])
        assert message["From"] == "chokaq@localhost"
        assert message["To"] == "ada@example.org"
        assert message["Subject"] == "Hello"
        assert message["Message-ID"] == "<0198-a@localhost>"
        assert abs(message["Date"].datetime - datetime.now(UTC)) < timedelta(minutes=5)
        assert text_of(message) == "Hi.\n"
        assert message.defects == []

    def test_a_mail_with_everything_reads_back_as_it_was_meant(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MAIL_FROM", "Größe & Söhne <orders@shop.example>")
        job = a_mail(
            to=["Ada Lovelace <ada@example.org>", '"Müller, Bob" <bob@example.org>'],
            subject="Grüße ☕ " + "lang " * 40,
            body="Zeile 1 äöü\n.\nFrom here\n" + "x" * 2000 + "\n",
            html="<p>Grüße ☕</p>\n",
            reply_to="help@shop.example",
        )
        result = send(job, run.context(job_id="j.1"))
        message = written(result["path"])
        assert message["From"].addresses[0].display_name == "Größe & Söhne"
        assert [(to.display_name, to.addr_spec) for to in message["To"].addresses] == [
            ("Ada Lovelace", "ada@example.org"),
            ("Müller, Bob", "bob@example.org"),
        ]
        assert message["Reply-To"] == "help@shop.example"
        assert message["Subject"] == job.subject
        assert message["Message-ID"] == "<j=2E1@shop.example>"
        plain, html = message.iter_parts()
        assert text_of(plain) == job.body
        assert text_of(html) == "<p>Grüße ☕</p>\n"
        assert (plain.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")

    def test_the_file_keeps_to_the_standard_of_mails(self, run: RecordedRun) -> None:
        job = a_mail(body="ä" * 3000 + "\nplain\n", html="<b>" + "long " * 500 + "</b>", subject="é" * 400)
        raw = Path(str(send(job, run.context())["path"])).read_bytes()
        assert raw.isascii()
        assert raw.count(b"\n") == raw.count(b"\r\n")
        assert max(len(line) for line in raw.split(b"\r\n")) <= 998

    def test_a_second_run_replaces_the_file_of_the_first(self, run: RecordedRun, workdir: Path) -> None:
        first = send(a_mail(body="one"), run.context(job_id="j1"))
        second = send(a_mail(body="two"), run.context(job_id="j1"))
        assert first == second
        assert [path.name for path in (workdir / "outbox").iterdir()] == ["j1.eml"]
        assert text_of(written("outbox/j1.eml")) == "two\n"

    def test_the_folder_is_a_setting(self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, workdir: Path) -> None:
        monkeypatch.setenv("MAIL_OUTBOX", str(workdir / "mails" / "out"))
        assert send(a_mail(), run.context(job_id="..."))["path"] == f"{workdir}/mails/out/....eml"

    def test_a_cancelled_job_writes_nothing(self, workdir: Path) -> None:
        with pytest.raises(JobCancelledError):
            send(a_mail(), RecordedRun(checks_until_cancel=0).context())
        assert list(workdir.iterdir()) == []


class TestTheMailServer:
    def test_a_mail_reaches_every_recipient(self, run: RecordedRun, server: MailServer) -> None:
        result = send(a_mail(to=["ada@example.org", "Bob <bob@example.org>"]), run.context(job_id="j1"))
        assert result == {
            "message_id": "<j1@shop.example>",
            "accepted": ["ada@example.org", "bob@example.org"],
            "deferred": {},
            "refused": {},
        }
        [mail] = server.mails
        assert mail.sender == "orders@shop.example"
        assert mail.recipients == ["ada@example.org", "bob@example.org"]
        message = parsed(mail.content)
        assert message["From"] == "Shop <orders@shop.example>"
        assert message["Message-ID"] == "<j1@shop.example>"
        assert text_of(message) == "Hi.\n"

    def test_a_line_with_a_single_dot_arrives(self, run: RecordedRun, server: MailServer) -> None:
        send(a_mail(body="one\n.\n..two\n"), run.context())
        assert text_of(parsed(server.mails[0].content)) == "one\n.\n..two\n"

    @pytest.mark.parametrize(
        "command, answer",
        [
            ("CONNECT", "421 too busy"),
            ("CONNECT", ""),
            ("MAIL", "451 try again"),
            ("RCPT", "450 greylisted"),
            ("RCPT", "421 closing"),
            ("DATA", "451 local error"),
            (".", "452 disk full"),
            (".", ""),
            ("MAIL", ""),
        ],
    )
    def test_an_answer_that_says_not_now_is_transient(
        self, run: RecordedRun, server: MailServer, command: str, answer: str
    ) -> None:
        server.answers[command] = answer
        with pytest.raises(TransientJobError, match=answer or "hung up"):
            send(a_mail(), run.context())
        assert server.mails == []

    @pytest.mark.parametrize(
        "command, answer",
        [
            ("CONNECT", "554 no service here"),
            ("MAIL", "550 sender not allowed"),
            ("RCPT", "550 no such user"),
            ("DATA", "554 no valid recipients"),
            (".", "552 too large"),
        ],
    )
    def test_an_answer_that_says_never_is_fatal(
        self, run: RecordedRun, server: MailServer, command: str, answer: str
    ) -> None:
        server.answers[command] = answer
        with pytest.raises(FatalJobError, match=answer):
            send(a_mail(), run.context())
        assert server.mails == []

    def test_a_fault_in_the_farewell_does_not_send_the_mail_again(self, run: RecordedRun, server: MailServer) -> None:
        server.answers["QUIT"] = "500 what"
        assert send(a_mail(), run.context())["accepted"] == ["ada@example.org"]
        server.answers["QUIT"] = ""
        assert send(a_mail(), run.context())["accepted"] == ["ada@example.org"]

    def test_refused_recipients_do_not_fail_a_mail_that_others_got(self, run: RecordedRun, server: MailServer) -> None:
        server.answers["RCPT TO:<BOB"] = "550 5.1.1 no such user"
        result = send(a_mail(to=["ada@example.org", "bob@example.org"]), run.context())
        assert result["accepted"] == ["ada@example.org"]
        assert result["refused"] == {"bob@example.org": "550 5.1.1 no such user"}
        assert run.enqueued == []

    def test_recipients_put_off_get_a_job_of_their_own(self, run: RecordedRun, server: MailServer) -> None:
        server.answers["RCPT TO:<BOB"] = "450 4.2.0 greylisted"
        job = a_mail(to=["ada@example.org", "Bob <bob@example.org>"])
        result = send(job, run.context(job_id="j1", queue="mail-slow"))
        assert result["accepted"] == ["ada@example.org"]
        assert result["deferred"] == {"bob@example.org": "450 4.2.0 greylisted"}
        [(later, options)] = run.enqueued
        assert later == a_mail(to=["bob@example.org"])
        assert options["queue"] == "mail-slow"
        assert options["delay"] == timedelta(minutes=5)
        assert options["idempotency_key"] == "email.deferred:j1"

    def test_when_all_are_refused_one_not_now_is_enough_for_a_retry(self, run: RecordedRun, server: MailServer) -> None:
        server.answers |= {"RCPT TO:<ADA": "550 no such user", "RCPT TO:<BOB": "450 greylisted"}
        with pytest.raises(TransientJobError, match="every recipient was refused"):
            send(a_mail(to=["ada@example.org", "bob@example.org"]), run.context())
        assert run.enqueued == []

    def test_a_server_that_does_not_answer_is_given_up_in_time(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            configure(monkeypatch, MailServer(port=silent.getsockname()[1]))
            run.time_left = timedelta(milliseconds=200)
            with pytest.raises(TransientJobError, match="timed out"):
                send(a_mail(), run.context())

    def test_a_job_without_time_left_gets_the_shortest_patience_there_is(
        self, run: RecordedRun, server: MailServer
    ) -> None:
        run.time_left = timedelta(0)
        send(a_mail(), run.context())
        assert len(server.mails) == 1

    def test_a_refused_connection_is_transient(self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            configure(monkeypatch, MailServer(port=closed.getsockname()[1]))
        with pytest.raises(TransientJobError, match="refused"):
            send(a_mail(), run.context())


class TestTheLogin:
    @pytest.fixture
    def tls(self, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
        monkeypatch.setenv("SSL_CERT_FILE", str(workdir / "server.pem"))
        return server_tls(workdir / "server.pem")

    def test_it_happens_over_tls(self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext) -> None:
        with MailServer(tls=tls, password="open sesame").listening() as server:
            configure(monkeypatch, server, SMTP_USER="shop", SMTP_PASSWORD="open sesame")
            send(a_mail(), run.context())
        assert len(server.mails) == 1
        assert [command.split()[0].upper() for command in server.commands] == [
            "EHLO",
            "STARTTLS",
            "EHLO",
            "AUTH",
            "MAIL",
            "RCPT",
            "DATA",
            "QUIT",
        ]

    def test_port_465_speaks_tls_from_the_first_byte(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext
    ) -> None:
        with MailServer(tls=tls, password="x").listening(is_tls_from_start=True) as server:
            configure(monkeypatch, server, SMTP_USER="shop", SMTP_PASSWORD="x")
            # Port 465 needs rights that a test run may not have, so another port stands for it.
            monkeypatch.setattr("jobs.mail.TLS_PORT", server.port)
            send(a_mail(), run.context())
        assert len(server.mails) == 1
        assert "STARTTLS" not in server.commands

    def test_a_wrong_password_is_fatal_and_not_shown(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext
    ) -> None:
        with MailServer(tls=tls, password="right").listening() as server:
            configure(monkeypatch, server, SMTP_USER="shop", SMTP_PASSWORD="wr0ng-pass")
            with pytest.raises(FatalJobError, match=r"535 5\.7\.8 wrong user or password") as raised:
                send(a_mail(), run.context())
        assert "wr0ng-pass" not in str(raised.value)

    def test_a_login_that_is_put_off_is_transient(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext
    ) -> None:
        with MailServer(tls=tls, password="x", answers={"AUTH": "454 4.7.0 too many logins"}).listening() as server:
            configure(monkeypatch, server, SMTP_USER="shop", SMTP_PASSWORD="x")
            with pytest.raises(TransientJobError, match="too many logins"):
                send(a_mail(), run.context())

    def test_a_server_without_tls_gets_neither_password_nor_mail(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with MailServer(password="x").listening() as server:
            configure(monkeypatch, server, SMTP_USER="shop", SMTP_PASSWORD="x")
            with pytest.raises(FatalJobError, match="SMTP_STARTTLS"):
                send(a_mail(), run.context())
        assert [command.split()[0].upper() for command in server.commands] == ["EHLO"]

    def test_a_server_without_login_is_fatal(self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
        with MailServer().listening() as server:
            configure(monkeypatch, server, SMTP_STARTTLS="false", SMTP_USER="shop", SMTP_PASSWORD="x")
            with pytest.raises(FatalJobError, match="SMTP_USER"):
                send(a_mail(), run.context())

    def test_a_certificate_that_nobody_vouches_for_is_fatal(
        self, run: RecordedRun, monkeypatch: pytest.MonkeyPatch, workdir: Path
    ) -> None:
        with MailServer(tls=server_tls(workdir / "unknown.pem")).listening() as server:
            configure(monkeypatch, server)
            with pytest.raises(FatalJobError, match="certificate is not valid"):
                send(a_mail(), run.context())
        assert server.mails == []


@pytest.mark.parametrize(
    "name, value, problem",
    [
        ("SMTP_PORT", "smtp", "SMTP_PORT is 'smtp'"),
        ("SMTP_PORT", "65536", "SMTP_PORT is '65536'"),
        ("SMTP_STARTTLS", "yes", "SMTP_STARTTLS is 'yes'"),
        ("MAIL_FROM", "", "MAIL_FROM: '' is not an e-mail address"),
        ("MAIL_FROM", "shop", "MAIL_FROM: 'shop' is not an e-mail address"),
    ],
)
def test_an_unreadable_setting_is_fatal_and_named(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    configure(monkeypatch, MailServer(port=25), **{name: value})
    with pytest.raises(FatalJobError, match=problem):
        send(a_mail(), run.context())


@pytest.mark.parametrize(
    "job_id, message_id",
    [
        ("0198c5d2-7a1e-7000-8000-000000000001", "<0198c5d2-7a1e-7000-8000-000000000001@example.org>"),
        ("..", "<=2E=2E@example.org>"),
        ("a.b~c_d-e", "<a=2Eb~c_d-e@example.org>"),
    ],
)
def test_every_job_id_makes_a_well_formed_message_id(job_id: str, message_id: str) -> None:
    assert message_id_of(job_id, "example.org") == message_id


@pytest.mark.parametrize(
    "error, signal",
    [
        (smtplib.SMTPHeloError(504, b"bad name"), FatalJobError),
        (smtplib.SMTPHeloError(421, b"busy"), TransientJobError),
        (smtplib.SMTPResponseException(-1, b"gibberish"), TransientJobError),
        (smtplib.SMTPServerDisconnected("gone"), TransientJobError),
        (smtplib.SMTPException("No suitable authentication method found."), FatalJobError),
        (socket.gaierror(-3, "Temporary failure in name resolution"), TransientJobError),
        (ssl.SSLError(1, "wrong version number"), TransientJobError),
        (TimeoutError("timed out"), TransientJobError),
    ],
)
def test_each_fault_has_its_meaning(error: OSError, signal: type[Exception]) -> None:
    assert type(signal_for(error)) is signal


def test_a_mailbox_keeps_its_display_name() -> None:
    mailbox = parse_mailbox('"Lovelace, Ada" <ada@example.org>')
    assert (mailbox.display_name, mailbox.addr_spec) == ("Lovelace, Ada", "ada@example.org")
