"""
`config check`: what the settings come to, or what is wrong with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.config.load import load_settings
from chokaq_core.config.sources import DEFAULT
from chokaq_core.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from chokaq_core.config.settings import Effective


def run_check(app_folder: Path, environ: Mapping[str, str], write: Callable[[str], object]) -> int:
    """
    Writes the effective settings, secrets masked, or every problem.

    Args:
        write: takes one line at a time, without its end.

    Returns:
        0 when the settings are valid, else 1.
    """
    try:
        settings = load_settings(app_folder, environ)
    except ConfigurationError as error:
        for line in str(error).splitlines():
            write(line)
        return 1
    listing = settings.effective()
    for line in (*_table(listing), "", *(f"Warning: {warning}" for warning in settings.warnings), _summary(listing)):
        write(line)
    return 0


def _table(listing: list[Effective]) -> Iterable[str]:
    name_width = max(len(row.name) for row in listing)
    value_width = max(len(row.shown) for row in listing)
    return (f"{name:<{name_width}}  {shown:<{value_width}}  {source}" for name, shown, source in listing)


def _summary(listing: list[Effective]) -> str:
    given = sum(row.source != DEFAULT for row in listing)
    return f"The configuration is valid: {len(listing)} settings, {given} of them given."
