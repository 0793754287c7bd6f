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


@pytest.mark.parametrize(
    "block,conditions,order",
    [
        ("claim_heads", "h.IsReady = 1 AND h.Queue = a.Queue AND h.Type = a.Type", "h.Priority DESC, h.DueAtUtc, h.Id"),
        ("claim_lane", "h.IsReady = 1 AND h.Queue = z.Queue AND h.Type = z.Type", "h.Priority DESC, h.DueAtUtc, h.Id"),
        ("claim", "h.IsReady = 1 AND h.Queue = t.Queue AND h.Type = t.Type", "h.Priority DESC, h.DueAtUtc, h.Id"),
        ("claim_promote", "a.IsReady = 0 AND a.Status = 0 AND a.DueAtUtc <= @now", "a.DueAtUtc"),
        ("claim_next_due", "h.IsReady = 0 AND h.Status = 0", "h.DueAtUtc"),
        ("claim_busy", "b.WorkerId IS NOT NULL AND b.Queue = l.Queue", None),
        ("beat", "h.WorkerId = @worker AND h.WorkerId IS NOT NULL AND h.Status = 2", None),
        ("beat_held", "h.WorkerId = @worker AND h.WorkerId IS NOT NULL", None),
        ("recover_found", "h.WorkerId IS NOT NULL AND h.Status = 1", None),
        ("suspects", "h.WorkerId IS NOT NULL AND h.Status = 2", None),
        ("change_queue_fetched", "h.WorkerId IS NOT NULL AND h.Queue = @name AND h.Status = 1", None),
        ("demand_lanes", "r.IsReady = 1 AND r.Queue = l.Queue AND r.Type = l.Type", None),
    ],
)
def test_a_hot_statement_asks_in_the_words_of_its_index(block: str, conditions: str, order: str | None) -> None:
    """
    A filtered index serves only where its filter stands in the statement, word for word.
    """
    text = " ".join(BLOCKS[block].split())

    assert f"WHERE {conditions}" in text
    if order is not None:
        assert f"ORDER BY {order}" in text


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


def test_no_statement_writes_more_than_a_thousand_rows_by_itself() -> None:
    bounded = {"claim_promote": "TOP (1000)", "expire_archive": "TOP (@most)", "keys_prune": "TOP (@most)"}

    assert all(bound in BLOCKS[block] for block, bound in bounded.items())
