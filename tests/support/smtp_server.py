"""
A mail server on this machine, just large enough to talk to `smtplib`.
"""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Mail:
    """
    A mail as it was taken.
    """

    sender: str
    recipients: list[str]
    content: bytes


@dataclass(slots=True)
class MailServer:
    """
    What the server answers, and what it was told.

    Attributes:
        answers: by the beginning of a command in upper case; the longest one wins. `CONNECT` is the greeting, `.` the
            end of a mail. An empty answer hangs up.
        tls: offers STARTTLS with it.
        password: offers AUTH PLAIN and asks for it.
        port: where it listens.
        commands: every command, in order.
        mails: every mail that was taken.
    """

    answers: dict[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    password: str | None = None
    port: int = 0
    commands: list[str] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)

    @contextmanager
    def listening(self, *, is_tls_from_start: bool = False) -> Iterator[MailServer]:
        """
        Serves until the block ends.
        """
        told = self

        class Conversation(_Conversation):
            server_side = told

        with _Listener(("127.0.0.1", 0), Conversation) as listener:
            if is_tls_from_start and self.tls is not None:
                listener.socket = self.tls.wrap_socket(listener.socket, server_side=True)
            self.port = listener.server_address[1]
            thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield self
            finally:
                listener.shutdown()
                thread.join()

    def answer(self, command: str, default: str) -> str:
        """
        The answer that was ordered for a command, or the default.
        """
        ordered = [start for start in self.answers if command.upper().startswith(start)]
        return self.answers[max(ordered, key=len)] if ordered else default


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """
        A client that breaks off is part of some tests.
        """


class _Conversation(socketserver.StreamRequestHandler):
    server_side: MailServer
    timeout = 60

    def handle(self) -> None:
        self._sender, self._recipients, self._is_open = "", list[str](), True
        self._say(self.server_side.answer("CONNECT", "220 ready"))
        while self._is_open and (line := self.rfile.readline()):
            command = line.decode().rstrip("\r\n")
            self.server_side.commands.append(command)
            self._obey(command)

    def finish(self) -> None:
        super().finish()
        # The listener closes the plain socket only.
        self.connection.close()

    def _obey(self, command: str) -> None:
        verb, _, rest = command.partition(" ")
        answer = self.server_side.answer(command, self._default(verb.upper(), rest))
        if not answer.startswith("2") and not answer.startswith("3"):
            self._say(answer)
            return
        match verb.upper():
            case "MAIL":
                self._sender = rest.partition(":")[2].strip("<>")
            case "RCPT":
                self._recipients.append(rest.partition(":")[2].strip("<>"))
        self._say(answer)
        match verb.upper():
            case "DATA":
                self._take_mail()
            case "STARTTLS":
                self._go_over_to_tls()
            case "QUIT":
                self._is_open = False

    def _default(self, verb: str, rest: str) -> str:
        match verb:
            case "EHLO":
                offers = ["STARTTLS"] if self.server_side.tls and not isinstance(self.connection, ssl.SSLSocket) else []
                offers += ["AUTH PLAIN"] if self.server_side.password else []
                lines = ["stand-in", *offers, "HELP"]
                return "\r\n".join([*(f"250-{line}" for line in lines[:-1]), f"250 {lines[-1]}"])
            case "AUTH":
                given = base64.b64decode(rest.partition(" ")[2]).split(b"\0")[-1].decode()
                return "235 welcome" if given == self.server_side.password else "535 5.7.8 wrong user or password"
            case "DATA":
                return "354 go on"
            case "STARTTLS":
                return "220 go on" if self.server_side.tls else "502 not here"
            case "QUIT":
                return "221 bye"
            case _:
                return "250 ok"

    def _take_mail(self) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        answer = self.server_side.answer(".", "250 taken")
        if answer.startswith("2"):
            self.server_side.mails.append(Mail(self._sender, self._recipients, b"".join(lines)))
        self._say(answer)

    def _go_over_to_tls(self) -> None:
        assert self.server_side.tls is not None
        self.connection = self.server_side.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")

    def _say(self, answer: str) -> None:
        if not answer:
            self._is_open = False
            return
        self.connection.sendall(f"{answer}\r\n".encode())
