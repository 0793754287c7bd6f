"""
Both dialects define the same queries with the same parameters, and every statement is T-SQL.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlfluff.core import FluffConfig, Linter

from chokaq_core.stores.sqlserver.batches import load_batches, load_blocks
from chokaq_core.stores.sqlserver.schema import scripts_of

STORES = Path(__file__).parents[3] / "chokaq_core" / "stores"
HERE = load_blocks()
THERE = load_blocks(STORES / "sqlite" / "sql")
SHARED = sorted(set(HERE) & set(THERE))
ONLY = re.compile(r"^-- only: (\w+), because \S", re.MULTILINE)

SPELT = {
    "actor": "LastModifiedBy",
    "answer": "Claimed",
    "delay": "DueAtUtc",
    "due": "@wake_at",
    "endings": "@move",
    "error_type": "Entry",
    "held": "IsHeld",
    "held_key": "IdempotencyKey",
    "ids": "Id",
    "leases": "@move",
    "message": "Entry",
    "picked": "@slot",
    "probing": "@circuit",
    "running": "@want",
    "type_key": "Type",
}
"""Values that this dialect has under another name than their own."""

BOUNDS = {"claim_lane": "@room", "claim_promote": "1000", "lanes_asleep": "10000"}
"""Queries whose bound is not a parameter here."""

DONE_BEFORE = {("turn_start", "worker"): "turn_held", ("turn_answer", "seq"): "turn_mark"}
"""Guards that an earlier block of the batch has looked at, under the lock that it took, and what it has written."""


@pytest.mark.parametrize("name", sorted(set(HERE) - set(THERE)))
def test_a_block_of_this_dialect_alone_says_why(name: str) -> None:
    assert ONLY.findall(HERE[name]) == ["sqlserver"]


@pytest.mark.parametrize("name", sorted(set(THERE) - set(HERE)))
def test_a_query_of_the_embedded_dialect_alone_says_why(name: str) -> None:
    assert ONLY.findall(THERE[name]) == ["sqlite"]


@pytest.mark.parametrize("name", SHARED)
def test_a_query_of_both_claims_to_be_of_neither_alone(name: str) -> None:
    assert ONLY.findall(HERE[name]) == ONLY.findall(THERE[name]) == []


def test_most_queries_are_shared() -> None:
    assert len(SHARED) > 100


@pytest.mark.parametrize("name", SHARED)
def test_every_value_of_the_embedded_query_has_its_place_here(name: str) -> None:
    statement = "\n".join(line for line in THERE[name].splitlines() if not line.startswith("--"))
    values = set(re.findall(r"(?<![:\w]):(\w+)", statement)) - {"now"}

    missing = {value for value in values if not _stands_in(value, HERE[_block_of(name, value)].lower(), name)}

    assert missing == set()


def _block_of(name: str, value: str) -> str:
    """
    The block that has a query's value here: the query of the same name, but for what was done before it.
    """
    return DONE_BEFORE.get((name, value), name)


def _stands_in(value: str, text: str, name: str) -> bool:
    """
    Whether the value stands there as a variable, as a column, or as what the tables above say.
    """
    column = value.replace("_", "")
    words = {value, column, f"{column}utc", SPELT.get(value, value).lower()}
    if value in {"most", "promote"}:
        words.add(BOUNDS.get(name, value))
    return any(re.search(rf"(?<!\w){re.escape(word)}\b", text) is not None for word in words)


LINTER = Linter(config=FluffConfig(overrides={"dialect": "tsql", "templater": "raw"}))


@pytest.mark.parametrize("name", sorted(load_batches("chokaq")))
def test_every_batch_parses_as_tsql(name: str) -> None:
    _parse(load_batches("chokaq")[name].text.replace("?", "@value"))


@pytest.mark.parametrize("number", range(len(scripts_of("chokaq"))))
def test_every_migration_parses_as_tsql(number: int) -> None:
    for statement in scripts_of("chokaq")[number][3]:
        _parse(statement)


def test_what_is_no_tsql_is_found_out() -> None:
    with pytest.raises(AssertionError):
        _parse("SELECT TOP (1) FROM WHERE LIMIT 1 ON CONFLICT DO NOTHING;")


def _parse(text: str) -> None:
    parsed = LINTER.parse_string(text)
    assert parsed.violations == []
    assert parsed.tree is not None
    assert list(parsed.tree.recursive_crawl("unparsable")) == []
