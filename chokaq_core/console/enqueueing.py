"""
`enqueue`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chokaq_core.console import arguments
from chokaq_core.console.exits import Exit
from chokaq_core.console.models import checked
from chokaq_core.console.opening import imported
from chokaq_core.console.printing import write_json
from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.hosting import json_text
from chokaq_core.hosting.http_models import EnqueueBody

if TYPE_CHECKING:
    import argparse

_OPTIONS = {
    "queue": "the queue (default: the type's own)",
    "delay": "wait before the first run, [d.]hh:mm:ss",
    "due_at": "earliest first run, such as 2030-05-10T12:00:00Z",
    "idempotency_key": "held while the job is active",
    "tags": "free text for searches",
    "created_by": "who asks",
    "id": "an id of your own, which makes a repeat safe",
}


def enqueue_arguments(parser: argparse.ArgumentParser) -> None:
    """
    Arguments of `enqueue`.
    """
    arguments.answer(parser)
    parser.add_argument("type", help="registered type key, such as email.send.v1")
    parser.add_argument("payload", metavar="JSON", help="the job's payload; @FILE reads it from a file")
    parser.add_argument("--priority", type=int, help="0 to 1000000, higher first")
    for name, words in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="TEXT", dest=name, help=words)


def run_enqueue(given: argparse.Namespace) -> int:
    """
    Stores one job, checked as over HTTP.
    """
    payload = parsed_payload(given.payload)
    values = {name: getattr(given, name) for name in (*_OPTIONS, "priority")}
    body = checked(EnqueueBody, {"type": given.type, "payload": payload, **values})
    with imported(given.app) as chokaq:
        result = chokaq.producer.enqueue_raw(body.to_request())
    if given.json:
        write_json({"id": result.job_id, "duplicate": result.is_duplicate})
    else:
        print(result.job_id + (" (an active job holds this idempotency key already)" if result.is_duplicate else ""))
    return Exit.DONE


def payload_text(given: str) -> str:
    """
    A payload as it was given, or from the file that stands behind an `@`.

    Raises:
        InvalidJobError: the file cannot be read.
    """
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidJobError([FieldProblem("payload", f"{given[1:]} cannot be read: {error}")]) from error


def parsed_payload(given: str) -> object:
    """
    A payload's value, its numbers with all of their digits.

    Raises:
        InvalidJobError: it is not strict JSON.
    """
    try:
        return json_text.parse(payload_text(given).encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise InvalidJobError([FieldProblem("payload", f"is not strict JSON: {error}")]) from error
