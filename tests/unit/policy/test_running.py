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


OWN = {"report.build.v1": timedelta(minutes=10), "email.send.v1": timedelta(seconds=30)}


@pytest.mark.parametrize(
    "most,open_lanes",
    [
        (timedelta(seconds=29), set()),
        (timedelta(seconds=30), {("mail", "email.send.v1"), ("erp", "email.send.v1")}),
        (timedelta(minutes=2), {("mail", "email.send.v1"), ("erp", "email.send.v1"), ("erp", "note.v1")}),
        (
            timedelta(minutes=14),
            {
                ("mail", "email.send.v1"),
                ("erp", "email.send.v1"),
                ("erp", "note.v1"),
                ("mail", "report.build.v1"),
                ("erp", "report.build.v1"),
            },
        ),
        (
            timedelta(minutes=15),
            {(queue, type_key) for queue in ("mail", "erp") for type_key in ("email.send.v1", "note.v1", *OWN)},
        ),
    ],
)
def test_a_lane_is_open_when_its_jobs_have_a_timeout_that_is_short_enough(
    most: timedelta, open_lanes: set[tuple[str, str]]
) -> None:
    lanes = RULES.lanes_within(most, OWN)

    every = [(queue, type_key) for queue in ("mail", "erp") for type_key in ("note.v1", *OWN)]
    assert {lane for lane in every if lanes.lets(*lane)} == open_lanes


@pytest.mark.parametrize(
    "own,expected",
    [
        ([], timedelta(minutes=2)),
        ([timedelta(hours=1)], timedelta(minutes=2)),
        ([timedelta(hours=1), timedelta(seconds=30)], timedelta(seconds=30)),
    ],
)
def test_the_shortest_timeout_is_of_a_registration_or_a_queue_or_the_default(
    own: list[timedelta], expected: timedelta
) -> None:
    assert RULES.shortest(own) == expected
    assert ExecutionRules(default_timeout=timedelta(minutes=15)).shortest([]) == timedelta(minutes=15)
