"""
Tokens that tie the execution of a command to the preview that was seen.

A token is good for one command of one person, for a while. It holds what the preview found, so that any instance of the
app can check it and nothing is remembered between the two calls.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import PreviewRejectedError
from chokaq_core.domain.value import Value
from chokaq_core.operations.commands import target_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chokaq_core.domain.listing import JobSummary
    from chokaq_core.operations.commands import JobCommand

LIFETIME = timedelta(minutes=15)
MAX_TOKEN_CHARACTERS = 500

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Seen(Value):
    """
    What a preview found: when, by the database's clock, and a fingerprint of the jobs and their states.
    """

    at: datetime
    fingerprint: str


def fingerprint(jobs: Iterable[JobSummary]) -> str:
    """
    A short text that differs for other jobs, and for the same ones in other states.
    """
    states = sorted(f"{job.id} {int(job.status)} {job.lease_number}" for job in jobs)
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:32]


class Seals:
    """
    Makes and checks tokens with one key, which all instances of an app share.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, command: JobCommand, actor: str, seen: Seen) -> str:
        """
        The token of a preview.
        """
        content = json.dumps([(seen.at - _EPOCH) // _MICROSECOND, seen.fingerprint]).encode()
        return f"{base64.urlsafe_b64encode(content).decode()}.{self._signature(command, actor, content)}"

    def open(self, token: str, command: JobCommand, actor: str) -> Seen:
        """
        What the preview of a token found.

        Raises:
            PreviewRejectedError: it is none of ours, or of another command or person.
        """
        at, found = json.loads(self._content(token, command, actor))
        return Seen(_EPOCH + timedelta(microseconds=at), found)

    def require_fresh(self, seen: Seen, now: datetime) -> None:
        """
        Lets a preview pass that is not too old.

        Raises:
            PreviewRejectedError: it is.
        """
        if now - seen.at > LIFETIME:
            raise PreviewRejectedError("the preview is too old; look at a new one")

    def _content(self, token: str, command: JobCommand, actor: str) -> bytes:
        text, _, signature = token[: MAX_TOKEN_CHARACTERS + 1].partition(".")
        try:
            content = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
            is_ours = hmac.compare_digest(signature, self._signature(command, actor, content))
        except (binascii.Error, UnicodeError, TypeError, ValueError):
            is_ours, content = False, b""
        if not is_ours:
            raise PreviewRejectedError("the token does not belong to this command, as this person previewed it")
        return content

    def _signature(self, command: JobCommand, actor: str, content: bytes) -> str:
        edit = command.edit
        parts = [command.verb, target_text(command.target), edit.payload, edit.tags, edit.priority, actor]
        message = json.dumps(parts).encode() + b"\n" + content
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()
