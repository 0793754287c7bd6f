"""
Cleaning up in transactions that stay small, whatever the settings ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, cast

import pytest

from chokaq_core.domain.job import Place
from chokaq_core.stores.sqlserver import maintaining
from chokaq_core.stores.sqlserver.database import Database

DAY = timedelta(days=1)
Purge = Callable[[Database, timedelta, int], int]


class Rows:
    """
    Stands for a database with so many old rows; keeps how many each transaction was to delete at most.
    """

    def __init__(self, old: int) -> None:
        self.old = old
        self.asked: list[int] = []

    def run(self, _name: str, values: Mapping[str, Any]) -> list[list[tuple[int]]]:
        most: int = values["most"]
        gone = min(self.old, most)
        self.asked.append(most)
        self.old -= gone
        return [[(gone,)]]


@pytest.mark.case("C-041")
@pytest.mark.parametrize(
    "purge",
    [
        lambda database, age, limit: maintaining.purge_expired(database, Place.ARCHIVE, age, limit),
        lambda database, age, limit: maintaining.purge_expired(database, Place.DLQ, age, limit),
        maintaining.prune_buckets,
        maintaining.prune_operator_log,
    ],
    ids=["archive", "dlq", "buckets", "log"],
)
@pytest.mark.parametrize(
    "old, limit, removed, asked",
    [
        (300_000, 100_000, 100_000, [1000] * 100),
        (300_000, 2500, 2500, [1000, 1000, 500]),
        (1200, 100_000, 1200, [1000, 1000]),
        (0, 1000, 0, [1000]),
    ],
)
def test_no_transaction_deletes_more_than_a_thousand_rows_however_many_are_asked_for(
    purge: Purge, old: int, limit: int, removed: int, asked: list[int]
) -> None:
    rows = Rows(old)

    assert purge(cast("Database", rows), DAY, limit) == removed
    assert rows.asked == asked
