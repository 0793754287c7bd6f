"""
The app that a command works on: the same settings and store as its host would use.
"""

from __future__ import annotations

import logging
import os
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
        return run()
    except (ChokaQError, HostError) as error:
        for line in str(error).splitlines():
            tell(f"error: {safe_text(line)}")
        return Exit.FAILED


def enter(folder: Path) -> Path:
    """
    Goes to the app's folder and fills the environment as the local host does; in Azure it is filled already.

    Raises:
        HostError: local.settings.json cannot be read.
    """
    app_folder = folder.resolve()
    if not is_in_azure(os.environ):
        fill_environment(os.environ, app_folder)
    # Relative paths mean the app's folder, as they do for its host.
    os.chdir(app_folder)
    # What the commands do is their answer; events would only stand between its lines.
    logging.getLogger("chokaq").setLevel(logging.ERROR)
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
