"""
Loading the settings: all sources, all rules, all problems at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.config.checks import problems_between, warnings_about
from chokaq_core.config.host import HOST_FILE, host_options, is_in_azure
from chokaq_core.config.host_checks import host_problems
from chokaq_core.config.reading import read
from chokaq_core.config.settings import Settings, assemble
from chokaq_core.config.sources import SETTINGS_FILE, FileError, from_code, from_environment, from_file
from chokaq_core.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from chokaq_core.config.reading import Reading
    from chokaq_core.config.sources import Given


def load_settings(
    app_folder: Path, environ: Mapping[str, str], overrides: Mapping[str, object] | None = None
) -> Settings:
    """
    The settings of an app: defaults, then `appsettings.json`, then the environment, then the code's own overrides.

    Args:
        app_folder: holds `host.json` and, if there is one, `appsettings.json`.
        environ: the environment; nothing else reads it.
        overrides: values by full name, such as `Retry.MaxAttempts`, as text or as Python values.

    Raises:
        ConfigurationError: at least one rule is broken; all problems are listed, no secret is shown.
    """
    file_givens, file_problems = _read_file(app_folder)
    reading = read([file_givens, from_environment(environ), from_code(overrides or {})])
    problems = [*file_problems, *reading.problems, *_cross_problems(reading, app_folder, environ)]
    if problems:
        raise ConfigurationError(problems)
    reading.warnings += warnings_about(reading)
    return assemble(reading)


def _read_file(app_folder: Path) -> tuple[list[Given], list[str]]:
    try:
        return from_file(app_folder), []
    except FileError as error:
        return [], [f"{SETTINGS_FILE}: {error}"]


def _cross_problems(reading: Reading, app_folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    in_azure = is_in_azure(environ)
    yield from problems_between(reading, in_azure=in_azure)
    try:
        options = host_options(app_folder, environ)
    except FileError as error:
        yield f"{HOST_FILE}: {error}"
    else:
        yield from host_problems(reading, options, in_azure=in_azure)
