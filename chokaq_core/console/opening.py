"""
The app that a command works on: the same settings and store as its host would use.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chokaq_core.config import is_in_azure
from chokaq_core.console.exits import Exit
from chokaq_core.console.printing import tell
from chokaq_core.domain.errors import ChokaQError
from chokaq_core.hosting import ChokaQ
from chokaq_core.hosting.core import Core
from chokaq_core.localhost.app_loader import import_app
from chokaq_core.localhost.environment import fill_environment
from chokaq_core.localhost.errors import HostError
from chokaq_core.telemetry.text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chokaq_core.hosting.runtime import Runtime


def settle(run: Callable[[], int]) -> int:
    """
    Runs a command; what refuses it becomes a line on standard error and an exit code.
    """
    try:
        code = run()
        sys.stdout.flush()
    except (ChokaQError, HostError) as error:
        for line in str(error).splitlines():
            tell(f"error: {safe_text(line)}")
        return Exit.FAILED
    except BrokenPipeError:
        _forget_output()
        return Exit.FAILED
    return code


def _forget_output() -> None:
    """
    For a reader that has left, such as `head`: the interpreter's own flush at its end would complain once more.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def enter(folder: Path) -> Path:
    """
    Goes to the app's folder and fills the environment as the local host does; in Azure it is filled already.

    Raises:
        HostError: there is no such folder, or its local.settings.json cannot be read.
    """
    app_folder = folder.resolve()
    if not app_folder.is_dir():
        raise HostError(f"There is no folder {app_folder}: name the app's folder with --app.")
    if not is_in_azure(os.environ):
        fill_environment(os.environ, app_folder)
    # Relative paths mean the app's folder, as they do for its host.
    os.chdir(app_folder)
    # What the commands do or cannot do is their answer; events would only stand between its lines.
    logging.getLogger("chokaq").setLevel(logging.CRITICAL)
    return app_folder


@contextmanager
def opened(folder: Path) -> Iterator[Runtime]:
    """
    The app's store and commands, without its handlers: enough for all that does not look into payloads.

    Raises:
        HostError: there is no such folder, or its local.settings.json cannot be read.
        ConfigurationError: the settings are invalid.
        StoreError: the database is away or not ready.
    """
    core = Core(enter(folder))
    try:
        yield core.runtime()
    finally:
        core.stop()


@contextmanager
def imported(folder: Path) -> Iterator[ChokaQ]:
    """
    The app as its `function_app.py` makes it, with the handlers that payloads are checked by.

    Raises:
        HostError: the file is missing, cannot be imported, or makes no ChokaQ.
    """
    module = import_app(enter(folder))
    found = [value for value in vars(module).values() if isinstance(value, ChokaQ)]
    if not found:
        raise HostError(f"{module.__file__} makes no ChokaQ at its top level.")
    try:
        yield found[0]
    finally:
        found[0].stop()
