from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chokaq_core.config import load_settings
from chokaq_core.domain.errors import ConfigurationError
from chokaq_core.domain.secret import Secret

Write = Callable[[Any], None]
Problems = Callable[..., list[str]]

MAX_ATTEMPTS = "ChokaQ__Retry__MaxAttempts"


def test_each_source_overrides_the_one_before(app_folder: Path, write_settings: Write) -> None:
    write_settings({"Retry": {"MaxAttempts": 5, "BaseDelay": "00:00:05", "MaxDelay": "02:00:00"}})
    environ = {MAX_ATTEMPTS: "6", "ChokaQ__Retry__BaseDelay": "00:00:06"}
    loaded = load_settings(app_folder, environ, {"Retry.MaxAttempts": 7})
    assert loaded.retry.max_attempts == 7
    assert loaded.retry.base_delay == timedelta(seconds=6)
    assert loaded.retry.max_delay == timedelta(hours=2)
    sources = {row.name: row.source for row in loaded.effective()}
    assert sources["Retry.MaxAttempts"] == "code"
    assert sources["Retry.BaseDelay"] == "environment variable ChokaQ__Retry__BaseDelay"
    assert sources["Retry.MaxDelay"] == "appsettings.json"
    assert sources["Retry.JitterMaxDelay"] == "default"


def test_a_bad_value_that_is_overridden_does_no_harm(app_folder: Path, write_settings: Write) -> None:
    write_settings({"Retry": {"MaxAttempts": 0}})
    assert load_settings(app_folder, {MAX_ATTEMPTS: "6"}).retry.max_attempts == 6


@pytest.mark.parametrize(
    "variable", [MAX_ATTEMPTS, "CHOKAQ__RETRY__MAXATTEMPTS", "chokaq:retry:maxattempts", "ChokaQ:Retry__MaxAttempts"]
)
def test_letter_case_and_separator_do_not_matter(variable: str, app_folder: Path) -> None:
    assert load_settings(app_folder, {variable: "8"}).retry.max_attempts == 8


def test_two_spellings_in_one_source_are_refused_even_with_equal_values(problems: Problems) -> None:
    assert problems({MAX_ATTEMPTS: "8", "chokaq:retry:maxattempts": "8"}) == [
        "Retry.MaxAttempts: is given twice, as ChokaQ__Retry__MaxAttempts and as chokaq:retry:maxattempts; keep one"
    ]
    assert problems({}, {"Retry.MaxAttempts": 8, "retry.maxattempts": 8}) == [
        "Retry.MaxAttempts: is given twice, as Retry.MaxAttempts and as retry.maxattempts; keep one"
    ]


@pytest.mark.parametrize(
    "content, spellings",
    [
        ('{"ChokaQ": {"Retry": {"MaxAttempts": 4, "MaxAttempts": 5}}}', "Retry:MaxAttempts and as Retry:MaxAttempts"),
        (
            '{"ChokaQ": {"Retry": {"MaxAttempts": 4}, "retry": {"maxattempts": 5}}}',
            "Retry:MaxAttempts and as retry:maxattempts",
        ),
        (
            '{"ChokaQ": {"Retry": {"MaxAttempts": 4}}, "CHOKAQ": {"RETRY": {"MAXATTEMPTS": 5}}}',
            "Retry:MaxAttempts and as RETRY:MAXATTEMPTS",
        ),
        (
            '{"ChokaQ": {"Retry:MaxAttempts": 4, "Retry": {"MaxAttempts": 5}}}',
            "Retry:MaxAttempts and as Retry:MaxAttempts",
        ),
    ],
)
def test_a_setting_that_stands_twice_in_the_file_is_refused(
    content: str, spellings: str, write_settings: Write, problems: Problems
) -> None:
    write_settings(content)
    assert problems() == [f"Retry.MaxAttempts: is given twice, as {spellings}; keep one"]


@pytest.mark.parametrize(
    "variable, expected",
    [
        (
            "ChokaQ__Retry__MaxAttempt",
            (
                "Retry.MaxAttempt: is not a setting; the nearest is Retry.MaxAttempts "
                "(environment variable ChokaQ__Retry__MaxAttempt)"
            ),
        ),
        (
            "ChokaQ_Retry_MaxDelay",
            (
                "ChokaQ_Retry_MaxDelay: is not a setting; the nearest is Retry.MaxDelay "
                "(environment variable ChokaQ_Retry_MaxDelay)"
            ),
        ),
        (
            "CHOKAQ_RETRY__BASEDELAY",
            (
                "CHOKAQ_RETRY__BASEDELAY: is not a setting; the nearest is Retry.BaseDelay "
                "(environment variable CHOKAQ_RETRY__BASEDELAY)"
            ),
        ),
        (
            "ChokaQ__SqlServer__ConnectionStrings",
            (
                "SqlServer.ConnectionStrings: is not a setting; the nearest is SqlServer.ConnectionString "
                "(environment variable ChokaQ__SqlServer__ConnectionStrings)"
            ),
        ),
        (
            "ChokaQ__Queues__reports__ExecutionTimeouts",
            (
                "Queues.reports.ExecutionTimeouts: is not a setting; the nearest is Queues.reports.ExecutionTimeout "
                "(environment variable ChokaQ__Queues__reports__ExecutionTimeouts)"
            ),
        ),
        (
            "ChokaQ__Queues__a__b__MaxWorkers",
            (
                "Queues.a.b.MaxWorkers: is not a setting; the nearest is Queues.{queue}.MaxWorkers "
                "(environment variable ChokaQ__Queues__a__b__MaxWorkers)"
            ),
        ),
        (
            "ChokaQ__Queues__MaxWorkers",
            (
                "Queues.MaxWorkers: is not a setting; the nearest is Queues.{queue}.MaxWorkers "
                "(environment variable ChokaQ__Queues__MaxWorkers)"
            ),
        ),
        ("ChokaQ__Retry", "Retry: is a section and holds no value of its own (environment variable ChokaQ__Retry)"),
        (
            "ChokaQ__Queues__reports",
            "Queues.reports: is a section and holds no value of its own (environment variable ChokaQ__Queues__reports)",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_and_without_its_value(
    variable: str, expected: str, problems: Problems
) -> None:
    assert problems({variable: "hunter2"}) == [expected]


@pytest.mark.parametrize("variable", ["ChokaQ", "ChokaQ__", "ChokaQ:", "ChokaQ____Retry", "chokaqx", "ChokaQ__\nRetry"])
def test_every_variable_that_begins_like_ours_is_refused_when_it_is_not_known(
    variable: str, problems: Problems
) -> None:
    found = problems({variable: "1"})
    assert len(found) == 1
    assert "is not a setting; the nearest is " in found[0]
    assert "\n" not in found[0]


def test_other_variables_are_left_alone(app_folder: Path) -> None:
    environ = {
        "Retry__MaxAttempts": "0",
        "APPSETTING_ChokaQ__Retry__MaxAttempts": "0",
        "MY_CHOKAQ__Retry__MaxAttempts": "0",
        "CHOKAQ_TEST_SQLSERVER": "Server=…",
        "PATH": "/bin",
    }
    assert load_settings(app_folder, environ).retry.max_attempts == 3


def test_an_unknown_name_in_code_or_file_is_refused_too(write_settings: Write, problems: Problems) -> None:
    write_settings({"Rety": {"MaxAttempts": 3}, "Retry": {"MaxAttempts": {"value": 3}}, "Worker": None})
    assert problems({}, {"Worker.Concurrency": 3}) == [
        "Rety.MaxAttempts: is not a setting; the nearest is Retry.MaxAttempts (appsettings.json)",
        "Retry.MaxAttempts.value: is not a setting; the nearest is Retry.MaxAttempts (appsettings.json)",
        "Worker.Concurrency: is not a setting; the nearest is Worker.MaxConcurrency (code)",
    ]


def test_all_problems_are_reported_at_once_in_full(app_folder: Path) -> None:
    environ = {MAX_ATTEMPTS: "0", "ChokaQ__Retry__MaxDelay": "7", "ChokaQ__Nope": "1"}
    with pytest.raises(ConfigurationError) as refused:
        load_settings(app_folder, environ, {"Worker.MaxConcurrency": 0})
    assert str(refused.value) == (
        "4 invalid setting(s):\n"
        "  - Nope: is not a setting; the nearest is Retention.OperatorLog (environment variable ChokaQ__Nope)\n"
        "  - Retry.MaxAttempts: must be a whole number from 1 to 10000; got '0' (environment variable "
        "ChokaQ__Retry__MaxAttempts); 1 runs a job once, and no value retries without limit\n"
        "  - Retry.MaxDelay: must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23; got '7' (environment "
        "variable ChokaQ__Retry__MaxDelay); write 00:00:07 (7 seconds) or 7.00:00:00 (7 days)\n"
        "  - Worker.MaxConcurrency: must be a whole number from 1 to 1000; got 0 (code); to stop a queue, pause it"
    )


@pytest.mark.parametrize("value", [None, "", "null", "NULL"])
def test_null_is_null_where_it_is_allowed(value: str | None, app_folder: Path) -> None:
    assert load_settings(app_folder, {}, {"Retry.MaxJobAge": value}).retry.max_job_age is None


def test_null_from_a_later_source_overrides_a_value(app_folder: Path, write_settings: Write) -> None:
    write_settings({"Retention": {"Archive": "1.00:00:00"}})
    assert load_settings(app_folder, {"ChokaQ__Retention__Archive": ""}).retention.archive is None


def test_null_is_refused_where_it_is_not_allowed(problems: Problems, write_settings: Write) -> None:
    write_settings({"Retry": {"MaxAttempts": None}})
    assert problems({"ChokaQ__Retry__MaxDelay": ""}) == [
        (
            "Retry.MaxAttempts: must be a whole number from 1 to 10000; got null (appsettings.json); 1 runs a job "
            "once, and no value retries without limit"
        ),
        (
            "Retry.MaxDelay: must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23; got '' (environment "
            "variable ChokaQ__Retry__MaxDelay)"
        ),
    ]


@pytest.mark.parametrize(
    "value, shown",
    [
        (True, "true"),
        (3.0, "3.0"),
        ([3], "a list"),
        ({"a": 1}, "a dict"),
        (10**5000, "0x31e20801036510f3c591fde5361dc619987896700f4451e1c85ce19029…"),
        (timedelta(seconds=3), "00:00:03"),
        (Secret("hunter2"), "***"),
    ],
    ids=["true", "decimal", "list", "object", "huge", "duration", "secret"],
)
def test_a_value_of_the_wrong_type_is_refused(value: object, shown: str, problems: Problems) -> None:
    [problem] = problems({}, {"Retry.MaxAttempts": value})
    assert problem.startswith("Retry.MaxAttempts: must be a ")
    assert problem.partition("; got ")[2].startswith(shown)


def test_code_may_name_a_queue_with_dots_and_pass_a_path(app_folder: Path) -> None:
    loaded = load_settings(app_folder, {}, {"Queues.a.b.MaxWorkers": 2, "Sqlite.Path": Path("jobs.db")})
    assert loaded.queues["a.b"].max_workers == 2
    assert loaded.sqlite_path == "jobs.db"


@pytest.mark.parametrize(
    "content, problem",
    [
        ("{", "is not valid JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("// no\n{}", "is not valid JSON: Expecting value at line 1, column 1"),
        ("[]", "must hold a JSON object"),
        ('{"ChokaQ": []}', "ChokaQ must be an object that holds the sections"),
        ('{"ChokaQ": "secret"}', "ChokaQ must be an object that holds the sections"),
        ("[" * 100_000, "is nested too deep"),
        ('{"ChokaQ": {"Retry": {"MaxAttempts": ' + "9" * 5000 + "}}}", "is not valid JSON in UTF-8"),
    ],
)
def test_a_broken_settings_file_is_named(content: str, problem: str, write_settings: Write, problems: Problems) -> None:
    write_settings(content)
    assert problems() == [f"appsettings.json: {problem}"]


def test_a_name_of_any_depth_is_only_an_unknown_name(write_settings: Write, problems: Problems) -> None:
    write_settings('{"ChokaQ": ' + '{"a":' * 400 + "1" + "}" * 401)
    [problem] = problems()
    assert problem.startswith("a.a.a.")
    assert len(problem) < 400


def test_a_file_that_is_not_utf_8_or_no_file_is_named(app_folder: Path, problems: Problems) -> None:
    (app_folder / "appsettings.json").write_bytes(b'{"ChokaQ": {"Sqlite": {"Path": "\xff"}}}')
    assert problems() == ["appsettings.json: is not valid JSON in UTF-8"]
    (app_folder / "appsettings.json").unlink()
    (app_folder / "appsettings.json").mkdir()
    assert problems() == ["appsettings.json: cannot be read: Is a directory"]


def test_a_byte_order_mark_and_foreign_sections_are_fine(app_folder: Path) -> None:
    content = {"Logging": {"LogLevel": "x"}, "ChokaQ": {"Retry": {"MaxAttempts": "9"}, "Queues": {}}}
    (app_folder / "appsettings.json").write_text(json.dumps(content), encoding="utf-8-sig")
    assert load_settings(app_folder, {}).retry.max_attempts == 9


@pytest.mark.parametrize(
    "variable", ["ChokaQ__Queues__" + "q" * 25 + "__MaxWorkers", "ChokaQ__Queues__my-q__MaxWorkers"]
)
def test_a_variable_whose_name_would_not_arrive_whole_is_refused(variable: str, problems: Problems) -> None:
    queue = variable.split("__")[2]
    assert problems({variable: "4"}) == [
        (
            f"Queues.{queue}.MaxWorkers: as a variable, its name must be at most 50 letters, digits, '.', '_' and ':' "
            f"to arrive whole on every platform; got '4' (environment variable {variable}); set it in "
            "appsettings.json, or at run time"
        )
    ]


def test_a_queue_with_a_long_name_is_configured_in_the_file(app_folder: Path, write_settings: Write) -> None:
    write_settings({"Queues": {"q" * 255: {"MaxWorkers": 4}, "My-Queue": {"MaxWorkers": 5}}})
    queues = load_settings(app_folder, {}).queues
    assert queues["q" * 255].max_workers == 4
    assert queues["my-queue"].max_workers == 5


@pytest.mark.parametrize("queue", ["", "-a", "a b", "ä", "q" * 256])
def test_a_queue_that_cannot_exist_is_refused(queue: str, write_settings: Write, problems: Problems) -> None:
    write_settings({"Queues": {queue: {"MaxWorkers": 4}}})
    [problem] = problems()
    assert "belongs to a queue that cannot exist; a queue's name is 1 to 255 characters of a-z, 0-9" in problem


def test_the_old_name_is_accepted_alone_with_a_warning(app_folder: Path, write_settings: Write) -> None:
    write_settings({"MaxRetries": 9})
    loaded = load_settings(app_folder, {})
    assert loaded.retry.max_attempts == 9
    assert loaded.warnings == ("MaxRetries: is the old name of Retry.MaxAttempts; rename it (appsettings.json)",)
    assert ("Retry.MaxAttempts", "9", "appsettings.json") in loaded.effective()


def test_the_old_name_is_refused_beside_the_new_one_whatever_the_sources(
    write_settings: Write, problems: Problems
) -> None:
    write_settings({"MaxRetries": 9})
    assert problems({MAX_ATTEMPTS: "9"}) == [
        "MaxRetries: is the old name of Retry.MaxAttempts and stands beside it; remove MaxRetries"
    ]


def test_the_old_name_obeys_the_rule_of_the_new_one(problems: Problems) -> None:
    assert problems({"ChokaQ__MaxRetries": "0"}) == [
        (
            "Retry.MaxAttempts: must be a whole number from 1 to 10000; got '0' (environment variable "
            "ChokaQ__MaxRetries); 1 runs a job once, and no value retries without limit"
        )
    ]


NAMES = st.one_of(
    st.builds("ChokaQ{}".format, st.text(max_size=60)),
    st.builds("ChokaQ__{}__{}".format, st.text(max_size=20), st.sampled_from(["MaxWorkers", "MaxAttempts", "Path"])),
    st.builds("ChokaQ__Queues__{}__MaxWorkers".format, st.text(max_size=20)),
    st.sampled_from([MAX_ATTEMPTS, "CHOKAQ:RETRY:MAXDELAY", "ChokaQ__Deck__ReadKey", "ChokaQ__Sqlite__Path"]),
)


@given(environ=st.dictionaries(NAMES, st.text(max_size=80), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_environment_loads_or_is_refused_in_plain_lines(app_folder: Path, environ: dict[str, str]) -> None:
    problems: tuple[str, ...] = ()
    try:
        load_settings(app_folder, environ)
    except ConfigurationError as error:
        problems = error.problems
    assert [problem for problem in problems if not problem.isprintable()] == []
    assert {letter for problem in problems for letter in problem if not letter.isascii()} <= {"×", "…"}
