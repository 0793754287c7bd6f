"""
No statement writes more than a thousand rows: lock escalation starts near 5000 locks, one for each index of a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from chokaq_core.stores.sqlserver.batches import load_batches, load_blocks

WRITE = re.compile(r"\b(?:UPDATE|DELETE|INSERT INTO) (?!@|TOP|NULL\b)|\b(?:UPDATE|DELETE) TOP")
FROM_ROWS_GIVEN = re.compile(r"\b(?:FROM|JOIN) (?:@\w+|OPENJSON\(@\w+\))")
EXISTS = re.compile(r"\bEXISTS \((?:[^()]|\([^()]*\))*\)")
"""A condition, which bounds nothing."""

BOUNDED = re.compile(r"\bTOP \((?:1000|@most)\)|\bVALUES \(|\bSELECT @\w+, ")
ONE_ROW = re.compile(r"\bWHERE (?:k\.)?(?:WorkerId|Name|Type) = (?:@\w+|N'wake')")
BOUNDED_OTHERWISE = {
    "beat": "a worker's running jobs: as many as it has slots, at most a thousand",
    "circuits_beat": "probes among those jobs",
    "enqueue_lane": "lanes of the jobs given",
    "resurrect_all": "lanes of the jobs given",
}


def _writes(block: str) -> Iterator[str]:
    """
    The statements of a block that write to a table, each on one line.
    """
    lines = [line for line in block.splitlines() if not line.lstrip().startswith("--")]
    for statement in " ".join(" ".join(lines).split()).split(";"):
        found = WRITE.search(statement)
        if found is not None and "[chokaq]" in statement[found.start() :]:
            yield EXISTS.sub("EXISTS", statement[found.start() :].strip())


WRITES = [(name, statement) for name, block in load_blocks().items() for statement in _writes(block)]


@pytest.mark.parametrize("name,statement", WRITES, ids=[f"{name}-{n}" for n, (name, _) in enumerate(WRITES)])
def test_a_statement_writes_rows_that_were_given_or_that_it_counts_or_a_single_one(name: str, statement: str) -> None:
    is_bounded = any(rule.search(statement) for rule in (FROM_ROWS_GIVEN, BOUNDED, ONE_ROW))

    assert is_bounded or name in BOUNDED_OTHERWISE, statement


def test_all_kinds_of_writes_are_looked_at() -> None:
    found = {name for name, _ in WRITES}

    assert len(WRITES) > 50
    assert found >= {
        "beat", "bury_still", "cancel_mark", "change_queue", "circuits_beat", "claim", "claim_promote", "enqueue",
        "expire_archive", "fold_leave", "key_claim", "keys_prune", "lanes_mark", "lanes_prune", "prune_buckets",
        "prune_log", "prune_turns", "prune_workers", "turn_complete", "turn_held", "turn_leave_hot", "turn_mark",
        "turn_release", "turn_stats",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["prune_buckets", "change_queue"])
def test_what_must_go_as_a_whole_goes_a_thousand_rows_at_a_time(name: str) -> None:
    text = load_batches("chokaq")[name].text

    assert re.search(r"\bWHILE\b.*@last = 1000\nBEGIN\n", text)
    assert "TOP (1000)" in text
    assert "SET @last = @@ROWCOUNT;" in text


def test_a_batch_takes_far_fewer_parameters_than_the_2100_that_a_server_allows() -> None:
    assert max(batch.text.count("?") for batch in load_batches("chokaq").values()) < 30
