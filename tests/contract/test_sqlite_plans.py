"""
The plans of SQLite for the queries that run all the time: none walks the active jobs.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chokaq_core.domain.job import NewJob
from chokaq_core.ports import QueueChange, Turn
from chokaq_core.stores.sqlite.database import QUERIES
from tests.contract.sources import SqliteSource
from tests.contract.stages import MINUTE

FREQUENT = re.compile(r"(claim|beat|demand|turn|bury)(_|$)|enqueue_|recover_found|suspects")
NAMES = sorted(name for name, text in QUERIES.items() if FREQUENT.match(name) and "JobsHot" in text)
WALK = re.compile(r"SCAN (JobsHot|[hr])\b")


@pytest.fixture(scope="module", params=[False, True], ids=["fresh", "analyzed"])
def connection(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sqlite3.Connection]:
    """
    A database of jobs in every state: most are due, some delayed, some held, one queue is limited and one paused.
    """
    path = tmp_path_factory.mktemp("plans") / "jobs.db"
    _fill(path)
    with closing(sqlite3.connect(path)) as connection:
        if request.param:
            connection.execute("ANALYZE")
        yield connection


def _fill(path: Path) -> None:
    with closing(SqliteSource(path).open()) as store:
        for batch in range(4):
            store.enqueue([_job(batch, number) for number in range(1000)])
        store.change_queue("queue-1", QueueChange(max_workers=60))
        store.change_queue("queue-2", QueueChange(is_paused=True))
        for worker in ("worker-1", "worker-2"):
            store.turn(Turn(worker, 1, want=30, prefetch=20))


def _job(batch: int, number: int) -> NewJob:
    return NewJob(
        f"job-{batch}-{number}",
        f"type-{number % 3}",
        "1",
        queue=f"queue-{number % 4}",
        priority=number % 5,
        delay=MINUTE if batch == 3 else None,
        idempotency_key=f"key-{batch}-{number}" if number % 2 else None,
    )


def test_the_frequent_queries_are_found_by_their_names() -> None:
    assert {"beat", "beat_held", "bury_still", "claim", "claim_heads", "claim_promote", "demand_due"} <= set(NAMES)
    assert {"enqueue_existing", "enqueue_key_holders", "recover_found", "suspects", "turn_held"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_frequent_query_walks_the_active_jobs(connection: sqlite3.Connection, name: str) -> None:
    plan = _plan(connection, QUERIES[name])

    assert plan
    assert not [step for step in plan if WALK.match(step)], plan


@pytest.mark.parametrize(
    "name,seek",
    [
        ("beat", "SEARCH JobsHot USING INDEX IX_JobsHot_Active (WorkerId=?)"),
        ("claim", "SEARCH JobsHot USING INTEGER PRIMARY KEY (rowid=?)"),
        ("claim_one", "SEARCH JobsHot USING INTEGER PRIMARY KEY (rowid=?)"),
        ("claim_lane", "SEARCH JobsHot USING INDEX IX_JobsHot_Ready (Queue=? AND Type=?)"),
        ("claim_lane_rows", "SEARCH JobsHot USING INDEX IX_JobsHot_Ready (Queue=? AND Type=?)"),
        ("claim_held", "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)"),
        ("claim_heads", "SEARCH r USING INDEX IX_JobsHot_Ready (Queue=? AND Type=?)"),
        ("claim_promote", "SEARCH JobsHot USING INDEX IX_JobsHot_Asleep (DueAtUtc<?)"),
        ("turn_held", "SEARCH h USING INDEX sqlite_autoindex_JobsHot_1 (Id=?)"),
        ("turn_complete", "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)"),
        ("turn_leave_completed", "SEARCH JobsHot USING INTEGER PRIMARY KEY (rowid=?)"),
        ("turn_leave_hot", "SEARCH JobsHot USING INDEX sqlite_autoindex_JobsHot_1 (Id=?)"),
        ("turn_look", "SEARCH JobsHot USING INDEX IX_JobsHot_Asleep"),
        ("turn_start", "SEARCH JobsHot USING INDEX sqlite_autoindex_JobsHot_1 (Id=?)"),
        ("suspects", "SEARCH h USING INDEX IX_JobsHot_Active (WorkerId>?)"),
        ("enqueue_key_holders", "SEARCH h USING INDEX UX_JobsHot_IdempotencyKey (IdempotencyKey=?)"),
    ],
)
def test_the_queries_of_every_turn_seek_as_they_were_meant_to(
    connection: sqlite3.Connection, name: str, seek: str
) -> None:
    assert seek in _plan(connection, QUERIES[name])


@pytest.mark.parametrize(
    "name,seek",
    [
        ("expire_archive", "SEARCH JobsArchive USING COVERING INDEX IX_JobsArchive_Finished (FinishedAtUtc<?)"),
        ("expire_dlq", "SEARCH JobsDLQ USING COVERING INDEX IX_JobsDLQ_Failed (FailedAtUtc<?)"),
        ("prune_log", "SEARCH OperatorLog USING COVERING INDEX IX_OperatorLog_At (AtUtc<?)"),
        ("buckets_oldest", "SEARCH MetricBuckets USING PRIMARY KEY (BucketUtc<?)"),
        ("fold_found", "SEARCH MetricBuckets USING INDEX IX_MetricBuckets_Unfolded (BucketUtc<?)"),
        ("keys_prune", "SEARCH IdempotencyClaims USING COVERING INDEX IX_IdempotencyClaims_Expires (ExpiresAtUtc<?)"),
        ("lanes_mark", "SEARCH r USING INDEX IX_JobsHot_Ready (Queue=? AND Type=?)"),
        ("lanes_mark", "SEARCH h USING INDEX IX_JobsHot_Active (WorkerId>?)"),
    ],
)
def test_each_batch_of_the_maintenance_goes_straight_to_its_oldest_rows(
    connection: sqlite3.Connection, name: str, seek: str
) -> None:
    assert seek in _plan(connection, QUERIES[name])


def test_a_walk_would_be_seen(connection: sqlite3.Connection) -> None:
    plan = _plan(connection, "SELECT * FROM JobsHot AS h WHERE h.Payload = :payload")

    assert [step for step in plan if WALK.match(step)] == ["SCAN h"]


def _plan(connection: sqlite3.Connection, query: str) -> list[str]:
    numbers = [int(number) for number in re.findall(r"\?(\d+)", query)]
    values = [None] * max(numbers) if numbers else dict.fromkeys(re.findall(r":(\w+)", query))
    return [detail for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]


def test_waiting_jobs_of_the_queues_are_counted_within_indexes(connection: sqlite3.Connection) -> None:
    ready, due = _plan(connection, QUERIES["queues"]), _plan(connection, QUERIES["queues_due"])

    assert "SEARCH r USING INDEX IX_JobsHot_Ready (Queue=?)" in ready
    assert "SEARCH h USING INDEX IX_JobsHot_Asleep (DueAtUtc<?)" in due
    assert not [step for step in ready + due if WALK.match(step)]


def test_what_a_wake_waits_for_is_looked_up_in_indexes(connection: sqlite3.Connection) -> None:
    """
    The sleeping jobs are read in the order of their index, so that the limit ends the walk.
    """
    due, opens, closed = (_plan(connection, QUERIES[f"wake_{name}"]) for name in ("next_due", "next_open", "closed"))

    assert due == ["SCAN JobsHot USING INDEX IX_JobsHot_Asleep"]
    assert "SCAN h USING INDEX IX_JobsHot_Asleep" in opens
    assert "SEARCH r USING INDEX IX_JobsHot_Ready (Queue=? AND Type=?)" in opens
    assert "SEARCH h USING COVERING INDEX IX_JobsHot_Active (WorkerId>?)" in closed
    assert not [step for step in due + opens if "TEMP B-TREE FOR ORDER" in step]


LISTS = sorted(name for name in QUERIES if re.fullmatch(r"list_\w+|count_\w+", name))
INDEXES = {"hot": "IX_JobsHot_Created", "archive": "IX_JobsArchive_Finished", "dlq": "IX_JobsDLQ_Failed"}


def test_the_lists_are_found_by_their_names() -> None:
    assert len(LISTS) == 15


@pytest.mark.parametrize("name", LISTS)
def test_every_list_walks_a_part_of_its_pillars_index_in_order(connection: sqlite3.Connection, name: str) -> None:
    plan = _plan(connection, QUERIES[name])

    pillar = name.split("_")[1]
    assert len(plan) == 1, plan
    assert re.fullmatch(rf"SEARCH \w+ USING (COVERING )?INDEX {INDEXES[pillar]} \(\w+>\? AND \w+<\?\)", plan[0]), plan
    if name.endswith("_horizon"):
        assert "COVERING" in plan[0]


@pytest.mark.parametrize("pillar", ["hot", "archive", "dlq"])
def test_jobs_are_looked_up_by_their_primary_key(connection: sqlite3.Connection, pillar: str) -> None:
    plan = _plan(connection, QUERIES[f"look_up_{pillar}"])

    assert re.match(r"SEARCH \w+ USING INDEX sqlite_autoindex_\w+_1 \(Id=\?\)", plan[0]), plan
