"""
Imports an app's `function_app.py` and finds the one FunctionApp in it, with the errors that Azure would hide.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from typing import TYPE_CHECKING

from azure.functions import FunctionRegister

from chokaq_core.domain.value import Value
from chokaq_core.localhost.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from azure.functions.decorators.function_app import Function

MODULE_NAME = "function_app"


class LoadedApp(Value):
    """
    What importing function_app.py gave: functions, its `on_shutdown` hook if it has one, and why it refuses to work.
    """

    functions: tuple[Function, ...]
    on_shutdown: Callable[[], object] | None
    problems: tuple[str, ...] = ()


def app_file(app_folder: Path) -> Path:
    """
    Finds function_app.py in an app's folder.

    Raises:
        HostError: it is not there.
    """
    path = app_folder / f"{MODULE_NAME}.py"
    if not path.is_file():
        raise HostError(f"There is no {path.name} in {app_folder}: name the app's folder with --app.")
    return path


def import_app(app_folder: Path) -> ModuleType:
    """
    Imports function_app.py afresh, with its folder first on `sys.path`.

    Raises:
        HostError: there is no such file, or importing it failed (with the traceback).
    """
    return _import_afresh(app_file(app_folder))


def load_app(app_folder: Path) -> LoadedApp:
    """
    Imports function_app.py afresh, with its folder first on `sys.path`.

    Raises:
        HostError: there is no such file, importing it failed (with the traceback), it has no or several top-level
            FunctionApp objects, the app's functions contradict each other, or its hook cannot be called.
    """
    module = import_app(app_folder)
    return LoadedApp(_index(_only_app(module)), _shutdown_hook(module), _problems(module))


def _import_afresh(path: Path) -> ModuleType:
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise HostError(f"{path} cannot be imported as a Python module.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[MODULE_NAME]
        raise HostError(f"Importing {path} failed:\n\n{_app_traceback(error, path)}") from error
    return module


def _app_traceback(error: BaseException, path: Path) -> str:
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != str(path):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _only_app(module: ModuleType) -> FunctionRegister:
    # Counted by name, as the platform counts: two names for one object are refused there as well.
    apps = {name: value for name, value in vars(module).items() if isinstance(value, FunctionRegister)}
    if not apps:
        raise HostError(f"{module.__file__} has no top-level FunctionApp: it needs one 'app = func.FunctionApp()'.")
    if len(apps) > 1:
        raise HostError(f"{module.__file__} has more than one top-level FunctionApp ({', '.join(apps)}): keep one.")
    return next(iter(apps.values()))


def _index(app: FunctionRegister) -> tuple[Function, ...]:
    try:
        return tuple(app.get_functions())
    except ValueError as error:
        raise HostError(f"The functions of {MODULE_NAME}.py cannot be indexed: {error}") from error


def _problems(module: ModuleType) -> tuple[str, ...]:
    """
    What the `problems` of the module's objects say; a `ChokaQ` has them.
    """
    told = [getattr(value, "problems", ()) for value in vars(module).values() if not isinstance(value, type)]
    return tuple(problem for problems in told if isinstance(problems, tuple) for problem in problems)


def _shutdown_hook(module: ModuleType) -> Callable[[], object] | None:
    hook: Callable[[], object] | None = getattr(module, "on_shutdown", None)
    if hook is not None and (not callable(hook) or inspect.iscoroutinefunction(hook)):
        raise HostError(f"on_shutdown in {module.__file__} must be a plain function without arguments.")
    return hook
