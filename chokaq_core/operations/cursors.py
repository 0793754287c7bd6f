"""
Cursors: a position in a list as text, good for that list only.
"""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Self

from chokaq_core.domain.errors import FieldProblem, InvalidJobError
from chokaq_core.domain.listing import JobQuery, Position
from chokaq_core.domain.value import Value, replace
from chokaq_core.operations.commands import Matching, target_text
from chokaq_core.policy.envelope import is_job_id

MAX_CURSOR_CHARACTERS = 400

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Walk(Value):
    """
    A list that is read part by part.

    Attributes:
        asked: the list as the caller asks for it each time.
        query: the part to read now.
    """

    asked: JobQuery
    query: JobQuery

    @classmethod
    def resume(cls, asked: JobQuery, cursor: str | None) -> Self:
        """
        The list from a cursor on, or from its beginning.

        Raises:
            InvalidJobError: it is no cursor, or one of another list.
        """
        if cursor is None:
            return cls(asked, asked)
        at, job_id, until, digest = _content(cursor)
        if digest != _digest(asked):
            rule = "belongs to another pillar, filter or order; begin that list anew"
            raise InvalidJobError([FieldProblem("cursor", rule)])
        ends = [end for end in (asked.filter.to_at, _moment_or_none(until)) if end is not None]
        ended = replace(asked.filter, to_at=min(ends, default=None))
        return cls(asked, replace(asked, filter=ended, after=Position(_moment(at), job_id)))

    def cursor(self, further: Position | None, now: datetime) -> str | None:
        """
        Where to go on, or None at the end of the list.

        A walk from the oldest on ends with what was there when it began: a job that left and came back would stand in
        it twice.
        """
        if further is None:
            return None
        until = (self.query.filter.to_at or now) if self.asked.is_oldest_first else None
        content = [_micros(further.at), further.job_id, None if until is None else _micros(until), _digest(self.asked)]
        return base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode()


def _content(cursor: str) -> tuple[int, str, int | None, str]:
    try:
        at, job_id, until, digest = json.loads(
            base64.b64decode(cursor[:MAX_CURSOR_CHARACTERS].encode("ascii"), altchars=b"-_", validate=True)
        )
        times = [time for time in (at, until) if time is not None]
        is_ours = is_job_id(job_id) and isinstance(digest, str) and all(_is_time(time) for time in times)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidJobError([FieldProblem("cursor", "is none that a list has given")]) from error
    if not is_ours or at is None:
        raise InvalidJobError([FieldProblem("cursor", "is none that a list has given")])
    return at, job_id, until, digest


def _is_time(value: object) -> bool:
    return type(value) is int and 0 <= value <= _micros(_LAST)


def _digest(query: JobQuery) -> str:
    return hashlib.sha256(target_text(Matching(query)).encode()).hexdigest()[:16]


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _moment_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)
