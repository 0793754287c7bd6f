from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from chokaq_core.localhost.environment import (
    fill_environment,
    find_setting,
    make_deck_key,
    resolve_settings,
    whole_number,
)
from chokaq_core.localhost.errors import HostError


def write_settings(folder: Path, content: object) -> Path:
    path = folder / "local.settings.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def filled(folder: Path, environ: dict[str, str] | None = None) -> dict[str, str]:
    environ = {} if environ is None else environ
    fill_environment(environ, folder)
    return environ


def test_values_of_local_settings_are_added_to_the_environment(tmp_path: Path) -> None:
    write_settings(tmp_path, {"IsEncrypted": False, "Values": {"GREETING": "hello"}, "Host": {"CORS": "*"}})

    assert filled(tmp_path)["GREETING"] == "hello"


@pytest.mark.parametrize(
    "spelling", ["ChokaQ__Retry__MaxAttempts", "CHOKAQ__RETRY__MAXATTEMPTS", "chokaq:retry:maxAttempts"]
)
def test_a_variable_that_is_already_set_wins_in_any_spelling(tmp_path: Path, spelling: str) -> None:
    write_settings(tmp_path, {"Values": {"ChokaQ__Retry__MaxAttempts": "3"}})

    environ = filled(tmp_path, {spelling: "7"})

    assert {key: value for key, value in environ.items() if "retry" in key.lower()} == {spelling: "7"}


def test_both_spellings_of_one_name_in_the_file_reach_the_app_which_refuses_them(tmp_path: Path) -> None:
    write_settings(tmp_path, {"Values": {"ChokaQ__Retry__MaxAttempts": "3", "chokaq__retry__maxattempts": "4"}})

    environ = filled(tmp_path)

    assert environ["ChokaQ__Retry__MaxAttempts"] == "3"
    assert environ["chokaq__retry__maxattempts"] == "4"


@pytest.mark.parametrize(
    "value,found",
    [
        (3, "a number"),
        (True, "a boolean"),
        (None, "null"),
        (["a"], "an array"),
        (1.5, "a number"),
    ],
)
def test_a_value_that_is_not_a_string_is_refused_with_file_and_key(tmp_path: Path, value: object, found: str) -> None:
    path = write_settings(tmp_path, {"Values": {"LIMIT": value}})

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value) == f"{path}: Values.LIMIT must be a string, found {found}: put it in double quotes."


def test_settings_in_sections_are_refused_with_how_to_write_them(tmp_path: Path) -> None:
    path = write_settings(tmp_path, {"Values": {"ChokaQ": {"Retry": {"MaxAttempts": "5"}}}})

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value) == (
        f"{path}: Values.ChokaQ must be a string, found an object: "
        "give each of its members a line of its own, such as ChokaQ__NAME."
    )


@pytest.mark.parametrize("name", ["ChokaQ", "ChokaQ__Retry__MaxAttempts", "chokaq:retry:maxattempts"])
def test_settings_beside_the_values_are_refused(tmp_path: Path, name: str) -> None:
    path = write_settings(tmp_path, {"IsEncrypted": False, "Host": {"LocalHttpPort": 7071}, "Values": {}, name: "5"})

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value) == f"{path}: {name} stands beside Values, where nobody reads it: put it into Values."


def test_encrypted_settings_are_refused(tmp_path: Path) -> None:
    path = write_settings(tmp_path, {"IsEncrypted": True, "Values": {}})

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value).startswith(f"{path}: IsEncrypted is true")


def test_values_that_are_no_object_are_refused(tmp_path: Path) -> None:
    path = write_settings(tmp_path, {"Values": []})

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value) == f"{path}: Values must be an object, found an array."


def test_bad_json_is_refused_with_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "local.settings.json"
    path.write_text('{\n  "Values": {,}\n}', encoding="utf-8")

    with pytest.raises(HostError) as refusal:
        filled(tmp_path)

    assert str(refusal.value).startswith(f"{path}: not valid JSON: ")
    assert "line 2, column 14" in str(refusal.value)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_bytes(b'{"Values": {"NAME": "\xff"}}')

    with pytest.raises(HostError, match="not valid UTF-8 at byte 21"):
        filled(tmp_path)


def test_a_file_that_holds_no_object_is_refused(tmp_path: Path) -> None:
    write_settings(tmp_path, "text")

    with pytest.raises(HostError, match="expected a JSON object, found a string"):
        filled(tmp_path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_text('{"Values": {"NAME": "ada"}}', encoding="utf-8-sig")

    assert filled(tmp_path)["NAME"] == "ada"


def test_jobs_are_kept_in_a_file_under_the_app_by_default(tmp_path: Path) -> None:
    environ = filled(tmp_path)

    assert environ == {"ChokaQ__Sqlite__Path": str(tmp_path / ".chokaq" / "chokaq.db")}
    assert (tmp_path / ".chokaq").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes of files")
def test_the_folder_of_the_default_database_is_its_owners_alone(tmp_path: Path) -> None:
    filled(tmp_path)

    assert stat.S_IMODE((tmp_path / ".chokaq").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name",
    [
        "ChokaQ__SqlServer__ConnectionString",
        "CHOKAQ__SQLSERVER__CONNECTIONSTRING",
        "ChokaQ:SqlServer:ConnectionString",
        "chokaq:sqlserver__connectionString",
        "chokaq__sqlite__path",
    ],
)
def test_a_store_that_was_chosen_is_left_alone(tmp_path: Path, name: str) -> None:
    environ = filled(tmp_path, {name: "chosen"})

    assert environ == {name: "chosen"}
    assert not (tmp_path / ".chokaq").exists()


def test_a_store_chosen_in_local_settings_is_left_alone(tmp_path: Path) -> None:
    write_settings(tmp_path, {"Values": {"ChokaQ__SqlServer__ConnectionString": "Server=db"}})

    assert filled(tmp_path) == {"ChokaQ__SqlServer__ConnectionString": "Server=db"}


@pytest.mark.parametrize(
    "content",
    [
        {"ChokaQ": {"SqlServer": {"ConnectionString": "Server=db"}}},
        {"chokaq": {"sqlite": {"path": "jobs.db"}}},
        {"ChokaQ:Sqlite:Path": "jobs.db"},
    ],
)
def test_a_store_chosen_in_appsettings_is_left_alone(tmp_path: Path, content: object) -> None:
    (tmp_path / "appsettings.json").write_text(json.dumps(content), encoding="utf-8")

    assert filled(tmp_path) == {}


def test_a_broken_appsettings_file_is_left_for_the_app_to_report(tmp_path: Path) -> None:
    (tmp_path / "appsettings.json").write_text("{", encoding="utf-8")

    assert "ChokaQ__Sqlite__Path" in filled(tmp_path)


@pytest.mark.parametrize("name", ["Poll__Schedule", "POLL__SCHEDULE", "Poll:Schedule"])
def test_a_setting_is_found_in_any_spelling(name: str) -> None:
    assert find_setting({"Poll__Schedule": "x"}, name) == "x"


def test_the_exact_spelling_of_a_setting_wins() -> None:
    assert find_setting({"NAME": "upper", "name": "lower"}, "name") == "lower"


def test_a_setting_that_is_nowhere_is_none() -> None:
    assert find_setting({"OTHER": "x"}, "NAME") is None


def test_percent_names_are_replaced_by_their_settings() -> None:
    assert resolve_settings("0 */%EVERY% * * * %DAYS%", {"EVERY": "5", "DAYS": "1-5"}) == "0 */5 * * * 1-5"


@pytest.mark.parametrize("environ", [{}, {"SCHEDULE": ""}])
def test_a_missing_or_empty_setting_is_refused_by_name(environ: dict[str, str]) -> None:
    with pytest.raises(HostError, match="the setting 'SCHEDULE' is missing"):
        resolve_settings("%SCHEDULE%", environ)


def test_a_whole_number_is_read_or_its_default_taken() -> None:
    assert whole_number({"LIMIT": " 12 "}, "LIMIT", 5) == 12
    assert whole_number({"LIMIT": ""}, "LIMIT", 5) == 5
    assert whole_number({}, "LIMIT", 5) == 5


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "²"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(HostError, match=f"LIMIT is '{text}': expected a whole number from 1 on"):
        whole_number({"LIMIT": text}, "LIMIT", 5)


def test_a_key_of_the_deck_is_made_for_each_run(tmp_path: Path) -> None:
    first: dict[str, str] = {}
    second: dict[str, str] = {}

    keys = [make_deck_key(first, tmp_path), make_deck_key(second, tmp_path)]

    assert [first["ChokaQ__Deck__OperateKey"], second["ChokaQ__Deck__OperateKey"]] == keys
    assert keys[0] != keys[1]
    assert len(keys[0] or "") >= 32


@pytest.mark.parametrize("name", ["ChokaQ__Deck__AllowAnonymous", "CHOKAQ__DECK__READKEY", "chokaq:deck:operateKey"])
def test_no_key_is_made_where_the_environment_speaks_of_the_deck(tmp_path: Path, name: str) -> None:
    environ = {name: ""}

    assert make_deck_key(environ, tmp_path) is None
    assert environ == {name: ""}


def test_no_key_is_made_where_the_settings_file_speaks_of_the_deck(tmp_path: Path) -> None:
    settings = {"ChokaQ": {"Deck": {"AllowAnonymous": True}}}
    (tmp_path / "appsettings.json").write_text(json.dumps(settings), encoding="utf-8")

    assert make_deck_key({}, tmp_path) is None
