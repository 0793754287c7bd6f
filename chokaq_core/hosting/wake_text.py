"""
What a wake looks like on the queue. It is a hint and carries nothing, so a bad one is told and dropped.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING

from chokaq_core.domain.events import Event, EventName

if TYPE_CHECKING:
    import azure.functions as func

_SHOWN_BYTES = 100


def malformed(wake: func.QueueMessage) -> Event | None:
    """
    The event that tells of a message that is no wake; None for a good one.
    """
    body = wake.get_body()
    if is_wake(body):
        return None
    facts = {"message_id": wake.id, "bytes": len(body), "body": ascii(body[:_SHOWN_BYTES])}
    return Event(EventName.WAKE_MALFORMED, facts=facts)


def is_wake(body: bytes) -> bool:
    """
    Whether a queue message is a wake: a JSON object of version 1, as plain text or base64.
    """
    return _is_version_1(body) or _is_version_1(_unpacked(body))


def _unpacked(body: bytes) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        return b""


def _is_version_1(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("v") == 1
