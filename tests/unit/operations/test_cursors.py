from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from chokaq_core.domain.errors import InvalidJobError
from chokaq_core.domain.listing import JobFilter, JobQuery, Pillar, Position
from chokaq_core.domain.value import replace
from chokaq_core.operations.cursors import Walk

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HERE = Position(NOON - timedelta(microseconds=1), "job-1")
NEWEST = JobQuery(Pillar.DLQ, JobFilter(queue="mail"))
OLDEST = replace(NEWEST, is_oldest_first=True)


def after(query: JobQuery, now: datetime = NOON) -> JobQuery:
    cursor = Walk.resume(query, None).cursor(HERE, now)
    return Walk.resume(query, cursor).query


def test_a_walk_goes_on_where_it_was() -> None:
    assert after(NEWEST) == replace(NEWEST, after=HERE)


def test_the_end_has_no_cursor() -> None:
    assert Walk.resume(NEWEST, None).cursor(None, NOON) is None


def test_a_walk_from_the_oldest_on_ends_with_what_was_there_when_it_began() -> None:
    second = after(OLDEST)
    assert second == replace(OLDEST, filter=JobFilter(queue="mail", to_at=NOON), after=HERE)

    walk = Walk.resume(OLDEST, Walk.resume(OLDEST, None).cursor(HERE, NOON))
    third = Walk.resume(OLDEST, walk.cursor(HERE, NOON + timedelta(hours=1))).query
    assert third == second


def test_an_end_that_was_asked_for_stays() -> None:
    earlier = replace(OLDEST, filter=JobFilter(queue="mail", to_at=NOON - timedelta(days=1)))

    assert after(earlier).filter == earlier.filter


@pytest.mark.parametrize(
    "other",
    [
        replace(NEWEST, pillar=Pillar.ARCHIVE),
        replace(NEWEST, filter=JobFilter(queue="other")),
        replace(NEWEST, filter=JobFilter()),
        OLDEST,
    ],
)
def test_a_cursor_of_another_list_is_refused(other: JobQuery) -> None:
    cursor = Walk.resume(NEWEST, None).cursor(HERE, NOON)

    with pytest.raises(InvalidJobError, match="belongs to another"):
        Walk.resume(other, cursor)


def text(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "=" * 20,
        text(None),
        text([]),
        text([1, "a", None]),
        text(["1", "a", None, "d"]),
        text([None, "a", None, "d"]),
        text([True, "a", None, "d"]),
        text([-1, "a", None, "d"]),
        text([10**30, "a", None, "d"]),
        text([1, "a b", None, "d"]),
        text([1, 2, None, "d"]),
        text([1, "a", "x", "d"]),
        text([1, "a", None, 4]),
        base64.urlsafe_b64encode(b"[" * 300).decode(),
    ],
)
def test_what_no_list_has_given_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidJobError) as refused:
        Walk.resume(NEWEST, cursor)

    assert [problem.field for problem in refused.value.problems] == ["cursor"]
