from __future__ import annotations

from pathlib import Path

import pytest

from chokaq_core.stores.sql_files import load_queries


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.sql").write_text(text, encoding="utf-8")
    return tmp_path


def test_each_block_is_a_query_by_its_name(tmp_path: Path) -> None:
    text = "-- name: first\nSELECT 1;\n\n-- name: second_one\nSELECT 2\nFROM t;\n"
    assert load_queries(folder(tmp_path, jobs=text)) == {"first": "SELECT 1", "second_one": "SELECT 2\nFROM t"}


def test_the_queries_of_all_files_stand_side_by_side(tmp_path: Path) -> None:
    made = folder(tmp_path, a="-- name: first\nSELECT 1", b="-- name: second\nSELECT 2")
    assert load_queries(made) == {"first": "SELECT 1", "second": "SELECT 2"}


def test_comment_lines_are_left_out_and_the_rest_is_kept_to_the_letter(tmp_path: Path) -> None:
    text = (
        "-- How jobs are counted.\n"
        "-- name: count\n"
        "-- Bounded.\n"
        "SELECT count(*) -- all of them\n"
        "    -- of one queue\n"
        "FROM t WHERE q = 'é';\n"
    )
    assert load_queries(folder(tmp_path, jobs=text)) == {
        "count": "SELECT count(*) -- all of them\nFROM t WHERE q = 'é'"
    }


def test_only_the_last_semicolon_is_dropped(tmp_path: Path) -> None:
    text = "-- name: both\nUPDATE a SET x = 1;\nUPDATE b SET x = 1;\n"
    assert load_queries(folder(tmp_path, jobs=text)) == {"both": "UPDATE a SET x = 1;\nUPDATE b SET x = 1"}


def test_line_ends_of_windows_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "jobs.sql").write_bytes(b"-- name: first\r\nSELECT 1,\r\n2;\r\n")
    assert load_queries(tmp_path) == {"first": "SELECT 1,\n2"}


def test_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("-- name: first\nSELECT 1", encoding="utf-8")
    assert load_queries(tmp_path) == {}


@pytest.mark.parametrize("second", ["jobs", "more"], ids=["one file", "two files"])
def test_a_name_that_stands_twice_is_refused(tmp_path: Path, second: str) -> None:
    block = "-- name: first\nSELECT 1;\n"
    files = {"jobs": block * 2} if second == "jobs" else {"jobs": block, "more": block}
    with pytest.raises(ValueError, match=rf"^{second}\.sql: query first is defined twice$"):
        load_queries(folder(tmp_path, **files))


def test_sql_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^jobs\.sql: SQL before the first '-- name:' heading$"):
        load_queries(folder(tmp_path, jobs="SELECT 1;\n-- name: first\nSELECT 2;\n"))
