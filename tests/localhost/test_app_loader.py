from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chokaq_core.localhost.app_loader import load_app
from chokaq_core.localhost.errors import HostError
from tests.localhost.apps import app_module, write_app

ONE_FUNCTION = """
@app.route("hello")
def hello(req: func.HttpRequest) -> str:
    return "hello"
"""


def refusal(folder: Path) -> str:
    with pytest.raises(HostError) as refused:
        load_app(folder)
    return str(refused.value)


def test_the_functions_of_the_one_app_are_found(tmp_path: Path) -> None:
    app = load_app(write_app(tmp_path, ONE_FUNCTION))

    assert [function.get_function_name() for function in app.functions] == ["hello"]


def test_what_an_object_of_the_app_says_of_its_problems_is_told(tmp_path: Path) -> None:
    code = """
class Runner:
    problems = ("Retry.MaxAttempts: must be 1 or more",)

class Other:
    problems = 3

runner, other = Runner(), Other()
"""

    assert load_app(write_app(tmp_path, code + ONE_FUNCTION)).problems == ("Retry.MaxAttempts: must be 1 or more",)


def test_functions_of_registered_blueprints_are_found(tmp_path: Path) -> None:
    code = """
    bp = func.Blueprint()

    @bp.route("inner")
    def inner(req: func.HttpRequest) -> str:
        return "inner"

    app.register_functions(bp)
    """

    app = load_app(write_app(tmp_path, code))

    assert [function.get_function_name() for function in app.functions] == ["inner"]


def test_the_app_may_import_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_this_app.py").write_text("NAME = 'found'\n", encoding="utf-8")

    load_app(write_app(tmp_path, "from beside_this_app import NAME" + ONE_FUNCTION))

    assert sys.path[0] == str(tmp_path)
    assert app_module().NAME == "found"


def test_an_app_is_imported_afresh_every_time(tmp_path: Path) -> None:
    load_app(write_app(tmp_path, ONE_FUNCTION))
    app = load_app(write_app(tmp_path, ONE_FUNCTION.replace("def hello", "def changed_name")))

    assert [function.get_function_name() for function in app.functions] == ["changed_name"]


def test_a_folder_without_an_app_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"There is no function_app.py in {tmp_path}: name the app's folder with --app."


def test_a_module_without_a_function_app_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "function_app.py"
    path.write_text("import azure.functions as func\nbp = func.Blueprint()\n", encoding="utf-8")

    assert refusal(tmp_path) == f"{path} has no top-level FunctionApp: it needs one 'app = func.FunctionApp()'."


@pytest.mark.parametrize("second", ["other = func.FunctionApp()", "other = app"])
def test_a_second_name_for_a_function_app_is_refused_as_the_platform_does(tmp_path: Path, second: str) -> None:
    write_app(tmp_path, second)

    assert "has more than one top-level FunctionApp (app, other): keep one." in refusal(tmp_path)


def test_an_import_error_shows_the_traceback_from_the_app_on(tmp_path: Path) -> None:
    write_app(tmp_path, "import module_that_is_not_there\n")

    lines = refusal(tmp_path).splitlines()

    assert lines[0] == f"Importing {tmp_path}/function_app.py failed:"
    assert lines[2] == "Traceback (most recent call last):"
    assert lines[3] == f'  File "{tmp_path}/function_app.py", line 5, in <module>'
    assert lines[-1] == "ModuleNotFoundError: No module named 'module_that_is_not_there'"
    assert "function_app" not in sys.modules


def test_a_syntax_error_is_shown_with_its_place(tmp_path: Path) -> None:
    write_app(tmp_path, "def broken(:\n")

    text = refusal(tmp_path)

    assert f'File "{tmp_path}/function_app.py", line 5' in text
    assert "SyntaxError: invalid syntax" in text


def test_an_app_that_ends_the_process_on_import_is_refused(tmp_path: Path) -> None:
    write_app(tmp_path, "raise SystemExit('settings are missing')\n")

    assert refusal(tmp_path).endswith("SystemExit: settings are missing")


def test_functions_that_cannot_be_indexed_are_refused(tmp_path: Path) -> None:
    write_app(tmp_path, ONE_FUNCTION + ONE_FUNCTION.replace('"hello")', '"again")'))

    assert refusal(tmp_path).startswith("The functions of function_app.py cannot be indexed: Function hello")


def test_the_shutdown_hook_is_found(tmp_path: Path) -> None:
    app = load_app(write_app(tmp_path, ONE_FUNCTION + "\ndef on_shutdown():\n    return 'drained'\n"))

    assert app.on_shutdown is not None
    assert app.on_shutdown() == "drained"


def test_an_app_needs_no_shutdown_hook(tmp_path: Path) -> None:
    assert load_app(write_app(tmp_path, ONE_FUNCTION)).on_shutdown is None


@pytest.mark.parametrize("hook", ["on_shutdown = 5", "async def on_shutdown(): ..."])
def test_a_shutdown_hook_that_is_no_plain_function_is_refused(tmp_path: Path, hook: str) -> None:
    write_app(tmp_path, hook)

    assert "on_shutdown in" in refusal(tmp_path)
    assert refusal(tmp_path).endswith("must be a plain function without arguments.")
