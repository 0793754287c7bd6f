from __future__ import annotations

from datetime import timedelta

import pytest

from chokaq_core.policy.running import ExecutionRules

RULES = ExecutionRules(default_timeout=timedelta(minutes=15), queue_timeouts={"erp": timedelta(minutes=2)})


@pytest.mark.parametrize(
    "queue,own,expected",
    [
        ("mail", None, timedelta(minutes=15)),
        ("erp", None, timedelta(minutes=2)),
        ("erp", timedelta(seconds=30), timedelta(seconds=30)),
        ("erp", timedelta(hours=3), timedelta(hours=3)),
        ("mail", timedelta(seconds=30), timedelta(seconds=30)),
        ("ERP", None, timedelta(minutes=15)),
    ],
)
def test_the_registrations_timeout_wins_over_the_queues_and_that_over_the_default(
    queue: str, own: timedelta | None, expected: timedelta
) -> None:
    assert RULES.timeout_for(queue, own) == expected
