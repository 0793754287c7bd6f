"""
Which jobs are accepted: every limit of a job's envelope, checked before anything is written.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.domain.job import DEFAULT_PRIORITY, DEFAULT_QUEUE, NewJob
from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TYPE_CHARACTERS = 255
MAX_ID_CHARACTERS = 50
MAX_KEY_CHARACTERS = 255
MAX_TAGS_CHARACTERS = 1_000
MAX_CREATED_BY_CHARACTERS = 100
MAX_PRIORITY = 1_000_000
MAX_DEPTH = 100
LAST_DUE_AT = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
MAX_DELAY = timedelta(days=366 * 1000)
"""A longer delay is refused; with it no due time that the database computes can pass year 9999 before year 8999."""

QUEUE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")
QUEUE_NAME_RULE = "1 to 255 characters of a-z, 0-9, '.', '_' and '-', the first a letter or digit"
TYPE_KEY = re.compile(r"[!-~]{1,255}")
_TYPE_KEY_RULE = f"1 to {MAX_TYPE_CHARACTERS} printable ASCII characters without blanks, such as 'email.send.v1'"
_JOB_ID_RULE = "1 to 50 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-'"
# Plain text where few calls need it: the first of them compiles it, and no start of a process does.
_JOB_ID = r"[A-Za-z0-9._~-]{1,50}"
_DOTS = (".", "..")
"""Steps in an address (RFC 3986, 5.2.4): clients resolve them away before they send it."""
_TRACE_PARENT = r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"
# Possessive, and the end of the text closes a string too: no text is scanned twice, however many quotes it holds.
_STRING_LITERAL = r'(?s)"(?:[^"\\]++|\\.?)*+(?:"|\Z)'
_ESCAPED_SURROGATE = r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"


class EnvelopeLimits(Value):
    """
    The limits that settings can move.

    Attributes:
        max_payload_bytes: size of the stored JSON text in UTF-8 bytes (`Serialization.MaxPayloadBytes`).
    """

    max_payload_bytes: int = 1_000_000


class Envelope(Value):
    """
    A job as its caller describes it, payload already JSON text, nothing checked yet.
    """

    type_key: str
    payload: str
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    delay: timedelta | None = None
    due_at: datetime | None = None
    idempotency_key: str | None = None
    tags: str | None = None
    created_by: str | None = None
    job_id: str | None = None
    trace_parent: str | None = None


def seal(envelope: Envelope, limits: EnvelopeLimits, fresh_id: str) -> NewJob:
    """
    The checked job, ready for the store.

    Args:
        fresh_id: the id to use when the caller gave none.

    Raises:
        InvalidJobError: at least one field breaks a rule; all problems are listed.
    """
    problems = tuple(envelope_problems(envelope, limits))
    if problems:
        raise InvalidJobError(problems)
    return NewJob(
        id=envelope.job_id if envelope.job_id is not None else fresh_id,
        type_key=envelope.type_key,
        payload=envelope.payload,
        queue=envelope.queue,
        priority=envelope.priority,
        delay=envelope.delay,
        due_at=envelope.due_at.astimezone(UTC) if envelope.due_at is not None else None,
        idempotency_key=envelope.idempotency_key,
        tags=envelope.tags,
        created_by=envelope.created_by,
        trace_parent=envelope.trace_parent,
    )


def is_job_id(text: str) -> bool:
    """
    Whether a text could be the id of a job; no store holds any other.
    """
    return re.fullmatch(_JOB_ID, text) is not None and text not in _DOTS


def envelope_problems(envelope: Envelope, limits: EnvelopeLimits) -> Iterator[FieldProblem]:
    """
    Every rule that a job breaks, field by field.
    """
    if not _matches(TYPE_KEY, envelope.type_key):
        yield FieldProblem("type", f"must be {_TYPE_KEY_RULE}; got {_shown(envelope.type_key)}")
    yield from payload_problems(envelope.payload, limits)
    if not _matches(QUEUE_NAME, envelope.queue):
        yield FieldProblem("queue", f"must be {QUEUE_NAME_RULE}; got {_shown(envelope.queue)}")
    if not _is_priority(envelope.priority):
        yield _priority_problem(envelope.priority)
    yield from _option_problems(envelope)


def _option_problems(envelope: Envelope) -> Iterator[FieldProblem]:
    """
    What is wrong with that which most jobs leave out.
    """
    if envelope.delay is not None or envelope.due_at is not None:
        yield from _due_problems(envelope.delay, envelope.due_at)
    if envelope.idempotency_key is not None:
        yield from _key_problems(envelope.idempotency_key)
    if envelope.tags is not None:
        yield from _text("tags", envelope.tags, MAX_TAGS_CHARACTERS)
    if envelope.created_by is not None:
        yield from _text("created_by", envelope.created_by, MAX_CREATED_BY_CHARACTERS)
    if envelope.job_id is not None:
        yield from _id_problems(envelope.job_id)
    if envelope.trace_parent is not None and not _matches(re.compile(_TRACE_PARENT), envelope.trace_parent):
        rule = "must be a W3C traceparent of 55 characters"
        yield FieldProblem("trace_parent", f"{rule}; got {_shown(envelope.trace_parent)}")


def payload_problems(payload: str, limits: EnvelopeLimits) -> Iterator[FieldProblem]:
    """
    What is wrong with a payload's text: lone surrogates, size in UTF-8 bytes, nesting.
    """
    if not isinstance(payload, str):
        yield FieldProblem("payload", f"must be JSON text; got a {type(payload).__name__}")
        return
    try:
        size = len(payload.encode())
    except UnicodeEncodeError:
        yield FieldProblem("payload", "contains a lone surrogate, which is not valid text; remove it")
        return
    if size > limits.max_payload_bytes:
        rule = (
            f"is {size} bytes of UTF-8 JSON; the limit is {limits.max_payload_bytes} (Serialization.MaxPayloadBytes); "
            "store large data elsewhere and send its address"
        )
        yield FieldProblem("payload", rule, "too_large")
    elif _has_escaped_lone_surrogate(payload):
        yield FieldProblem("payload", "contains an escaped lone surrogate, which is not valid text; remove it")
    elif _depth(payload) > MAX_DEPTH:
        yield FieldProblem("payload", f"is nested deeper than {MAX_DEPTH} levels; flatten it")


def revision_problems(tags: str | None, priority: int | None) -> Iterator[FieldProblem]:
    """
    What is wrong with new values for a stored job; its payload is checked as that of a new one.
    """
    if tags is not None:
        yield from _text("tags", tags, MAX_TAGS_CHARACTERS)
    if priority is not None and not _is_priority(priority):
        yield _priority_problem(priority)


def field_problem_of_json(text: str) -> FieldProblem | None:
    """
    Why a text is not strict JSON, or None when it is (RFC 8259: no NaN, no Infinity).
    """
    try:
        json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        return FieldProblem("payload", f"is nested deeper than {MAX_DEPTH} levels; flatten it")
    except ValueError as error:
        return FieldProblem("payload", f"is not strict JSON: {json_fault(error)}")
    return None


def json_fault(error: ValueError) -> str:
    """
    What Python's parser has against a text, without its advice to those who run it.
    """
    words = str(error)
    if "integer string conversion" in words:
        return "a whole number has too many digits"
    if "BOM" in words:
        return "it begins with a byte order mark; send it without"
    return words


def _id_problems(job_id: str) -> Iterator[FieldProblem]:
    if job_id in _DOTS:
        yield FieldProblem(
            "id", f"must not be {job_id!r}: clients take it for a step in an address, so no call reaches it"
        )
    elif not _matches(re.compile(_JOB_ID), job_id):
        yield FieldProblem("id", f"must be {_JOB_ID_RULE}; got {_shown(job_id)}")


def _is_priority(priority: object) -> bool:
    return isinstance(priority, int) and not isinstance(priority, bool) and 0 <= priority <= MAX_PRIORITY


def _priority_problem(priority: object) -> FieldProblem:
    return FieldProblem("priority", f"must be a whole number from 0 to {MAX_PRIORITY}; got {_shown(priority)}")


def _due_problems(delay: timedelta | None, due_at: datetime | None) -> Iterator[FieldProblem]:
    if delay is not None and due_at is not None:
        yield FieldProblem("due_at", "give either delay or due_at, not both")
    if delay is not None and not isinstance(delay, timedelta):
        yield FieldProblem("delay", f"must be a timedelta; got {_shown(delay)}")
    elif delay is not None and delay < timedelta(0):
        yield FieldProblem("delay", f"must not be negative; got {delay}")
    elif delay is not None and delay > MAX_DELAY:
        yield FieldProblem("delay", f"must be at most {MAX_DELAY.days} days; got {delay}")
    if due_at is not None:
        yield from _due_at_problems(due_at)


def _due_at_problems(due_at: datetime) -> Iterator[FieldProblem]:
    if not isinstance(due_at, datetime):
        yield FieldProblem("due_at", f"must be a datetime; got {_shown(due_at)}")
    elif due_at.utcoffset() is None:
        yield FieldProblem("due_at", f"needs a time zone, e.g. 2030-05-10T12:00:00Z; got {due_at.isoformat()}")
    elif not _is_in_range(due_at):
        yield FieldProblem("due_at", f"must lie in the years 1 to 9999 in UTC; got {due_at.isoformat()}")


def _is_in_range(due_at: datetime) -> bool:
    try:
        return due_at.astimezone(UTC) <= LAST_DUE_AT
    except OverflowError:
        return False


def _key_problems(key: str) -> Iterator[FieldProblem]:
    if isinstance(key, str) and not key.strip():
        yield FieldProblem("idempotency_key", f"must not be blank; leave it out instead; got {_shown(key)}")
    elif isinstance(key, str) and key != key.strip():
        yield FieldProblem("idempotency_key", f"must not begin or end with blanks; got {_shown(key)}")
    else:
        yield from _text("idempotency_key", key, MAX_KEY_CHARACTERS)


def _text(field: str, value: str, limit: int) -> Iterator[FieldProblem]:
    """
    Free text: bounded in UTF-16 units, which is how SQL Server counts nvarchar, free of NUL and surrogates.
    """
    if not isinstance(value, str):
        yield FieldProblem(field, f"must be text; got {_shown(value)}")
        return
    units = len(value.encode("utf-16-le", "surrogatepass")) // 2
    if units > limit:
        yield FieldProblem(field, f"must be at most {limit} characters; got {units}")
    elif "\x00" in value:
        yield FieldProblem(field, "must not contain NUL characters")
    elif any("\ud800" <= character <= "\udfff" for character in value):
        yield FieldProblem(field, "contains a lone surrogate, which is not valid text; remove it")


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _shown(value: object) -> str:
    """
    A value as an error may show it: short, with its length where that may be what is wrong with it.
    """
    limit = 60
    text = ascii(value)
    size = len(value) if isinstance(value, str) else len(text)
    if size <= MAX_ID_CHARACTERS and len(text) <= limit:
        return text
    return f"{text[:limit]}{'…' if len(text) > limit else ''} ({size} characters)"


def _has_escaped_lone_surrogate(payload: str) -> bool:
    """
    Whether the JSON text escapes half of a surrogate pair. Most texts hold no such escape and are not parsed.
    """
    if "\\u" not in payload or re.search(_ESCAPED_SURROGATE, payload) is None:
        return False
    try:
        literals = (json.loads(literal.group()) for literal in re.finditer(_STRING_LITERAL, payload))
        return any("\ud800" <= character <= "\udfff" for literal in literals for character in literal)
    except ValueError:
        return False


def _depth(payload: str) -> int:
    """
    How deep arrays and objects nest. Few brackets cannot nest deep, which spares most payloads the scan.
    """
    if payload.count("[") + payload.count("{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for character in re.sub(_STRING_LITERAL, "", payload):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        msg = f"the number {text[:40]} is too large"
        raise ValueError(msg)
    return value
