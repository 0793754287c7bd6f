from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chokaq_core.config import load_settings
from tests.support.setting_cases import SQL_SERVER

Problems = Callable[..., list[str]]

AZURE = {"WEBSITE_INSTANCE_ID": "4f2c", "WEBSITE_SITE_NAME": "billing"}
AZURE_WITH_STORE = {**AZURE, "ChokaQ__SqlServer__ConnectionString": SQL_SERVER}


def test_in_azure_the_embedded_store_is_refused(problems: Problems) -> None:
    assert problems(AZURE) == [
        (
            "SqlServer.ConnectionString: is not set; in Azure the jobs of an embedded store would die with the "
            "instance, so name a database"
        )
    ]
    assert problems({**AZURE, "ChokaQ__Sqlite__Path": "/home/jobs.db"}) == problems(AZURE)
    assert problems(AZURE_WITH_STORE) == []


def test_in_azure_a_broken_connection_string_is_one_problem_not_two(problems: Problems) -> None:
    [problem] = problems({**AZURE, "ChokaQ__SqlServer__ConnectionString": "  "})
    assert problem.startswith("SqlServer.ConnectionString: is present but blank")


def test_in_azure_nobody_is_let_in_without_a_key(problems: Problems) -> None:
    assert problems({**AZURE_WITH_STORE, "ChokaQ__Deck__AllowAnonymous": "true"}) == [
        (
            "Deck.AllowAnonymous: is refused in Azure; set Deck.ReadKey, Deck.OperateKey or "
            "Deck.TrustPlatformAuthentication"
        )
    ]


@pytest.mark.parametrize(
    "environ",
    [
        {"WEBSITE_INSTANCE_ID": "4f2c"},
        {"WEBSITE_SITE_NAME": "billing"},
        {"WEBSITE_POD_NAME": "pod", "CONTAINER_NAME": "c"},
        {"CONTAINER_APP_NAME": "billing"},
    ],
)
def test_azure_is_known_by_its_own_variables(environ: dict[str, str], problems: Problems) -> None:
    assert len(problems(environ)) == 1


@pytest.mark.parametrize(
    "environ",
    [
        {
            "WEBSITE_HOSTNAME": "localhost:7071",
            "AZURE_FUNCTIONS_ENVIRONMENT": "Development",
            "FUNCTIONS_CORETOOLS_ENVIRONMENT": "true",
            "FUNCTIONS_WORKER_RUNTIME": "python",
            "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        },
        {"CONTAINER_NAME": "dev"},
        {"WEBSITE_INSTANCE_ID": "", "WEBSITE_SITE_NAME": ""},
        {},
    ],
)
def test_a_developers_machine_is_not_azure(environ: dict[str, str], problems: Problems) -> None:
    assert problems(environ) == []


@pytest.mark.case("C-058")
@pytest.mark.parametrize(
    "timeout, overrides, expected",
    [
        ("00:19:30", {}, []),
        (
            "00:19:29",
            {},
            [
                (
                    "must be at least Functions.DrainBudget + the largest execution timeout + 30 s = 00:19:30, or "
                    "-1; got 00:19:29"
                )
            ],
        ),
        (
            "00:30:00",
            {"Queues.reports.ExecutionTimeout": "01:00:00"},
            [
                (
                    "must be at least Functions.DrainBudget + the largest execution timeout + 30 s = 01:04:30, or "
                    "-1; got 00:30:00"
                )
            ],
        ),
        ("01:04:30", {"Queues.reports.ExecutionTimeout": "01:00:00"}, []),
        ("00:17:30", {"Functions.DrainBudget": "00:02:00"}, []),
        ("-1", {"Execution.DefaultTimeout": "10.00:00:00"}, []),
        (-1, {"Execution.DefaultTimeout": "10.00:00:00"}, []),
        (None, {"Execution.DefaultTimeout": "00:25:30"}, []),
        (
            None,
            {"Execution.DefaultTimeout": "00:25:31"},
            [
                (
                    "must be at least Functions.DrainBudget + the largest execution timeout + 30 s = 00:30:01, or -1; "
                    "got 00:30:00 (the platform's default)"
                )
            ],
        ),
        (
            "24:00:00",
            {},
            [
                (
                    "must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23, or -1; got '24:00:00'; write "
                    "1.00:00:00 (1 day) or 24.00:00:00 (24 days)"
                )
            ],
        ),
        (["x"], {}, ["must be a duration written [d.]hh:mm:ss[.fffffff], hours 0 to 23, or -1; got \"['x']\""]),
    ],
)
def test_the_hosts_timeout_leaves_room_for_the_longest_job(
    timeout: object, overrides: dict[str, object], expected: list[str], app_folder: Path, problems: Problems
) -> None:
    (app_folder / "host.json").write_text(_host(functionTimeout=timeout))
    assert problems({}, overrides) == [f"host.json functionTimeout: {text}" for text in expected]


def test_without_a_valid_timeout_of_a_job_the_hosts_is_not_judged(problems: Problems) -> None:
    assert len(problems({"ChokaQ__Functions__DrainBudget": "x"})) == 1


@pytest.mark.case("C-056")
@pytest.mark.parametrize(
    "queues, expected",
    [
        (
            {"batchSize": 16, "newBatchThreshold": 8, "messageEncoding": "base64"},
            [
                (
                    "host.json extensions.queues.batchSize: must be 1, since one wake stands for one worker "
                    "process; got 16"
                ),
                (
                    "host.json extensions.queues.newBatchThreshold: must be 0, since one wake stands for one worker "
                    "process; got 8"
                ),
                (
                    "host.json extensions.queues.messageEncoding: must be none, since wakes are sent as plain "
                    "text; got 'base64'"
                ),
            ],
        ),
        (
            {},
            [
                (
                    "host.json extensions.queues.batchSize: must be 1, since one wake stands for one worker process; "
                    "it is left out, and the platform's default is 16"
                ),
                (
                    "host.json extensions.queues.newBatchThreshold: must be 0, since one wake stands for one worker "
                    "process; it is left out, and the platform's default is half of batchSize"
                ),
                (
                    "host.json extensions.queues.messageEncoding: must be none, since wakes are sent as plain text; it "
                    "is left out, and the platform's default is base64"
                ),
            ],
        ),
        ({"BATCHSIZE": "1", "newbatchthreshold": "0", "MessageEncoding": "None"}, []),
    ],
)
def test_the_hosts_queue_options_fit_the_wakes(
    queues: dict[str, object], expected: list[str], app_folder: Path, problems: Problems
) -> None:
    (app_folder / "host.json").write_text(_host(extensions={"queues": queues}))
    assert problems() == expected


def test_app_settings_override_the_hosts_file(app_folder: Path, problems: Problems) -> None:
    (app_folder / "host.json").write_text(_host(functionTimeout="00:10:00"))
    assert len(problems()) == 1
    assert problems({"AzureFunctionsJobHost__functionTimeout": "01:00:00"}) == []
    assert problems(
        {"AzureFunctionsJobHost:functionTimeout": "-1", "azurefunctionsjobhost__EXTENSIONS__queues__batchSize": "2"}
    ) == ["host.json extensions.queues.batchSize: must be 1, since one wake stands for one worker process; got '2'"]


def test_without_the_hosts_file_the_platforms_timeout_counts_and_in_azure_its_queue_options_too(
    app_folder: Path, problems: Problems
) -> None:
    (app_folder / "host.json").unlink()
    assert problems() == []
    assert [problem.partition(":")[0] for problem in problems({"ChokaQ__Execution__DefaultTimeout": "01:00:00"})] == [
        "host.json functionTimeout"
    ]
    assert [problem.partition(":")[0] for problem in problems(AZURE_WITH_STORE)] == [
        "host.json extensions.queues.batchSize",
        "host.json extensions.queues.newBatchThreshold",
        "host.json extensions.queues.messageEncoding",
    ]


@pytest.mark.parametrize("content, problem", [("{", "is not valid JSON: "), ("3", "must hold a JSON object")])
def test_a_broken_hosts_file_is_named(content: str, problem: str, app_folder: Path, problems: Problems) -> None:
    (app_folder / "host.json").write_text(content)
    [found] = problems()
    assert found.startswith(f"host.json: {problem}")


def test_the_projects_own_hosts_file_fits_the_defaults_and_an_hour_of_reports() -> None:
    root = Path(__file__).parents[3]
    loaded = load_settings(root, {}, {"Queues.reports.ExecutionTimeout": "01:00:00"})
    assert loaded.warnings == ()


def _host(**changes: object) -> str:
    host: dict[str, Any] = {
        "version": "2.0",
        "functionTimeout": "01:30:00",
        "extensions": {"queues": {"batchSize": 1, "newBatchThreshold": 0, "messageEncoding": "none"}},
    } | changes
    return json.dumps({name: value for name, value in host.items() if value is not None})
