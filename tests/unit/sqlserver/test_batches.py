"""
The files of T-SQL become batches: parameters declared, includes replaced, the schema's own name everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from chokaq_core.stores.sqlserver.batches import (
    FOLDER,
    NO_NUMBER,
    Batch,
    Parameter,
    in_schema,
    load_batches,
    load_blocks,
)
from chokaq_core.stores.sqlserver.schema import SCRIPTS, scripts_of

BATCHES = load_batches("chokaq")
INCLUDE = re.compile(r"-- include: (\w+)")
SCHEMA_NAMES = ["chokaq", "order", "SELECT", "_", "a" * 128, "Table_1"]


def _folder(tmp_path: Path, text: str) -> Path:
    (tmp_path / "some.sql").write_text(text, encoding="utf-8")
    return tmp_path


class TestLoading:
    def test_a_batch_declares_the_time_and_its_parameters_and_leaves_comments_out(self, tmp_path: Path) -> None:
        folder = _folder(
            tmp_path,
            "-- name: greet\n-- Says hello.\n-- takes: name varchar(50), count int null\n"
            "-- include: hello\nSELECT @count;\n\n-- name: hello\n-- A part.\nSELECT @name FROM [chokaq].People;\n",
        )

        batch = load_batches("jobs", folder)["greet"]

        assert batch == Batch(
            "greet",
            "DECLARE @told_now datetime2(6) = CAST(NULLIF(?, '') AS datetime2(6));\n"
            "DECLARE @now datetime2(6) = COALESCE(@told_now, SYSUTCDATETIME());\n"
            "DECLARE @name varchar(50) = ?;\n"
            "DECLARE @count int = NULLIF(?, -2147483648);\n"
            "SELECT @name FROM [jobs].People;\n"
            "SELECT @count;",
            (Parameter("name", "varchar(50)"), Parameter("count", "int", is_nullable=True)),
        )

    def test_a_duration_is_added_to_the_databases_time(self, tmp_path: Path) -> None:
        folder = _folder(tmp_path, "-- name: wait\n-- takes: until ahead null\nSELECT @until;\n")

        batch = load_batches("chokaq", folder)["wait"]

        assert batch.parameters == (Parameter("until", "bigint", is_span=True, is_nullable=True),)
        assert "DECLARE @until_span bigint = NULLIF(?, -2147483648);" in batch.text
        assert "DECLARE @until datetime2(6) = DATEADD(DAY, CAST(@until_span / 86400000000 AS int)" in batch.text

    def test_parameters_may_go_on_over_several_lines(self, tmp_path: Path) -> None:
        folder = _folder(tmp_path, "-- name: many\n-- takes: a int,\n--   b bit,\n--   c nvarchar(max)\nSELECT 1;\n")

        assert [p.name for p in load_batches("chokaq", folder)["many"].parameters] == ["a", "b", "c"]

    def test_a_batch_may_take_nothing(self, tmp_path: Path) -> None:
        folder = _folder(tmp_path, "-- name: all\n-- takes: nothing\nSELECT 1;\n")

        assert load_batches("chokaq", folder)["all"].parameters == ()

    def test_a_name_that_stands_twice_is_refused(self, tmp_path: Path) -> None:
        folder = _folder(tmp_path, "-- name: a\nSELECT 1;\n\n-- name: a\nSELECT 2;\n")

        with pytest.raises(ValueError, match=r"^some\.sql: block a is defined twice$"):
            load_blocks(folder)

    def test_what_is_no_parameter_is_refused(self, tmp_path: Path) -> None:
        folder = _folder(tmp_path, "-- name: a\n-- takes: @worker varchar(5)\nSELECT 1;\n")

        with pytest.raises(ValueError, match=r"^not a parameter: '@worker varchar"):
            load_batches("chokaq", folder)

    def test_no_column_holds_the_number_that_stands_for_none(self) -> None:
        assert NO_NUMBER == -2_147_483_648


class TestTheFiles:
    @pytest.mark.parametrize("name", sorted(BATCHES))
    def test_every_marker_has_its_parameter(self, name: str) -> None:
        batch = BATCHES[name]

        assert batch.text.count("?") == 1 + len(batch.parameters)

    @pytest.mark.parametrize("name", sorted(BATCHES))
    def test_every_parameter_is_used(self, name: str) -> None:
        batch = BATCHES[name]
        body = batch.text.split("\n", 2 + sum(2 if p.is_span else 1 for p in batch.parameters))[-1]

        assert [p.name for p in batch.parameters if not re.search(rf"@{p.name}\b", body)] == []

    @pytest.mark.parametrize("name", sorted(BATCHES))
    def test_every_variable_is_declared_before_it_is_used(self, name: str) -> None:
        declared: set[str] = {"@resource", "@lockmode", "@lockowner", "@locktimeout"}
        for line in BATCHES[name].text.splitlines():
            used = {word.lower() for word in re.findall(r"(?<!@)@\w+", line)}
            if line.lstrip().startswith("DECLARE"):
                declared |= used
            assert used <= declared, line

    def test_every_block_is_a_batch_or_part_of_one(self) -> None:
        blocks = load_blocks()
        included = {name for text in blocks.values() for name in INCLUDE.findall(text)}
        alone = {"schema_create", "schema_create_log"}

        assert set(blocks) - included - set(BATCHES) == alone
        assert included <= set(blocks)

    @pytest.mark.parametrize("name", sorted(BATCHES))
    def test_a_transaction_is_committed_and_results_follow_it(self, name: str) -> None:
        text = BATCHES[name].text
        assert text.count("BEGIN TRANSACTION") == text.count("COMMIT TRANSACTION") <= 1
        inside = text.partition("BEGIN TRANSACTION")[2].partition("COMMIT TRANSACTION")[0]

        assert not re.search(r"^\s*SELECT(?!\s+(?:TOP\s+)?@\w+ =)", _top_level(inside), re.MULTILINE)

    @pytest.mark.parametrize("word", ["MERGE", "NOLOCK", "READUNCOMMITTED", "GO", "CREATE OR ALTER"])
    def test_no_statement_uses_what_the_floor_lacks_or_what_races(self, word: str) -> None:
        pattern = re.compile(rf"\b{word}\b")

        assert [name for name, batch in BATCHES.items() if pattern.search(batch.text)] == []

    @pytest.mark.case("C-008")
    def test_only_deletions_output_their_rows(self) -> None:
        statements = [statement for batch in BATCHES.values() for statement in batch.text.split(";")]
        outputs = [statement.split()[0] for statement in statements if re.search(r"\bOUTPUT\b", statement)]

        assert outputs == ["DELETE", "DELETE"]

    @pytest.mark.parametrize("name", sorted(BATCHES))
    def test_readpast_stands_beside_what_row_versioning_needs(self, name: str) -> None:
        hints = re.findall(r"WITH \(([^)]*READPAST[^)]*)\)?", BATCHES[name].text)

        assert all("READCOMMITTEDLOCK" in hint for hint in hints)

    def test_a_probe_is_judged_by_the_time_after_the_wait_for_its_lock(self) -> None:
        """
        A claim that began later may have gone first: by an older time its probe would be from the future.
        """
        _, locked, rest = load_blocks()["claim_probes"].partition("UPDATE c SET Generation = c.Generation")

        assert locked
        assert rest.index("SET @later = COALESCE(@told_now, SYSUTCDATETIME());") < rest.index("INSERT INTO @probe")
        assert "@now" not in rest.partition("INSERT INTO @probe")[2]

    def test_names_are_bracketed_in_any_schema(self) -> None:
        for text in [batch.text for batch in BATCHES.values()]:
            for table in ("JobsHot", "Queues", "Workers", "Lanes", "Turns"):
                assert not re.search(rf"(?:FROM|JOIN|INTO|UPDATE) {table}\b", text)


def _top_level(text: str) -> str:
    """
    The text without what stands in brackets, and without the SELECT of an INSERT.
    """
    depth, kept = 0, []
    for character in text:
        depth += character == "("
        if depth == 0:
            kept.append(character)
        depth -= character == ")"
    return re.sub(r"INSERT INTO[^;]*;|UPDATE[^;]*;|DELETE[^;]*;", "", "".join(kept))


class TestSchemaNames:
    @pytest.mark.parametrize("name", SCHEMA_NAMES)
    def test_every_name_that_the_rule_allows_stands_in_brackets(self, name: str) -> None:
        for batch in load_batches(name).values():
            assert name == "chokaq" or "[chokaq]" not in batch.text
            assert re.search(rf"(?:FROM|JOIN|INTO|UPDATE) {re.escape(name)}\.", batch.text) is None

    @pytest.mark.parametrize("name", SCHEMA_NAMES)
    def test_the_schema_is_created_under_its_name(self, name: str) -> None:
        text = in_schema(load_blocks()["schema_create"], name)

        assert text.strip().splitlines()[-1] == (
            f"IF SCHEMA_ID(N'{name}') IS NULL EXECUTE (N'CREATE SCHEMA [{name}]');"
        )


def _shared(scripts: Iterable[Path], dialect: str) -> list[str]:
    """
    The titles of scripts that do not belong to this dialect alone. Numbers are each store's own.
    """
    alone = re.compile(rf"^-- only: {dialect}, because \S", re.MULTILINE)
    return [path.stem.partition("_")[2] for path in scripts if alone.search(path.read_text(encoding="utf-8")) is None]


class TestMigrations:
    def test_they_are_numbered_without_a_gap_and_say_what_they_do(self) -> None:
        found = scripts_of("chokaq")

        assert [int(name.partition("_")[0]) for _, name, _, _ in found] == list(range(1, len(SCRIPTS) + 1))
        assert all(description.endswith(".") for _, _, description, _ in found)

    def test_they_are_those_of_the_embedded_store_in_its_order_but_for_what_either_has_alone_and_says_why(self) -> None:
        embedded = sorted((Path(FOLDER).parents[1] / "sqlite" / "schema").glob("*.sql"))

        assert _shared(SCRIPTS, "sqlserver") == _shared(embedded, "sqlite")

    @pytest.mark.parametrize("number", range(1, len(SCRIPTS) + 1))
    def test_every_statement_may_be_run_again(self, number: int) -> None:
        _, _, _, statements = scripts_of("chokaq")[number - 1]

        for statement in statements:
            lines = [line for line in statement.splitlines() if line.strip() and not line.startswith("--")]
            assert lines[0].startswith(("IF ", "INSERT ")), statement
            assert not lines[0].startswith("INSERT ") or "WHERE NOT EXISTS" in statement
