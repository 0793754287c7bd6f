"""
What the Functions host checks when it reads an app's functions, and the Python library does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from chokaq_core.hosting import ChokaQ
from chokaq_core.localhost.functions import sort_by_trigger
from chokaq_core.localhost.host_rules import broken_rules
from chokaq_core.localhost.schedules import parse_schedule
from jobs import PROFILES
from tests.support.setting_cases import CASES

BROKEN = [
    pytest.param({case.variable: text}, id=f"{case.name}={text}")
    for case in CASES
    if case.name.startswith(("Functions.", "Recovery.ScanInterval"))
    for text in case.refused
]
ENVIRONMENTS = [pytest.param({}, id="valid"), *BROKEN]


def indexed(folder: Path, environ: Mapping[str, str]) -> func.FunctionApp:
    app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    ChokaQ(folder, profiles=PROFILES, environ=environ).register(app)
    return app


def triggers(app: func.FunctionApp) -> dict[str, dict[str, Any]]:
    return {
        str(function.get_function_name()): binding
        for function in app.get_functions()
        for binding in map(json.loads, function.get_raw_bindings())
        if binding["type"].endswith("Trigger")
    }


@pytest.mark.parametrize("environ", ENVIRONMENTS)
def test_no_rule_of_the_host_is_broken_whatever_the_settings(tmp_path: Path, environ: dict[str, str]) -> None:
    functions = sort_by_trigger(indexed(tmp_path, environ).get_functions())

    assert list(broken_rules(functions, {})) == []


@pytest.mark.parametrize("environ", ENVIRONMENTS)
def test_every_schedule_is_a_literal_with_six_fields(tmp_path: Path, environ: dict[str, str]) -> None:
    schedules = {name: t["schedule"] for name, t in triggers(indexed(tmp_path, environ)).items() if "schedule" in t}

    assert {"chokaq_poll", "chokaq_heartbeat", "chokaq_rescue", "chokaq_maintenance"} <= set(schedules)
    for schedule in schedules.values():
        assert "%" not in schedule
        assert len(schedule.split(" ")) == 6
        parse_schedule(schedule, datetime(2026, 3, 1, tzinfo=UTC))


def test_names_of_functions_and_bindings_fit_every_host(tmp_path: Path) -> None:
    found = triggers(indexed(tmp_path, {}))

    for name, trigger in found.items():
        assert re.fullmatch(r"[a-z][a-z0-9_-]{0,127}", name), name
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9]{0,127}", trigger["name"]), trigger


def test_no_route_begins_with_what_the_host_keeps_for_itself(tmp_path: Path) -> None:
    for name, trigger in triggers(indexed(tmp_path, {})).items():
        if trigger["type"] == "httpTrigger":
            route = (trigger.get("route") or name).strip("/").lower()
            assert not route.startswith(("admin", "runtime")), name


def test_no_timer_fires_at_start_and_none_is_retried_by_the_host(tmp_path: Path) -> None:
    for function in indexed(tmp_path, {}).get_functions():
        assert function.get_settings_dict("retry_policy") in (None, {}), function.get_function_name()
    for trigger in triggers(indexed(tmp_path, {})).values():
        assert not trigger.get("runOnStartup")


@pytest.mark.parametrize("environ", ENVIRONMENTS)
def test_the_worker_listens_to_the_platforms_own_storage_account(tmp_path: Path, environ: dict[str, str]) -> None:
    worker = triggers(indexed(tmp_path, environ))["chokaq_worker"]

    assert worker["type"] == "queueTrigger"
    assert worker["connection"] == "AzureWebJobsStorage"
    assert re.fullmatch(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*", worker["queueName"])


WHO_MAY_CALL: dict[tuple[str, str], str] = {
    ("POST", "jobs"): "FUNCTION",
    ("POST", "jobs/batch"): "FUNCTION",
    ("GET", "jobs/{id}"): "FUNCTION",
    ("HEAD", "jobs/{id}"): "FUNCTION",
    ("DELETE", "jobs/{id}"): "FUNCTION",
    ("GET", "health"): "FUNCTION",
    ("HEAD", "health"): "FUNCTION",
    ("GET", "health/live"): "FUNCTION",
    ("HEAD", "health/live"): "FUNCTION",
    ("GET", "openapi.json"): "FUNCTION",
    ("GET", "deck"): "ANONYMOUS",
    ("GET", "deck/assets/{name}"): "ANONYMOUS",
    ("GET", "deck/me"): "ANONYMOUS",
    ("GET", "deck/overview"): "ANONYMOUS",
    ("GET", "deck/health"): "ANONYMOUS",
    ("GET", "deck/queues"): "ANONYMOUS",
    ("GET", "deck/circuits"): "ANONYMOUS",
    ("GET", "deck/workers"): "ANONYMOUS",
    ("GET", "deck/jobs"): "ANONYMOUS",
    ("GET", "deck/count"): "ANONYMOUS",
    ("GET", "deck/export"): "ANONYMOUS",
    ("GET", "deck/jobs/{id}"): "ANONYMOUS",
    ("GET", "deck/errors"): "ANONYMOUS",
    ("GET", "deck/log"): "ANONYMOUS",
    ("GET", "deck/events"): "ANONYMOUS",
    ("POST", "deck/previews"): "ANONYMOUS",
    ("POST", "deck/commands"): "ANONYMOUS",
    ("PATCH", "deck/queues/{name}"): "ANONYMOUS",
}
"""
Every route: what the host asks of a caller before the app hears of the call. FUNCTION is a function or host key; of the
ANONYMOUS ones the app itself tells callers apart.
"""


def test_who_may_call_what(tmp_path: Path) -> None:
    found = {
        (method, trigger["route"]): trigger["authLevel"]
        for trigger in triggers(indexed(tmp_path, {})).values()
        if trigger["type"] == "httpTrigger"
        for method in trigger["methods"]
    }

    assert found == WHO_MAY_CALL
