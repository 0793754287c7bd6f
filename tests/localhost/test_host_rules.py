from __future__ import annotations

from pathlib import Path

import pytest

from chokaq_core.localhost.app_loader import load_app
from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.functions import sort_by_trigger
from chokaq_core.localhost.host_rules import broken_rules, check_host_rules
from tests.localhost.apps import write_app


def broken(folder: Path, code: str, environ: dict[str, str] | None = None) -> list[str]:
    functions = sort_by_trigger(load_app(write_app(folder, code)).functions)
    return list(broken_rules(functions, environ or {}))


def http_function(route: str, name: str = "f", methods: str = '["GET"]') -> str:
    return f"""
@app.route({route!r}, methods={methods})
def {name}(req: func.HttpRequest) -> str:
    return "x"
"""


def timer_function(schedule: str) -> str:
    return f"""
@app.timer_trigger(arg_name="timer", schedule={schedule!r})
def tick(timer: func.TimerRequest) -> None:
    pass
"""


def test_an_app_that_keeps_the_rules_is_accepted(tmp_path: Path) -> None:
    code = http_function("jobs/{id}") + timer_function("0 */5 * * * *")
    functions = sort_by_trigger(load_app(write_app(tmp_path, code)).functions)

    check_host_rules(functions, {})

    assert [handler.name for handler in functions.handlers] == ["f", "tick"]


@pytest.mark.parametrize("argument", ["my_timer", "_timer", "zeit_ä"])
def test_an_argument_name_beyond_letters_and_digits_is_refused(tmp_path: Path, argument: str) -> None:
    code = f"""
    @app.timer_trigger(arg_name={argument!r}, schedule="0 * * * * *")
    def tick({argument}: func.TimerRequest) -> None:
        pass
    """

    assert broken(tmp_path, code) == [
        f"Function 'tick': the argument name '{argument}' may hold only letters and digits, a letter first."
    ]


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", "ä", "a" * 129])
def test_a_malformed_function_name_is_refused(tmp_path: Path, name: str) -> None:
    code = f"""
    @app.route("x")
    @app.function_name({name!r})
    def f(req: func.HttpRequest) -> str:
        return "x"
    """

    problems = broken(tmp_path, code)

    assert len(problems) == 1
    assert problems[0].startswith(f"Function '{name}': the name must begin with a letter")


@pytest.mark.parametrize("name", ["host", "HOST"])
def test_a_function_may_not_be_named_host(tmp_path: Path, name: str) -> None:
    assert broken(tmp_path, http_function("x", name)) == ["A function may not be named 'host'."]


def test_function_names_that_differ_in_letter_case_only_are_refused(tmp_path: Path) -> None:
    code = http_function("x", "job") + http_function("y", "JOB")

    assert broken(tmp_path, code) == ["Two functions are named 'job': letter case does not count."]


@pytest.mark.parametrize("route", ["admin/jobs", "Administration", "runtime", "/runtime/x"])
def test_a_route_that_begins_like_a_built_in_one_is_refused(tmp_path: Path, route: str) -> None:
    (problem,) = broken(tmp_path, http_function(route))

    assert problem == (
        f"Function 'f': the route '{route.strip('/')}' conflicts with built-in routes,"
        " since it begins with 'admin' or 'runtime'."
    )


def test_a_function_without_a_route_is_judged_by_its_name(tmp_path: Path) -> None:
    code = """
    @app.route()
    def admin_jobs(req: func.HttpRequest) -> str:
        return "x"
    """

    assert len(broken(tmp_path, code)) == 1


def test_one_route_with_one_method_twice_is_refused(tmp_path: Path) -> None:
    code = http_function("jobs", "first", '["GET", "POST"]') + http_function("Jobs", "second", '["POST"]')

    assert broken(tmp_path, code) == [
        "Function 'second': the route 'Jobs' conflicts with the route of function 'first'."
    ]


def test_a_route_for_all_methods_conflicts_with_any_other_of_its_name(tmp_path: Path) -> None:
    code = http_function("jobs", "first", "None") + http_function("jobs", "second", '["DELETE"]')

    assert len(broken(tmp_path, code)) == 1


def test_one_route_with_different_methods_is_accepted(tmp_path: Path) -> None:
    code = http_function("jobs", "first", '["GET"]') + http_function("jobs", "second", '["POST"]')

    assert broken(tmp_path, code) == []


def test_a_malformed_route_is_refused(tmp_path: Path) -> None:
    assert broken(tmp_path, http_function("jobs/{id")) == [
        "Function 'f': the route 'jobs/{id' has a malformed placeholder near '{id'."
    ]


def test_a_schedule_whose_setting_is_missing_is_refused(tmp_path: Path) -> None:
    assert broken(tmp_path, timer_function("%POLL_SCHEDULE%")) == [
        "Function 'tick': the setting 'POLL_SCHEDULE' is missing: add it to Values in local.settings.json."
    ]


def test_a_schedule_in_a_setting_is_read(tmp_path: Path) -> None:
    assert broken(tmp_path, timer_function("%POLL_SCHEDULE%"), {"POLL_SCHEDULE": "0 * * * * *"}) == []


def test_a_malformed_schedule_is_refused(tmp_path: Path) -> None:
    assert broken(tmp_path, timer_function("61 * * * * *")) == ["Function 'tick': '61' is no second: expected 0 to 59."]


def test_a_queue_name_whose_setting_is_missing_is_refused(tmp_path: Path) -> None:
    code = """
    @app.queue_trigger(arg_name="wake", queue_name="%QUEUE%", connection="AzureWebJobsStorage")
    def worker(wake: func.QueueMessage) -> None:
        pass
    """

    assert broken(tmp_path, code) == [
        "Function 'worker': the setting 'QUEUE' is missing: add it to Values in local.settings.json."
    ]


def test_a_handler_that_does_not_take_its_trigger_is_refused(tmp_path: Path) -> None:
    code = """
    @app.timer_trigger(arg_name="timer", schedule="0 * * * * *")
    def tick(clock: func.TimerRequest, context: func.Context) -> None:
        pass
    """

    assert broken(tmp_path, code) == [
        "Function 'tick': its trigger fills 'timer', which the handler does not take.",
        "Function 'tick': nothing fills the parameter 'clock'.",
    ]


def test_every_broken_rule_is_named_at_once(tmp_path: Path) -> None:
    code = http_function("admin") + timer_function("never")
    functions = sort_by_trigger(load_app(write_app(tmp_path, code)).functions)

    with pytest.raises(HostError) as refused:
        check_host_rules(functions, {})

    lines = str(refused.value).splitlines()
    assert lines[0] == "The Functions host would refuse this app:"
    assert lines[1].startswith("  Function 'f': the route 'admin'")
    assert lines[2].startswith("  Function 'tick': 'never' is no NCRONTAB schedule")


def test_a_trigger_that_this_host_does_not_serve_is_refused(tmp_path: Path) -> None:
    code = """
    @app.blob_trigger(arg_name="blob", path="in/{name}", connection="X")
    def on_blob(blob: func.InputStream) -> None:
        pass
    """

    with pytest.raises(HostError) as refused:
        broken(tmp_path, code)

    assert str(refused.value) == (
        "Function 'on_blob' has a blobTrigger: the local host serves http, timer and queue triggers."
    )


def test_an_output_binding_that_this_host_does_not_serve_is_refused(tmp_path: Path) -> None:
    code = """
    @app.route("x")
    @app.queue_output(arg_name="out", queue_name="q", connection="X")
    def f(req: func.HttpRequest, out: func.Out[str]) -> str:
        return "x"
    """

    with pytest.raises(HostError, match="Function 'f' has a binding 'out' of type queue"):
        broken(tmp_path, code)
