"""
Each hot statement has an index with the right leading columns and filter.
"""

from __future__ import annotations

import re

import pytest

from chokaq_core.stores.sqlserver.batches import load_blocks
from chokaq_core.stores.sqlserver.schema import scripts_of

BLOCKS = load_blocks()
SCHEMA = "\n".join(statement for *_, statements in scripts_of("chokaq") for statement in statements)
CREATED = re.compile(
    r"CREATE (?P<unique>UNIQUE )?INDEX (?P<name>\w+) ON \[chokaq\]\.(?P<table>\w+) \((?P<columns>[^)]*)\)"
    r"(?: INCLUDE \((?P<include>[^)]*)\))?(?:\s+WHERE (?P<filter>[^;]*))?;"
)
INDEXES = {match["name"]: match for match in CREATED.finditer(SCHEMA)}


@pytest.mark.parametrize(
    "name,table,columns,include,predicate",
    [
        ("IX_JobsHot_Ready", "JobsHot", "Queue, Type, Priority DESC, DueAtUtc, Id", "LeaseNumber", "IsReady = 1"),
        ("IX_JobsHot_Asleep", "JobsHot", "DueAtUtc", "Queue, Type", "IsReady = 0 AND Status = 0"),
        ("IX_JobsHot_Active", "JobsHot", "WorkerId, Queue, Status", None, "WorkerId IS NOT NULL"),
        ("UX_JobsHot_IdempotencyKey", "JobsHot", "IdempotencyKey", None, "IdempotencyKey IS NOT NULL"),
        ("IX_JobsHot_Created", "JobsHot", "CreatedAtUtc, Id", None, None),
        ("IX_JobsArchive_Finished", "JobsArchive", "FinishedAtUtc, Id", None, None),
        ("IX_JobsDLQ_Failed", "JobsDLQ", "FailedAtUtc, Id", "FailureReason, Queue, Type", None),
        ("IX_OperatorLog_At", "OperatorLog", "AtUtc", None, None),
        ("IX_IdempotencyClaims_Expires", "IdempotencyClaims", "ExpiresAtUtc", None, "ExpiresAtUtc IS NOT NULL"),
        ("IX_MetricBuckets_Unfolded", "MetricBuckets", "BucketUtc", None, "Shard <> ''"),
    ],
)
def test_the_index_is_there(name: str, table: str, columns: str, include: str | None, predicate: str | None) -> None:
    index = INDEXES[name]

    assert (index["table"], index["columns"], index["include"], index["filter"]) == (table, columns, include, predicate)


def test_there_are_no_others() -> None:
    assert len(INDEXES) == 10


READY, ASLEEP, ACTIVE = "IX_JobsHot_Ready", "IX_JobsHot_Asleep", "IX_JobsHot_Active"
FIRST_TO_RUN = "h.Priority DESC, h.DueAtUtc, h.Id"
HOT_STATEMENTS = [
    ("claim_heads", READY, "h.IsReady = 1 AND h.Queue = a.Queue AND h.Type = a.Type", FIRST_TO_RUN),
    ("claim_lane", READY, "h.IsReady = 1 AND h.Queue = z.Queue AND h.Type = z.Type", FIRST_TO_RUN),
    ("claim", READY, "h.IsReady = 1 AND h.Queue = t.Queue AND h.Type = t.Type", FIRST_TO_RUN),
    ("demand_lanes", READY, "r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type", ""),
    ("claim_promote", ASLEEP, "a.IsReady = 0 AND a.Status = 0 AND a.DueAtUtc <= @now", "a.DueAtUtc"),
    ("wake_next_due", ASLEEP, "h.IsReady = 0 AND h.Status = 0", "h.DueAtUtc"),
    ("beat", ACTIVE, "h.WorkerId = @worker AND h.WorkerId IS NOT NULL AND h.Status = 2", ""),
    ("beat_held", ACTIVE, "h.WorkerId = @worker AND h.WorkerId IS NOT NULL", ""),
    ("claim_busy", ACTIVE, "b.WorkerId IS NOT NULL AND b.Queue = l.Queue", ""),
    ("recover_found", ACTIVE, "h.WorkerId IS NOT NULL AND h.Status = 1", ""),
    ("suspects", ACTIVE, "h.WorkerId IS NOT NULL AND h.Status = 2", ""),
    ("change_queue_fetched", ACTIVE, "h.WorkerId IS NOT NULL AND h.Queue = @name AND h.Status = 1", ""),
]
READS_ALL_HELD_JOBS = {"claim_busy", "recover_found", "suspects", "change_queue_fetched"}
"""They read their index from end to end: it holds what workers hold, and nothing that waits."""


@pytest.mark.parametrize("block,index,conditions,order", HOT_STATEMENTS)
def test_a_hot_statement_asks_in_the_words_of_its_index(block: str, index: str, conditions: str, order: str) -> None:
    """
    A filtered index serves only where its filter stands in the statement, word for word.
    """
    text = " ".join(BLOCKS[block].split())
    asked = [term.partition(".")[2] for term in conditions.split(" AND ")]

    assert f"WHERE {conditions}" in text
    assert f"ORDER BY {order}" in text or not order
    assert set(INDEXES[index]["filter"].split(" AND ")) <= set(asked)


@pytest.mark.parametrize("block,index,conditions,order", HOT_STATEMENTS)
def test_its_index_begins_with_what_it_seeks_and_goes_on_in_its_order(
    block: str, index: str, conditions: str, order: str
) -> None:
    columns = INDEXES[index]["columns"].split(", ")
    predicate = INDEXES[index]["filter"].split(" AND ")
    asked = [term.partition(".")[2] for term in conditions.split(" AND ")]
    equal = [term.split()[0] for term in asked if term not in predicate and " = " in term]
    sought = [column for column in columns if column in equal]
    in_order = [column.partition(".")[2] for column in order.split(", ")] if order else []

    assert set(equal) <= set(columns)
    if block not in READS_ALL_HELD_JOBS:
        assert columns[0] in (*sought[:1], *in_order[:1])
        assert columns[len(sought) :][: len(in_order)] == in_order


@pytest.mark.parametrize(
    "block,index",
    [
        ("claim_heads", "INDEX (IX_JobsHot_Ready), FORCESEEK"),
        ("claim_lane", "INDEX (IX_JobsHot_Ready), FORCESEEK"),
        ("claim", "INDEX (IX_JobsHot_Ready), FORCESEEK"),
        ("claim_promote", "INDEX (IX_JobsHot_Asleep)"),
        ("list_hot_newest", "INDEX (IX_JobsHot_Created), FORCESEEK"),
        ("list_archive_oldest", "INDEX (IX_JobsArchive_Finished), FORCESEEK"),
        ("list_dlq_newest", "INDEX (IX_JobsDLQ_Failed), FORCESEEK"),
        ("expire_archive", "INDEX (IX_JobsArchive_Finished)"),
        ("expire_dlq", "INDEX (IX_JobsDLQ_Failed)"),
    ],
)
def test_the_plan_of_a_statement_that_statistics_could_lead_astray_is_pinned(block: str, index: str) -> None:
    assert index in BLOCKS[block]


MOVES_BY_KEY = [
    "turn_held", "turn_retry", "turn_postpone", "turn_release", "turn_hand_back", "turn_start", "turn_leave_hot",
    "bury_still", "cancel_mark",
]  # fmt: skip


@pytest.mark.parametrize("block", MOVES_BY_KEY)
def test_a_move_finds_its_rows_by_primary_key_from_the_jobs_given(block: str) -> None:
    text = BLOCKS[block]

    assert re.search(
        r"FROM @(given|move) AS \w INNER JOIN \[chokaq\]\.JobsHot AS h WITH \(ROWLOCK\) ON h\.Id = \w\.Id", text
    )
    assert "OPTION (LOOP JOIN, FORCE ORDER);" in text


def test_a_heartbeat_writes_no_index() -> None:
    assert all("HeartbeatUtc" not in index["columns"] for index in INDEXES.values())
